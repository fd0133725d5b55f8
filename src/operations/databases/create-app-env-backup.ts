import { createAppEnvBackup, volumeFormat } from '../../contract/backups.ts'
import {
  type Backup,
  backupFormat,
  backupResponse,
  checkCopied,
  mostBackups,
} from '../../domain/databases/backup.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import { newId } from '../../domain/ids.ts'
import { AppError } from '../../errors.ts'
import { countBackups, insertBackup } from '../../store/repositories/backups.ts'
import { type Context, handler } from '../core/handler.ts'
import { noteActivity } from '../deployments/begin-rollout.ts'
import { environmentResponse } from '../environments/responses.ts'

/** Only records the request; the reconciler makes the backup. */
export default handler(createAppEnvBackup, async (context, _input, { environment, app }) => {
  const format = backupFormat(app, environment)
  checkCopied(format, environment)
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
      ...environmentResponse(
        environment,
        `Taking backup ${backup.backupId}; list-app-env-backups shows when it is done`,
      ),
      backup: backupResponse(backup),
    },
    change: {
      objectType: 'backup',
      objectId: backup.backupId,
      accountId: backup.accountId,
      before: null,
      after: backup,
    },
    effects: [effectOf(backup, environment)],
    wake: [environment.appEnvId],
  }
})

function effectOf({ format }: Backup, { cliEnvName, desiredState }: Environment): string {
  const what = `Copies the data of ${cliEnvName} into a file`
  if (desiredState === 'stopped') return `${what}.`
  return format === volumeFormat
    ? `${what} while it serves: a file that is written meanwhile may be copied in part. Stop it first for an exact copy.`
    : `${what} while it serves.`
}

async function checkCount({ tx }: Context, appEnvId: string): Promise<void> {
  const kept = await countBackups(tx, appEnvId)
  if (kept < mostBackups) return
  throw new AppError('invalid', `The environment has ${kept} backups already`, {
    details: `At most ${mostBackups} are kept. Delete old ones with delete-app-env-backup, or \`longshore backup delete <backupId>\`.`,
  })
}
