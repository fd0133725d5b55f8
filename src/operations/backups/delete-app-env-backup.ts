import { deleteAppEnvBackup } from '../../contract/backups.ts'
import { refuseWhileCopying } from '../../domain/environments/volume-move.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import { deleteBackup, isBeingRestored } from '../../store/repositories/backups.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { handler } from '../core/handler.ts'
import { hasFreshBackup } from '../environments/container-impact.ts'

/** Deletes the row and stores that its file goes. */
export default handler(deleteAppEnvBackup, async (context, _input, { backup }) => {
  const { tx } = context
  const environment = await findEnvironment(tx, { appEnvId: backup.appEnvId })
  if (environment?.volumeMove?.backupId === backup.backupId) refuseWhileCopying(environment)
  await refuseWhileRestored(tx, backup.backupId)
  await deleteBackup(tx, backup)
  return {
    answer: { message: `Backup ${backup.backupId} deleted` },
    change: {
      objectType: 'backup',
      objectId: backup.backupId,
      accountId: backup.accountId,
      before: backup,
      after: null,
    },
    impact: {
      actions: ['delete-object', 'delete-data'],
      environments: environment ? [environment.appEnvId] : [],
      dataLost: backup.status === 'SUCCEEDED' && !(await hasFreshBackup(context, backup.appEnvId)),
    },
    effects: [`Deletes the copy of ${backup.envName} from ${backup.createdAt} permanently.`],
    wake: [backup.appEnvId],
  }
})

/**
 * The rows of its restores are deleted with the backup. The row of an unfinished restore must stay: it keeps the
 * environment from starting on half of the files, and makes a control plane repeat the restore after a crash.
 */
async function refuseWhileRestored(tx: Tx, backupId: string): Promise<void> {
  if (!(await isBeingRestored(tx, backupId))) return
  throw new AppError('conflict', 'A restore from this backup is under way', {
    details:
      'Wait until it has ended, then delete the backup. list-app-env-backups shows the restores of the environments that you can access.',
  })
}
