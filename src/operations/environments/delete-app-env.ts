import { endAlert } from '../../alerting/steps.ts'
import { deleteAppEnv } from '../../contract/app-envs.ts'
import { listAlertsOfEnvironment } from '../../store/repositories/alerts.ts'
import { countBackups } from '../../store/repositories/backups.ts'
import { deleteEnvironment } from '../../store/repositories/environments.ts'
import { listLivePods } from '../../store/repositories/rollouts.ts'
import { alertUrl } from '../alerts/responses.ts'
import { type Context, handler } from '../core/handler.ts'

/** Deletes the rows; the reconciler removes containers, volumes and files without a row. */
export default handler(deleteAppEnv, async (context, _input, { environment, app }) => {
  const { tx, installation } = context
  const pods = await listLivePods(tx, environment.appEnvId)
  const hosts = installation.hosts(environment, app).map(({ host }) => host)
  const backups = await countBackups(tx, environment.appEnvId)
  const firing = await endAlerts(context, environment)
  await deleteEnvironment(tx, environment.appEnvId)
  return {
    answer: { message: `App environment ${environment.cliEnvName} deleted` },
    change: {
      objectType: 'app-env',
      objectId: environment.appEnvId,
      accountId: environment.accountId,
      before: environment,
      after: null,
    },
    effects: [
      `Stops and removes ${pods.length} container(s) of ${environment.cliEnvName}.`,
      ...(hosts.length === 0 ? [] : [`${[...new Set(hosts)].join(', ')} stop(s) serving requests.`]),
      `Removes its ${environment.saved.envVars.length} variable(s), volumes, uploads, logs and alerts permanently.`,
      ...(backups === 0 ? [] : [`Its ${backups} backup(s) stay: list-app-env-backups shows them.`]),
      ...(firing === 0
        ? []
        : [`${firing} alert(s) are firing, so a resolved notification is sent for each.`]),
    ],
    wake: [environment.appEnvId],
  }
})

/** Ends the alerts of an environment and returns how many were firing. */
async function endAlerts(
  context: Context,
  { appEnvId, cliEnvName }: { appEnvId: string; cliEnvName: string },
): Promise<number> {
  const { tx, now } = context
  let firing = 0
  for (const alert of await listAlertsOfEnvironment(tx, appEnvId)) {
    const url = alertUrl(context, cliEnvName, alert.alertId)
    if (await endAlert(tx, { alert, appEnvName: cliEnvName, nowMs: Date.parse(now), url })) firing += 1
  }
  return firing
}
