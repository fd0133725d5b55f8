import type { Backup, Restore } from '../../domain/backups/backup.ts'
import { EngineFailure } from '../../engines/engine.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import { insertActivity } from '../../store/repositories/activities.ts'
import { listActiveBackups, listActiveRestores } from '../../store/repositories/backups.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { regionsOfEnvironment } from '../../store/repositories/environments-in-regions.ts'
import type { Work } from './data-place.ts'

/** Requested copies, oldest first. */
export async function activeWork(tx: Tx, regions?: readonly string[]): Promise<Work[]> {
  const backups = (await listActiveBackups(tx)).map((of): Work => ({ kind: 'backup', id: of.backupId, of }))
  const restores = (await listActiveRestores(tx)).map(
    (of): Work => ({ kind: 'restore', id: of.restoreId, of }),
  )
  const work: Work[] = []
  for (const one of [...backups, ...restores]) {
    const region = one.of.region ?? (await regionsOfEnvironment(tx, one.of.appEnvId))?.region
    // Any control plane may end the work that a deleted environment left.
    if (regions === undefined || region === undefined || regions.includes(region)) work.push(one)
  }
  return work.sort((a, b) => (a.of.createdAt < b.of.createdAt ? -1 : 1))
}

/** Adds an entry to the environment's history, if the environment still exists. */
export async function note(tx: Tx, { kind, of }: Work, saved: Backup | Restore, now: string): Promise<void> {
  if (!(await findEnvironment(tx, { appEnvId: of.appEnvId }))) return
  await insertActivity(tx, of.appEnvId, {
    activity: kind === 'backup' ? 'BACKUP' : 'RESTORE',
    contentId: null,
    version: null,
    status: saved.status === 'SUCCEEDED' ? 'DONE' : 'FAILED',
    timestamp: now,
    userId: of.createdBy,
    gitCommitId: null,
    details: saved.failure === null ? of.backupId : `${of.backupId}: ${saved.failure}`,
  })
}

/** The public failure text; null if only the log may contain the error. */
export function failureText(error: unknown): string | null {
  if (error instanceof EngineFailure) return error.message
  if (error instanceof AppError) return `${error.message} ${error.details ?? ''}`.trim()
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'The disk of the platform is full. Free some space.'
  return null
}

/** Why a copy that has begun must end; null while it is wanted. `active`: all that are requested. */
export async function endReason(tx: Tx, active: readonly Work[], { id, of }: Work): Promise<string | null> {
  const environment = await findEnvironment(tx, { appEnvId: of.appEnvId })
  if (!environment) return 'The environment was deleted.'
  if (!active.some((one) => one.id === id)) return 'The backup was deleted.'
  const { backupId, restoreId } = environment.volumeMove ?? {}
  return of.ofMove && ![backupId, restoreId].includes(id) ? 'The move was given up.' : null
}
