import { defaultThresholds } from '../../contract/metrics.ts'
import type { StoredAlert } from '../../domain/alerts/alert.ts'
import type { AlertFacts } from '../../domain/diagnosis/facts.ts'
import { listAlertsOfEnvironment } from '../../store/repositories/alerts.ts'
import { listContactPointsOf } from '../../store/repositories/contact-points.ts'
import { warningsFor } from '../alerts/responses.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Context } from '../core/handler.ts'

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
