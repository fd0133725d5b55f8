import { restoreAppEnvBackup } from '../../contract/backups.ts'
import { accessEffects } from '../../domain/backups/access.ts'
import {
  backupFormat,
  checkReplaced,
  checkRestorable,
  newRestore,
  regionOfData,
  restoreResponse,
} from '../../domain/backups/backup.ts'
import { AppError } from '../../errors.ts'
import { insertRestore, isRestoring } from '../../store/repositories/backups.ts'
import { loadVisible, notFound } from '../core/authorize.ts'
import { handler } from '../core/handler.ts'
import { userIdOrNull } from '../core/user-of.ts'
import { hasFreshBackup, storesData } from '../environments/container-impact.ts'
import { noteActivity } from '../environments/note-activity.ts'
import { environmentResponse } from '../environments/responses.ts'

/** Only records the request; the reconciler restores the data once the database answers, or its containers ended. */
export default handler(restoreAppEnvBackup, async (context, input, target) => {
  const { environment, app } = target
  const { tx, caller, now } = context
  const format = backupFormat(app, environment)
  const { backup } = await loadVisible({ tx, caller, operation: restoreAppEnvBackup, input }, 'backup')
  // Data never crosses from one account to another, also for a member of both.
  if (backup.accountId !== environment.accountId) throw notFound('backup')
  checkRestorable(backup, { app, environment, format })
  checkReplaced(format, environment)
  if (await isRestoring(tx, environment.appEnvId, environment.region)) {
    throw new AppError('conflict', 'A restore of this environment is already running', {
      details: 'Wait until list-app-env-backups shows that it has ended.',
    })
  }
  const restore = newRestore(backup, {
    appEnvId: environment.appEnvId,
    ...regionOfData(format, environment),
    createdBy: userIdOrNull(caller),
    createdAt: now,
  })
  await insertRestore(tx, restore)
  const isHeld = await hasFreshBackup(context, environment.appEnvId)
  const details = backup.backupId
  await noteActivity(context, environment.appEnvId, { activity: 'RESTORE', status: 'PENDING', details })
  return {
    answer: {
      ...environmentResponse(
        environment,
        `Restoring ${backup.backupId}; list-app-env-backups shows when it is done`,
      ),
      restore: restoreResponse(restore),
    },
    change: {
      objectType: 'restore',
      objectId: restore.restoreId,
      accountId: restore.accountId,
      before: null,
      after: restore,
    },
    impact: {
      actions: ['replace-data'],
      downtimeSeconds: environment.desiredState === 'running' ? null : 0,
      dataLost: storesData(target) && !isHeld,
      undo: isHeld ? 'restore' : 'none',
    },
    effects: [
      `Replaces all data of ${environment.cliEnvName} with the backup of ${backup.envName} from ${backup.createdAt} (${backup.sizeBytes} bytes).`,
      ...accessEffects(backup, environment.appEnvId),
    ],
    wake: [environment.appEnvId],
  }
})
