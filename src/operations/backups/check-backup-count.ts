import { mostBackups } from '../../domain/backups/backup.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import { countBackups } from '../../store/repositories/backups.ts'

/** Refuses one more backup of an environment that has as many as are kept. */
export async function checkBackupCount(tx: Tx, appEnvId: string): Promise<void> {
  const kept = await countBackups(tx, appEnvId)
  if (kept < mostBackups) return
  throw new AppError('invalid', `The environment has ${kept} backups already`, {
    details: `At most ${mostBackups} are kept. Delete old ones with delete-app-env-backup, or \`longshore backup delete <backupId>\`.`,
  })
}
