import { deleteAppEnvBackup } from '../../contract/backups.ts'
import { refuseWhileCopying } from '../../domain/environments/volume-move.ts'
import { deleteBackup } from '../../store/repositories/backups.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { handler } from '../core/handler.ts'

/** Deletes the row; the reconciler removes files without a row. */
export default handler(deleteAppEnvBackup, async ({ tx }, _input, { backup }) => {
  const environment = await findEnvironment(tx, { appEnvId: backup.appEnvId })
  if (environment?.volumeMove?.backupId === backup.backupId) refuseWhileCopying(environment)
  await deleteBackup(tx, backup.backupId)
  return {
    answer: { message: `Backup ${backup.backupId} deleted` },
    change: {
      objectType: 'backup',
      objectId: backup.backupId,
      accountId: backup.accountId,
      before: backup,
      after: null,
    },
    effects: [`Deletes the copy of ${backup.envName} from ${backup.createdAt} permanently.`],
    wake: [backup.appEnvId],
  }
})
