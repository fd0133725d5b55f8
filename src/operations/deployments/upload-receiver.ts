import type { Clock } from '../../clock.ts'
import { tokenHash } from '../../domain/access/tokens.ts'
import { AppError } from '../../errors.ts'
import type { Db } from '../../store/db.ts'
import { findUpload, moveUpload } from '../../store/repositories/uploads.ts'
import type { UploadReceiver } from '../core/call.ts'

/** The port to the storage of archives. */
interface ArchiveFiles {
  receive(key: string, body: AsyncIterable<Uint8Array>, declaredLength: number | null): Promise<number>
}

/** Accepts the one PUT of an upload address; the secret in it is the permission (docs/interface.md#uploads). */
export function createUploadReceiver(deps: {
  db: Db
  clock: Clock
  files: ArchiveFiles
  /** The receiver on the machine that runs the environment; null if that is this one. */
  elsewhere?: (appEnvId: string) => Promise<UploadReceiver | null>
}): UploadReceiver {
  const underWay = new Set<string>()
  return {
    async receive(uploadSecret, body, declaredLength) {
      const upload = await deps.db.read((tx) => findUpload(tx, { secretHash: tokenHash(uploadSecret) }))
      if (!upload) {
        throw new AppError('not-found', 'Upload address not found', {
          details: 'Request a new one with request-deploy-storage-key.',
        })
      }
      const other = await deps.elsewhere?.(upload.appEnvId)
      if (other) return other.receive(uploadSecret, body, declaredLength)
      // No other PUT can come between this and the next look at its state.
      if (underWay.has(upload.uploadId)) throw usedUp('was used before')
      underWay.add(upload.uploadId)
      try {
        const now = await deps.db.read((tx) => findUpload(tx, { uploadId: upload.uploadId }))
        if (now?.state !== 'requested') throw usedUp('was used before')
        if (Date.parse(now.expiresAt) <= deps.clock.wallMs()) throw usedUp('has expired')
        await deps.files.receive(upload.uploadId, body, declaredLength)
        const moved = await deps.db.write((tx) => moveUpload(tx, upload.uploadId, 'requested', 'uploaded'))
        if (!moved) throw usedUp('was used before')
      } finally {
        underWay.delete(upload.uploadId)
      }
    },
  }
}

function usedUp(how: string): AppError {
  return new AppError('invalid', `This upload address ${how}`, {
    details:
      'Each address takes one PUT within 15 minutes. Request a new one with request-deploy-storage-key.',
  })
}
