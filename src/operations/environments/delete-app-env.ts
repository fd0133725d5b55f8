import { endAlert } from '../../alerting/steps.ts'
import { counted } from '../../amounts.ts'
import { deleteAppEnv } from '../../contract/app-envs.ts'
import { listAlertsOfEnvironment } from '../../store/repositories/alerts.ts'
import { countBackups } from '../../store/repositories/backups.ts'
import { deleteEnvironment, storedSize } from '../../store/repositories/environments.ts'
import { listLivePods } from '../../store/repositories/rollouts.ts'
import { alertUrl } from '../alerts/responses.ts'
import { type Context, handler } from '../core/handler.ts'
import { refuseReferred } from './variable-references.ts'

/** Deletes the rows; the reconciler removes containers, volumes and files without a row. */
export default handler(deleteAppEnv, async (context, _input, target) => {
  const { environment, app } = target
  const { tx, installation } = context
  await refuseReferred(context, target, environment.appEnvId, 'Other environments refer to this one')
  const pods = await listLivePods(tx, environment.appEnvId)
  const served = [...new Set(installation.hosts(environment, app).map(({ host }) => host))]
  const backups = await countBackups(tx, environment.appEnvId)
  const firing = await endAlerts(context, environment)
  const zCloudsDelta = -(await storedSize(tx, environment.appEnvId))
  await deleteEnvironment(tx, environment.appEnvId)
  return {
    answer: { message: `App environment ${environment.cliEnvName} deleted` },
    change: {
      objectType: 'app-env',
      objectId: environment.appEnvId,
      accountId: environment.accountId,
      before: environment,
      after: null,
      zCloudsDelta,
    },
    effects: [
      `Stops and removes ${counted(pods.length, 'container')} of ${environment.cliEnvName}.`,
      ...(served.length === 0
        ? []
        : [`${served.join(', ')} ${served.length === 1 ? 'stops' : 'stop'} serving requests.`]),
      `Removes its ${counted(environment.saved.envVars.length, 'variable')}, volumes, uploads, logs and alerts permanently.`,
      ...(backups === 0
        ? []
        : [`Its ${counted(backups, 'backup stays', 'backups stay')}: list-app-env-backups shows them.`]),
      ...(firing === 0
        ? []
        : [
            `${counted(firing, 'alert is', 'alerts are')} firing, so receivers are notified of the end of each.`,
          ]),
    ],
    wake: [environment.appEnvId],
  }
})

/** Ends the alerts of an environment and returns how many had an open episode. */
async function endAlerts(
  context: Context,
  { appEnvId, cliEnvName }: { appEnvId: string; cliEnvName: string },
): Promise<number> {
  const { tx, now } = context
  let firing = 0
  const ended = { appEnvName: cliEnvName, nowMs: Date.parse(now), endedBy: 'environment-deleted' } as const
  for (const alert of await listAlertsOfEnvironment(tx, appEnvId)) {
    const url = alertUrl(context, cliEnvName, alert.alertId)
    if (await endAlert(tx, { ...ended, alert, url })) firing += 1
  }
  return firing
}
