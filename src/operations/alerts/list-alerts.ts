import { listAlerts } from '../../contract/alerts.ts'
import type { App } from '../../contract/apps.ts'
import { visibleEnvironments } from '../../domain/access/environment-access.ts'
import { listAlerts as listStored } from '../../store/repositories/alerts.ts'
import { listEnvironments } from '../../store/repositories/environments.ts'
import type { AccountTarget } from '../core/access-targets.ts'
import { type Context, handler } from '../core/handler.ts'
import { alertResponses } from './responses.ts'

const usualLimit = 200

/** M2: alerts of environments that the caller cannot access do not appear, neither in the list nor in its total. */
export default handler(listAlerts, async (context, input, target) => {
  const { environment, app } = target
  const { state, offset, limit = environment ? undefined : usualLimit } = input
  const of = environment ? { appEnvIds: [environment.appEnvId] } : await accessibleOf(context, target, app)
  const { alerts, total } = await listStored(context.tx, of, { state, limit, offset })
  const responses = await alertResponses(
    context,
    alerts.map(({ alert }) => alert),
  )
  return {
    answer: {
      alerts: environment
        ? responses
        : responses.map((response, index) => ({ ...response, envName: alerts[index]!.envName })),
      ...(limit === undefined
        ? {}
        : { pagination: { limit, offset, total, hasMore: offset + alerts.length < total } }),
    },
  }
})

async function accessibleOf({ tx }: Context, { account, membership }: AccountTarget, app: App | null) {
  const of = app ? { appId: app.appId } : { accountId: account.accountId }
  const only = visibleEnvironments(account, membership)
  if (only === null) return of
  const accessible = await listEnvironments(tx, of, only)
  return { appEnvIds: accessible.map(({ appEnvId }) => appEnvId) }
}
