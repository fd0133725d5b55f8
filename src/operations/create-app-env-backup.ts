import { createAppEnvBackup } from '../contract/backups.ts'
import { type Backup, backupAnswer, backupFormat, checkServes, mostBackups } from '../domain/backup.ts'
import { newId } from '../domain/ids.ts'
import { AppError } from '../errors.ts'
import { countBackups, insertBackup } from '../store/backups.ts'
import { noteActivity } from './begin-rollout.ts'
import { acted } from './environment-answers.ts'
import { type Context, handler } from './handler.ts'

/** Only wished for here; the reconciler takes the copy. */
export default handler(createAppEnvBackup, async (context, _input, { environment, app }) => {
  const format = backupFormat(app)
  checkServes(environment)
  await checkCount(context, environment.appEnvId)
  const backup: Backup = {
    backupId: newId('bak'),
    appEnvId: environment.appEnvId,
    accountId: environment.accountId,
    envName: environment.cliEnvName,
    dockerPreset: app.dockerPreset,
    dockerPresetVersion: environment.dockerPresetVersion ?? '',
    status: 'PENDING',
    format,
    sizeBytes: null,
    sha256: null,
    failure: null,
    createdBy: context.caller.kind === 'user' ? context.caller.userId : null,
    createdAt: context.now,
    finishedAt: null,
  }
  await insertBackup(context.tx, backup)
  const details = backup.backupId
  await noteActivity(context, environment.appEnvId, { activity: 'BACKUP', status: 'PENDING', details })
  return {
    answer: {
      ...acted(environment, `Taking backup ${backup.backupId}; list-app-env-backups says when it is done`),
      backup: backupAnswer(backup),
    },
    change: {
      objectType: 'backup',
      objectId: backup.backupId,
      accountId: backup.accountId,
      before: null,
      after: backup,
    },
    effects: [`Copies the data of ${environment.cliEnvName} into a file on this machine while it serves.`],
    wake: [environment.appEnvId],
  }
})

async function checkCount({ tx }: Context, appEnvId: string): Promise<void> {
  const kept = await countBackups(tx, appEnvId)
  if (kept < mostBackups) return
  throw new AppError('invalid', `The environment has ${kept} backups already`, {
    details: `At most ${mostBackups} are kept. A person deletes old ones with \`longshore backup delete <backupId>\`.`,
  })
}
