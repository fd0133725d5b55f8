import { listStateChanges } from '../../alerting/state-history.ts'
import { findAlertStates } from '../../alerting/states.ts'
import { timestamp } from '../../clock.ts'
import { defaultThresholds } from '../../contract/metrics.ts'
import { isMet, type StoredAlert } from '../../domain/alerts/alert.ts'
import { queryRangeMs } from '../../domain/alerts/reading.ts'
import type { AlertFacts, FiringAlert } from '../../domain/diagnosis/facts.ts'
import type { Mask } from '../../domain/environments/secret-masker.ts'
import { listAlertsOfEnvironment } from '../../store/repositories/alerts.ts'
import { listContactPointsOf } from '../../store/repositories/contact-points.ts'
import { warningsFor } from '../alerts/responses.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Context, Sources } from '../core/handler.ts'
import { readOrNull } from './read-or-null.ts'

type Firing = Omit<FiringAlert, 'resolvesAt'> & { alert: StoredAlert }

/** Alerts that fire now, without the time of their end. */
export async function loadFiring({ tx }: Context, { environment }: EnvironmentTarget): Promise<Firing[]> {
  const alerts = (await listAlertsOfEnvironment(tx, environment.appEnvId)).filter(({ enabled }) => enabled)
  const states = await findAlertStates(
    tx,
    alerts.map(({ alertId }) => alertId),
  )
  const firing: Firing[] = []
  for (const alert of alerts) {
    if (states.get(alert.alertId)?.progress.state !== 'Firing') continue
    const { alertId, name, metric, operator, threshold } = alert
    const [began] = (await listStateChanges(tx, alertId)).filter(({ to }) => to === 'Firing')
    const { at: since = null, value = null } = began ?? {}
    firing.push({ alertId, name, metric, operator, threshold, since, value, alert })
  }
  return firing
}

/** An alert looks back over its query range, so it fires for a while after the metric has recovered. */
export async function withEnd(
  { now, installation: { clockScale } }: Context,
  metrics: Sources['metrics'],
  firing: readonly Firing[],
  mask: Mask,
): Promise<FiringAlert[]> {
  const toMs = Date.parse(now)
  const { periodMs } = metrics
  const found: FiringAlert[] = []
  for (const { alert, ...shown } of firing) {
    const { appEnvId, metric } = alert
    const rangeMs = queryRangeMs(alert, { clockScale, periodMs })
    const range = { appEnvId, metric, fromMs: toMs - rangeMs, toMs, stepMs: periodMs }
    const points = await readOrNull(() => metrics.series(range))
    const beyond = points?.findLast(({ value }) => isMet(alert, value))
    const hasRecovered = beyond !== undefined && toMs - beyond.t > 2 * periodMs
    const resolvesAt = hasRecovered ? timestamp(beyond.t + rangeMs) : null
    found.push({ ...shown, name: mask(shown.name), resolvesAt })
  }
  return found
}

/** Alerts that are enabled but cannot work, each with the change that fixes it. */
export async function loadAlertFacts({ tx }: Context, target: EnvironmentTarget): Promise<AlertFacts[]> {
  const alerts = await listAlertsOfEnvironment(tx, target.environment.appEnvId)
  const useless = alerts.filter((alert) => alert.enabled && warningsFor(alert, target).length > 0)
  if (useless.length === 0) return []
  const points = await listContactPointsOf(tx, { accountId: target.account.accountId })
  const only = points.length === 1 ? points[0]!.contactPointId : null
  return useless.map((alert) => ({
    alertId: alert.alertId,
    warnings: warningsFor(alert, target),
    updatedAt: alert.updatedAt,
    correction: correctionOf(alert, target, only),
  }))
}

/** Null unless the alert has no warning left with it. */
function correctionOf(
  alert: StoredAlert,
  target: EnvironmentTarget,
  onlyContactPointId: string | null,
): Record<string, unknown> | null {
  const isUnheard = alert.contactPointIds.length === 0 && onlyContactPointId !== null
  const contactPointIds = isUnheard ? { contactPointIds: [onlyContactPointId] } : {}
  const usual = alert.operator === 'gt' ? { threshold: defaultThresholds[alert.metric] } : {}
  const corrections = [contactPointIds, usual, { ...contactPointIds, ...usual }]
  return corrections.find((one) => warningsFor({ ...alert, ...one }, target).length === 0) ?? null
}
