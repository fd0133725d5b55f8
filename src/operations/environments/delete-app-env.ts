import { endAlert } from '../../alerting/steps.ts'
import { counted } from '../../amounts.ts'
import { deleteAppEnv } from '../../contract/app-envs.ts'
import type { ImpactStatement } from '../../contract/impact.ts'
import { listAlertsOfEnvironment } from '../../store/repositories/alerts.ts'
import { countBackups } from '../../store/repositories/backups.ts'
import { deleteEnvironment } from '../../store/repositories/deleted-environments.ts'
import { storedSize } from '../../store/repositories/environments.ts'
import { listActiveJobRuns } from '../../store/repositories/job-runs.ts'
import { peopleNotified } from '../alerts/people-notified.ts'
import { alertUrl } from '../alerts/responses.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { type Context, handler } from '../core/handler.ts'
import { endImpact, hasFreshBackup, storesData } from './container-impact.ts'
import { refuseReferred } from './variable-references.ts'

/** Deletes the rows and stores what is to be removed; the reconciler removes containers, volumes and files. */
export default handler(deleteAppEnv, async (context, _input, target) => {
  const { environment, app } = target
  const { tx, installation } = context
  await refuseReferred(context, target, environment.appEnvId, 'Other environments refer to this one')
  const impact = await deletionImpact(context, target)
  const served = [...new Set(installation.hosts(environment, app).map(({ host }) => host))]
  const backups = await countBackups(tx, environment.appEnvId)
  const { firing, notified } = await endAlerts(context, environment)
  const zCloudsDelta = -(await storedSize(tx, environment.appEnvId))
  await deleteEnvironment(tx, environment)
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
    impact: {
      ...impact,
      actions: [...(impact.actions ?? []), ...(firing > 0 ? ['send-message' as const] : [])],
      peopleNotified: notified,
    },
    effects: [
      `Stops and removes ${counted(impact.containersEnded ?? 0, 'container')} of ${environment.cliEnvName}.`,
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

/** Its backups stay, so data that a fresh one holds is not lost. */
async function deletionImpact(context: Context, target: EnvironmentTarget): Promise<ImpactStatement> {
  const { appEnvId } = target.environment
  const hasData = storesData(target)
  const runs = await listActiveJobRuns(context.tx, appEnvId)
  const actions = ['delete-object', ...(hasData ? ['delete-data'] : [])] as ImpactStatement['actions']
  return {
    ...(await endImpact(context, target, actions ?? [], runs)),
    dataLost: hasData && !(await hasFreshBackup(context, appEnvId)),
    undo: 'none',
  }
}

/** Ends the alerts of an environment: how many had an open episode, and the messages that end them. */
async function endAlerts(
  context: Context,
  { appEnvId, cliEnvName }: { appEnvId: string; cliEnvName: string },
): Promise<{ firing: number; notified: number }> {
  const { tx, now } = context
  let firing = 0
  let notified = 0
  const ended = { appEnvName: cliEnvName, nowMs: Date.parse(now), endedBy: 'environment-deleted' } as const
  for (const alert of await listAlertsOfEnvironment(tx, appEnvId)) {
    const url = alertUrl(context, cliEnvName, alert.alertId)
    const receivers = await endAlert(tx, { ...ended, alert, url })
    if (receivers.length > 0) firing += 1
    notified += await peopleNotified(tx, receivers)
  }
  return { firing, notified }
}
