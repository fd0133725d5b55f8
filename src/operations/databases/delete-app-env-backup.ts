import { deleteAppEnvBackup } from '../../contract/backups.ts'
import { deleteBackup } from '../../store/repositories/backups.ts'
import { handler } from '../core/handler.ts'

/** Deletes the row; the reconciler removes files without a row. */
export default handler(deleteAppEnvBackup, async ({ tx }, _input, { backup }) => {
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
