import { restoreAppEnvBackup } from '../contract/backups.ts'
import { backupFormat, checkRestorable, checkServes, type Restore, restoreAnswer } from '../domain/backup.ts'
import { newId } from '../domain/ids.ts'
import { AppError } from '../errors.ts'
import { insertRestore, listActiveRestores } from '../store/backups.ts'
import { noteActivity } from './begin-rollout.ts'
import { acted } from './environment-answers.ts'
import { handler } from './handler.ts'
import { notFound, reachBackup } from './reach.ts'

/** Only wished for here; the reconciler brings the data in once the environment answers. */
export default handler(restoreAppEnvBackup, async (context, input, { environment, app }) => {
  const { tx, caller, now } = context
  backupFormat(app)
  checkServes(environment)
  const { backup } = await reachBackup({ tx, caller, operation: restoreAppEnvBackup, input }, input.backupId)
  // Data never crosses from one account to another, also for a member of both.
  if (backup.accountId !== environment.accountId) throw notFound('Backup')
  checkRestorable(backup, app)
  if ((await listActiveRestores(tx)).some(({ appEnvId }) => appEnvId === environment.appEnvId)) {
    throw new AppError('conflict', 'A restore of this environment is under way', {
      details: 'Wait until list-app-env-backups shows its end.',
    })
  }
  const restore: Restore = {
    restoreId: newId('rst'),
    backupId: backup.backupId,
    appEnvId: environment.appEnvId,
    accountId: environment.accountId,
    status: 'PENDING',
    failure: null,
    createdBy: caller.kind === 'user' ? caller.userId : null,
    createdAt: now,
    finishedAt: null,
  }
  await insertRestore(tx, restore)
  const details = backup.backupId
  await noteActivity(context, environment.appEnvId, { activity: 'RESTORE', status: 'PENDING', details })
  return {
    answer: {
      ...acted(environment, `Restoring ${backup.backupId}; list-app-env-backups says when it is done`),
      restore: restoreAnswer(restore),
    },
    change: {
      objectType: 'restore',
      objectId: restore.restoreId,
      accountId: restore.accountId,
      before: null,
      after: restore,
    },
    effects: [
      `Replaces all data of ${environment.cliEnvName} by that of ${backup.envName} from ${backup.createdAt} (${backup.sizeBytes} bytes).`,
    ],
    wake: [environment.appEnvId],
  }
})
