import { deleteAppEnv } from '../contract/app-envs.ts'
import { endAlert } from '../store/alert-steps.ts'
import { listAlertsOfEnvironment } from '../store/alerts.ts'
import { countBackups } from '../store/backups.ts'
import { deleteEnvironment } from '../store/environments.ts'
import { listLivePods } from '../store/rollouts.ts'
import { alertUrl } from './alert-answers.ts'
import { type Context, handler } from './handler.ts'

/** The rows go now; containers, volumes and files that belong to no row are removed by the reconciler. */
export default handler(deleteAppEnv, async (context, _input, { environment, app }) => {
  const { tx, installation } = context
  const pods = await listLivePods(tx, environment.appEnvId)
  const hosts = installation.hosts(environment, app).map(({ host }) => host)
  const backups = await countBackups(tx, environment.appEnvId)
  const firing = await endAlerts(context, environment)
  await deleteEnvironment(tx, environment.appEnvId)
  return {
    answer: { message: `App environment ${environment.name} deleted` },
    change: {
      objectType: 'app-env',
      objectId: environment.appEnvId,
      accountId: environment.accountId,
      before: environment,
      after: null,
    },
    effects: [
      `Stops and removes ${pods.length} container(s) of ${environment.cliEnvName}.`,
      ...(hosts.length === 0 ? [] : [`Nothing answers any more at ${[...new Set(hosts)].join(', ')}.`]),
      `Removes its ${environment.saved.envVars.length} variable(s), volumes, uploads, logs and alerts for good.`,
      ...(backups === 0 ? [] : [`Its ${backups} backup(s) stay: list-app-env-backups shows them.`]),
      ...(firing === 0 ? [] : [`${firing} alert(s) are firing: a resolved notice of each goes out.`]),
    ],
    wake: [environment.appEnvId],
  }
})

/** How many of them were firing. */
async function endAlerts(
  context: Context,
  { appEnvId, cliEnvName }: { appEnvId: string; cliEnvName: string },
): Promise<number> {
  const { tx, now } = context
  let firing = 0
  for (const alert of await listAlertsOfEnvironment(tx, appEnvId)) {
    const url = alertUrl(context, alert.alertId)
    if (await endAlert(tx, { alert, appEnvName: cliEnvName, nowMs: Date.parse(now), url })) firing += 1
  }
  return firing
}
