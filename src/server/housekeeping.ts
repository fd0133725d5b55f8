import { listUploadIds } from '../store/repositories/uploads.ts'
import { Worker } from '../worker.ts'
import type { Platform } from './platform.ts'

const periodMs = 10 * 60_000

/** Deletes uploads and logs of this machine that are no longer needed. */
export function sweepFiles({ db, clock, log, uploads, logs }: Platform): Worker {
  const worker = new Worker({
    clock,
    everyMs: periodMs,
    async pass() {
      await uploads.sweep(() => db.read(listUploadIds))
      await logs.sweep(clock.wallMs())
    },
    failed: (error) => log.warn({ err: error }, 'old files cannot be deleted; retrying'),
  })
  worker.start()
  return worker
}
