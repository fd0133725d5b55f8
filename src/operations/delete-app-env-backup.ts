import { deleteAppEnvBackup } from '../contract/backups.ts'
import { deleteBackup } from '../store/backups.ts'
import { handler } from './handler.ts'

/** The row goes now; the file that belongs to no row is removed by the reconciler. */
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
    effects: [`Deletes the copy of ${backup.envName} from ${backup.createdAt} for good.`],
    wake: [backup.appEnvId],
  }
})
