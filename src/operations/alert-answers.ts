import type { Alert } from '../contract/alerts.ts'
import { apiPrefix } from '../contract/operation.ts'
import { type StoredAlert, thresholdWarnings } from '../domain/alert.ts'
import {
  type AlertPreview,
  evaluationsOf,
  previewAlert,
  type StoredStretch,
} from '../domain/alert-preview.ts'
import { aggregate, queryRangeMs } from '../domain/alert-reading.ts'
import type { StoredContactPoint } from '../domain/contact-point.ts'
import { zCloudSize } from '../domain/environment.ts'
import { findAlertStates, lastCheckOf, lastCycleAt } from '../store/alert-states.ts'
import { listContactPointsOf } from '../store/contact-points.ts'
import type { EnvironmentTarget } from './access-targets.ts'
import type { Change, Context } from './handler.ts'

const dayMs = 86_400_000

/** 2.7 for a list of alerts, in the same order. */
export async function alertAnswers(context: Context, alerts: readonly StoredAlert[]): Promise<Alert[]> {
  const { tx } = context
  const states = await findAlertStates(
    tx,
    alerts.map((alert) => alert.alertId),
  )
  const contactPointIds = [...new Set(alerts.flatMap((alert) => alert.contactPointIds))]
  const points = await listContactPointsOf(tx, { contactPointIds })
  const known = new Map(points.map((point) => [point.contactPointId, point]))
  const cycleAt = await lastCycleAt(tx)
  return alerts.map((alert) => {
    const state = states.get(alert.alertId)
    const named = alert.contactPointIds.map((contactPointId) => known.get(contactPointId))
    return {
      ...alert,
      contactPoints: shownContactPoints(named.filter((point) => point !== undefined)),
      lastKnownState: state?.progress.state ?? 'Normal',
      lastStateCheck: state ? lastCheckOf(state, cycleAt) : null,
    }
  })
}

export function shownContactPoints(points: readonly StoredContactPoint[]): Alert['contactPoints'] {
  return points.map(({ contactPointId, name, type }) => ({ contactPointId, name, type }))
}

export function alertChange(before: StoredAlert | null, after: StoredAlert | null): Change {
  const { alertId, accountId } = (after ?? before) as StoredAlert
  return { objectType: 'alert', objectId: alertId, accountId, before, after }
}

/** Public address of an alert, as notices carry it. */
export function alertUrl(context: Context, alertId: string): string {
  return `${context.installation.apiUrl()}${apiPrefix}/alert?alertId=${alertId}`
}

/** What the condition is compared with now; null when nothing was measured. Throws when the source is away. */
export async function currentValueOf(context: Context, alert: StoredAlert): Promise<number | null> {
  const { clockScale } = context.installation
  const toMs = Date.parse(context.now)
  const rangeMs = queryRangeMs(alert, { clockScale, periodMs: context.metrics.periodMs })
  const points = await context.metrics.series({
    appEnvId: alert.appEnvId,
    metric: alert.metric,
    fromMs: toMs - rangeMs,
    toMs,
    stepMs: rangeMs,
  })
  return aggregate(alert.aggregation, points)
}

/** What makes an alert useless: thresholds of another unit or out of reach here, and nobody to tell. */
export function warningsFor(alert: StoredAlert, target: EnvironmentTarget): string[] {
  const warnings = warningsOfThreshold(alert, target)
  return alert.contactPointIds.length > 0
    ? warnings
    : [...warnings, 'It notifies nobody: contactPointIds is empty.']
}

function warningsOfThreshold(alert: StoredAlert, { environment, app }: EnvironmentTarget): string[] {
  if (app.isFunction) return thresholdWarnings(alert)
  const perPod = alert.metric.endsWith('_per_pod')
  const { zClouds, containers } = environment.saved
  const most = environment.autoscaling.enabled ? environment.autoscaling.maxContainers : containers
  const units = zClouds * (perPod ? 1 : Math.max(1, most))
  return thresholdWarnings(alert, {
    cpuMillicores: units * zCloudSize.cpuMillicores,
    memoryMb: units * zCloudSize.memoryMb,
  })
}

/** How the alert would have done over the stored values (contract.md 11, Preview). */
export async function foreseeAlert(
  context: Context,
  alert: StoredAlert,
  environment: { createdAt: string },
): Promise<{ effects: string[]; facts: { preview: AlertPreview } }> {
  const scale = context.installation.clockScale
  const { periodMs } = context.metrics
  const toMs = Date.parse(context.now)
  const fineFromMs = toMs - (2 * 3_600_000) / scale
  const sinceMs = Math.max(Date.parse(environment.createdAt), toMs - (7 * dayMs) / scale)
  const stretches: StoredStretch[] = []
  const { appEnvId, metric } = alert
  for (const [fromMs, endMs, stepMs] of [
    [sinceMs, fineFromMs, 6 * periodMs],
    [Math.max(sinceMs, fineFromMs), toMs, periodMs],
  ] as const) {
    if (endMs <= fromMs) continue
    const points = await context.metrics.series({ appEnvId, metric, fromMs, toMs: endMs, stepMs })
    stretches.push({ fromMs, toMs: endMs, stepMs, points })
  }
  const preview = previewAlert(alert, stretches, scale, await exactValues(context, alert, stretches.at(-1)))
  return { effects: previewSentences(preview), facts: { preview } }
}

/**
 * A percentage weighs by requests and a percentile by response times, so a mean of samples is not what the evaluator
 * reads over a range: where its windows lie in memory they are read as it reads them.
 */
async function exactValues(
  context: Context,
  alert: StoredAlert,
  fine: StoredStretch | undefined,
): Promise<Map<number, number | null>> {
  const values = new Map<number, number | null>()
  const weighs = /^ingress_.*_(percent|latency)$/.test(alert.metric) && alert.aggregation === 'mean'
  if (!fine || !weighs) return values
  const { metrics, installation } = context
  const rangeMs = queryRangeMs(alert, { clockScale: installation.clockScale, periodMs: metrics.periodMs })
  const { appEnvId, metric } = alert
  const inMemoryFromMs = fine.toMs - (2 * 3_600_000) / installation.clockScale
  for (const at of evaluationsOf(fine)) {
    if (at - rangeMs < inMemoryFromMs) continue
    const range = { fromMs: at - rangeMs, toMs: at, stepMs: rangeMs }
    values.set(at, aggregate(alert.aggregation, await metrics.series({ appEnvId, metric, ...range })))
  }
  return values
}

function previewSentences(preview: AlertPreview): string[] {
  const { samples, wouldHaveFired, noDataShare } = preview
  if (samples === 0) return ['Nothing has been measured yet, so whether it would have fired is not known.']
  const times = wouldHaveFired.length
  const last = wouldHaveFired.at(-1)
  const count =
    times === 0
      ? `Would not have fired over the ${samples} stored samples.`
      : `Would have fired ${times} time(s) over the ${samples} stored samples, last at ${last?.at} with ${last?.value}.`
  return noDataShare < 0.5
    ? [count]
    : [count, `${Math.round(noDataShare * 100)} % of the evaluations would have found no data.`]
}
