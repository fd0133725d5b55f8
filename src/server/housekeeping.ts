import { findEnvironmentIds } from '../store/repositories/environments.ts'
import { endRemoval, listRemovals } from '../store/repositories/removals.ts'
import { listUploadIds } from '../store/repositories/uploads.ts'
import { Worker } from '../worker.ts'
import type { Platform } from './platform.ts'

const periodMs = 10 * 60_000
const removeEveryMs = 5_000
/** Lines of this long are lost at most if the disk of a machine is lost. */
const copyEveryMs = 5 * 60_000

/** Deletes uploads, backups and logs of this machine that are no longer needed. */
export function sweepFiles(platform: Platform): Worker[] {
  const { db, uploads } = platform
  return [
    sweeper(platform, () => uploads.sweep(() => db.read(listUploadIds))),
    sweepLogs(platform),
    fileRemover(platform),
  ]
}

/** Removes the files of deleted uploads and backups. */
export function fileRemover({
  db,
  clock,
  log,
  files,
  hasSharedFiles,
  membership,
  regions,
}: Pick<Platform, 'db' | 'clock' | 'log' | 'files' | 'hasSharedFiles' | 'membership' | 'regions'>): Worker {
  const isOnlyHere = membership.isShared && !hasSharedFiles
  const own = isOnlyHere ? regions.map(({ region }) => region) : undefined
  const worker = new Worker({
    clock,
    everyMs: removeEveryMs,
    async pass() {
      for (const one of await db.read((tx) => listRemovals(tx, { kind: 'file', regions: own }))) {
        await files.remove(one.subject)
        await db.write((tx) => endRemoval(tx, one, [one.region]))
      }
    },
    failed: (error) => log.warn({ err: error }, 'files of deleted objects cannot be removed; retrying'),
  })
  worker.start()
  worker.wake()
  return worker
}

export function sweepLogs(platform: Pick<Platform, 'db' | 'clock' | 'log' | 'logs'>): Worker {
  const { db, clock, logs } = platform
  return sweeper(platform, () =>
    logs.sweep(clock.wallMs(), (ids) => db.read((tx) => findEnvironmentIds(tx, ids))),
  )
}

function sweeper({ clock, log }: Pick<Platform, 'clock' | 'log'>, pass: () => Promise<unknown>): Worker {
  const worker = new Worker({
    clock,
    everyMs: periodMs,
    pass,
    failed: (error) => log.warn({ err: error }, 'old files cannot be deleted; retrying'),
  })
  worker.start()
  return worker
}

/** Copies kept logs to the storage of `LONGSHORE_FILES_URL`. */
export function copyLogs({ clock, log, logs }: Pick<Platform, 'clock' | 'log' | 'logs'>): Worker {
  const worker = new Worker({
    clock,
    everyMs: copyEveryMs,
    pass: () => logs.copy(),
    failed: (error) => log.warn({ err: error }, 'logs cannot be copied to the file storage; retrying'),
  })
  worker.start()
  return worker
}
