import { counted } from '../../amounts.ts'
import { getAlert } from '../../contract/alerts.ts'
import { getContactPoint } from '../../contract/contact-points.ts'
import { type Metric, metrics } from '../../contract/metrics.ts'
import { metricViolation } from '../../contract/rules.ts'
import { rejectViolation } from '../../errors.ts'
import type { Check, Loss, ToolContext, ToolInput } from './define-tool.ts'

/** F9 and 2.7: functions have no CPU and memory metrics, databases no ingress metrics. */
export const metricCollected: Check = async (ctx, input) => {
  const metric = input.metric as Metric
  if (!metrics.includes(metric)) return undefined
  rejectViolation(metricViolation(metric, await ctx.reads.environment(input, ctx.signal)))
  return undefined
}

/** A paused alert is not evaluated, so its state is outdated. */
export const warnPaused: Check = async (ctx, { alertId }) => {
  const { enabled } = await ctx.client.call(getAlert, { alertId }, { signal: ctx.signal })
  return enabled
    ? undefined
    : 'The alert is paused, so it was not evaluated; update-alert with enabled true resumes it.'
}

/** Effect of deleting an alert, for the confirmation. */
export async function alertEffects(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const alert = await ctx.client.call(getAlert, { alertId: input.alertId }, { signal: ctx.signal })
  const { alertId, name, lastKnownState, stateHistory } = alert
  return {
    name: alertId,
    verb: 'delete',
    what: `alert ${alertId} (${lastKnownState}) with its history of ${counted(stateHistory.length, 'state change')}`,
    fields: { name },
  }
}

/** Effect of deleting a contact point, for the confirmation. */
export async function contactPointEffects(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const { contactPointId } = input
  const point = await ctx.client.call(getContactPoint, { contactPointId }, { signal: ctx.signal })
  return {
    name: point.contactPointId,
    verb: 'delete',
    what: `contact point ${point.contactPointId} (${point.type}) with its address and secrets`,
    fields: { name: point.name },
  }
}
