import { findAlertStates, lastCheckOf, lastCycleAt } from '../../alerting/states.ts'
import type { Alert } from '../../contract/alerts.ts'
import { type StoredAlert, thresholdWarnings, unheardAlert } from '../../domain/alerts/alert.ts'
import { alertPage } from '../../domain/alerts/console-pages.ts'
import type { StoredContactPoint } from '../../domain/alerts/contact-point.ts'
import {
  type AlertPreview,
  evaluationsOf,
  previewAlert,
  type StoredChunk,
} from '../../domain/alerts/preview.ts'
import { aggregate, queryRangeMs } from '../../domain/alerts/reading.ts'
import { zCloudSize } from '../../domain/environments/environment.ts'
import { listContactPointsOf } from '../../store/repositories/contact-points.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Change, Context, Sources } from '../core/handler.ts'

const dayMs = 86_400_000

/** 2.7 for a list of alerts, in the same order. */
export async function alertResponses(context: Context, alerts: readonly StoredAlert[]): Promise<Alert[]> {
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

/** The page of an alert, as notifications carry it. */
export function alertUrl(context: Context, envName: string, alertId: string): string | null {
  return alertPage(context.installation.publicUrl(), envName, alertId)
}

/** The value the condition is compared with now; null without samples. Throws when the source is unavailable. */
export async function currentValueOf(
  context: Context,
  metrics: Sources['metrics'],
  alert: StoredAlert,
): Promise<number | null> {
  const { clockScale } = context.installation
  const toMs = Date.parse(context.now)
  const rangeMs = queryRangeMs(alert, { clockScale, periodMs: metrics.periodMs })
  const points = await metrics.series({
    appEnvId: alert.appEnvId,
    metric: alert.metric,
    fromMs: toMs - rangeMs,
    toMs,
    stepMs: rangeMs,
  })
  return aggregate(alert.aggregation, points)
}

/** Warns about a threshold that cannot be reached or looks like another unit, and about missing contact points. */
export function warningsFor(alert: StoredAlert, target: EnvironmentTarget): string[] {
  const warnings = warningsOfThreshold(alert, target)
  return alert.contactPointIds.length > 0 ? warnings : [...warnings, unheardAlert]
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

/** Replays the alert over the stored values (docs/interface.md#alert-preview). */
export async function alertPreviewFacts(
  context: Context,
  metrics: Sources['metrics'],
  alert: StoredAlert,
  environment: { createdAt: string },
): Promise<{ effects: string[]; facts: { preview: AlertPreview } }> {
  const scale = context.installation.clockScale
  const { periodMs } = metrics
  const toMs = Date.parse(context.now)
  const fineFromMs = toMs - (2 * 3_600_000) / scale
  const sinceMs = Math.max(Date.parse(environment.createdAt), toMs - (7 * dayMs) / scale)
  const chunks: StoredChunk[] = []
  const { appEnvId, metric } = alert
  for (const [fromMs, endMs, stepMs] of [
    [sinceMs, fineFromMs, 6 * periodMs],
    [Math.max(sinceMs, fineFromMs), toMs, periodMs],
  ] as const) {
    if (endMs <= fromMs) continue
    const points = await metrics.series({ appEnvId, metric, fromMs, toMs: endMs, stepMs })
    chunks.push({ fromMs, toMs: endMs, stepMs, points })
  }
  const preview = previewAlert(
    alert,
    chunks,
    scale,
    await exactValues(context, metrics, alert, chunks.at(-1)),
  )
  return { effects: previewSentences(preview), facts: { preview } }
}

/**
 * Ratios are weighted by requests and percentiles by response times, so a mean of samples differs from the value that
 * the evaluator reads over a range. Ranges that are still in memory are therefore read exactly as the evaluator does.
 */
async function exactValues(
  context: Context,
  metrics: Sources['metrics'],
  alert: StoredAlert,
  fine: StoredChunk | undefined,
): Promise<Map<number, number | null>> {
  const values = new Map<number, number | null>()
  const weighs = /^ingress_.*_(percent|latency)$/.test(alert.metric) && alert.aggregation === 'mean'
  if (!fine || !weighs) return values
  const { installation } = context
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
  if (samples === 0)
    return ['No samples are stored yet, so the preview cannot tell whether it would have fired.']
  const times = wouldHaveFired.length
  const last = wouldHaveFired.at(-1)
  const count =
    times === 0
      ? `Would not have fired over the ${samples} stored samples.`
      : `Would have fired ${times === 1 ? 'once' : `${times} times`} over the ${samples} stored samples, last at ${last?.at} with ${last?.value}.`
  return noDataShare < 0.5
    ? [count]
    : [count, `${Math.round(noDataShare * 100)} % of the evaluations would have found no data.`]
}
