import { type Clock, every, timestamp } from '../../clock.ts'
import { tokenHash } from '../../domain/access/tokens.ts'
import { randomText } from '../../domain/ids.ts'
import { AppError } from '../../errors.ts'
import type { Db } from '../../store/db.ts'
import { changeClaimed, claimUpload, findUpload } from '../../store/repositories/uploads.ts'
import type { UploadReceiver } from '../core/call.ts'

/** The port to the storage of archives. */
interface ArchiveFiles {
  receive(key: string, body: AsyncIterable<Uint8Array>, declaredLength: number | null): Promise<number>
}

interface UploadReceiverDeps {
  db: Db
  clock: Clock
  files: ArchiveFiles
  /** Name of this control plane; another one may share the store and the files. */
  node: string
  /** The receiver on the machine that runs the environment; null if that is this one. */
  elsewhere?: (appEnvId: string) => Promise<UploadReceiver | null>
}

/** After this long without a sign of life, a control plane has lost its transfer. */
const claimMs = 60_000

/** Accepts the one PUT of an upload address; the secret in it is the permission (docs/interface.md#uploads). */
export function createUploadReceiver(deps: UploadReceiverDeps): UploadReceiver {
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
      const { uploadId, state, expiresAt } = upload
      if (state === 'requested' && Date.parse(expiresAt) <= deps.clock.wallMs()) throw usedUp('has expired')
      // The claim excludes other control planes; this excludes other PUTs here.
      if (underWay.has(uploadId)) throw usedUp('was used before')
      underWay.add(uploadId)
      try {
        await receiveClaimed(deps, uploadId, body, declaredLength)
      } finally {
        underWay.delete(uploadId)
      }
    },
  }
}

/** Receives the archive under a claim, so that no other control plane replaces it or is replaced by it. */
async function receiveClaimed(
  { db, clock, files, node }: UploadReceiverDeps,
  uploadId: string,
  body: AsyncIterable<Uint8Array>,
  declaredLength: number | null,
): Promise<void> {
  const token = randomText(20)
  const now = timestamp(clock.wallMs())
  const until = () => timestamp(clock.wallMs() + claimMs)
  const claim = { token, node, until: until() }
  if (!(await db.write((tx) => claimUpload(tx, uploadId, now, claim)))) throw usedUp('was used before')
  const change = (to: Parameters<typeof changeClaimed>[3]) =>
    db.write((tx) => changeClaimed(tx, uploadId, token, to))
  const renew = () => change({ claimed_until: until() })
  async function* checkedBody() {
    yield* body
    // The file appears after this: a control plane that was paused for too long must not replace another one's.
    if (!(await renew())) throw usedUp('was used before')
  }
  const stopRenewing = every(clock, claimMs / 3, () => renew().catch(() => {}))
  try {
    await files.receive(uploadId, checkedBody(), declaredLength)
    if (!(await change({ state: 'uploaded' }))) throw usedUp('was used before')
  } catch (error) {
    // Without the store, the claim ends by itself.
    await change({ claim: null }).catch(() => {})
    throw error
  } finally {
    stopRenewing()
  }
}

function usedUp(how: string): AppError {
  return new AppError('invalid', `This upload address ${how}`, {
    details:
      'Each address takes one PUT within 15 minutes. Request a new one with request-deploy-storage-key.',
  })
}
