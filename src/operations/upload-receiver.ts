import type { Clock } from '../clock.ts'
import { tokenHash } from '../domain/tokens.ts'
import { AppError } from '../errors.ts'
import type { Db } from '../store/db.ts'
import { findUpload, moveUpload } from '../store/uploads.ts'
import type { UploadReceiver } from './call.ts'

/** The port to where archives are kept. */
export interface ArchiveFiles {
  receive(key: string, body: AsyncIterable<Uint8Array>, declaredLength: number | null): Promise<number>
}

/** Takes the one PUT of an upload address: the secret in the address is the permission (contract.md 2). */
export function createUploadReceiver(parts: { db: Db; clock: Clock; files: ArchiveFiles }): UploadReceiver {
  const underWay = new Set<string>()
  return {
    async receive(uploadSecret, body, declaredLength) {
      const upload = await parts.db.read((tx) => findUpload(tx, { secretHash: tokenHash(uploadSecret) }))
      if (!upload) {
        throw new AppError('not-found', 'Upload address not found', {
          details: 'Ask for a new one with request-deploy-storage-key.',
        })
      }
      if (upload.state !== 'requested' || underWay.has(upload.uploadId)) throw usedUp('was used before')
      if (Date.parse(upload.expiresAt) <= parts.clock.wallMs()) throw usedUp('has expired')
      underWay.add(upload.uploadId)
      try {
        await parts.files.receive(upload.uploadId, body, declaredLength)
        const moved = await parts.db.write((tx) => moveUpload(tx, upload.uploadId, 'requested', 'uploaded'))
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
      'Each address takes one PUT within 15 minutes. Ask for a new one with request-deploy-storage-key.',
  })
}
