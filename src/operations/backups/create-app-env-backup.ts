import { createAppEnvBackup, volumeFormat } from '../../contract/backups.ts'
import {
  type Backup,
  backupFormat,
  backupResponse,
  checkCopied,
  newBackup,
  regionOfData,
} from '../../domain/backups/backup.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import { refuseWhileCopying } from '../../domain/environments/volume-move.ts'
import { insertBackup } from '../../store/repositories/backups.ts'
import { handler } from '../core/handler.ts'
import { userIdOrNull } from '../core/user-of.ts'
import { noteActivity } from '../environments/note-activity.ts'
import { environmentResponse } from '../environments/responses.ts'
import { checkBackupCount } from './check-backup-count.ts'

/** Only records the request; the reconciler makes the backup. */
export default handler(createAppEnvBackup, async (context, _input, { environment, app }) => {
  const format = backupFormat(app, environment)
  checkCopied(format, environment)
  await checkBackupCount(context.tx, environment.appEnvId)
  refuseWhileCopying(environment)
  const backup = newBackup(environment, app, {
    format,
    ...regionOfData(format, environment),
    createdBy: userIdOrNull(context.caller),
    createdAt: context.now,
  })
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
    impact: { actions: ['create-object'] },
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
