import { getAlert } from '../contract/alerts.ts'
import { getContactPoint } from '../contract/contact-points.ts'
import { isIngressMetric, type Metric, metrics } from '../contract/metrics.ts'
import { AppError } from '../errors.ts'
import type { Check, Loss, ToolContext, ToolInput } from './define-tool.ts'
import { visibleInline } from './untrusted-text.ts'

/** F9 and 2.7: functions have no CPU and memory metrics, databases no ingress metrics. */
export const metricMeasured: Check = async (ctx, input) => {
  const metric = input.metric as Metric
  if (!metrics.includes(metric)) return undefined
  const env = await ctx.reads.environment(input, ctx.signal)
  if (env.isFunction && !isIngressMetric(metric)) {
    throw new AppError('invalid', `${metric} is not collected for functions`, {
      details: 'Use an ingress metric: ingress_p95_latency, ingress_5xx_percent, ingress_request_rate.',
      rule: 'F9',
    })
  }
  if (env.isDatabase && isIngressMetric(metric)) {
    throw new AppError('invalid', `${metric} is not available for database environments`, {
      details: 'Databases are not behind the ingress: use a CPU or memory metric.',
    })
  }
  return undefined
}

/** A paused alert is not evaluated, so its state is an old one. */
export const saysPaused: Check = async (ctx, { alertId }) => {
  const { enabled } = await ctx.client.call(getAlert, { alertId }, { signal: ctx.signal })
  return enabled ? undefined : 'The alert is paused, so nothing was evaluated; toggle-alert resumes it.'
}

/** What deleting an alert takes with it. */
export async function lossOfAlert(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const alert = await ctx.client.call(getAlert, { alertId: input.alertId }, { signal: ctx.signal })
  const { name, lastKnownState, stateHistory } = alert
  return {
    name,
    verb: 'delete',
    what: `alert ${visibleInline(name)} (${lastKnownState}) with its history of ${stateHistory.length} state change(s)`,
  }
}

/** What deleting a contact point takes with it. */
export async function lossOfContactPoint(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const { contactPointId } = input
  const point = await ctx.client.call(getContactPoint, { contactPointId }, { signal: ctx.signal })
  return {
    name: point.name,
    verb: 'delete',
    what: `contact point ${visibleInline(point.name)} (${point.type}) with its address and secrets`,
  }
}
