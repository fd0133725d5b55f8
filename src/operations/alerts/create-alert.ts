import { insertAlertState } from '../../alerting/states.ts'
import { counted } from '../../amounts.ts'
import { createAlert } from '../../contract/alerts.ts'
import { metricUnits } from '../../contract/metrics.ts'
import { metricViolation } from '../../contract/rules.ts'
import type { StoredAlert } from '../../domain/alerts/alert.ts'
import { newId } from '../../domain/ids.ts'
import { rejectViolation } from '../../errors.ts'
import { insertAlert } from '../../store/repositories/alerts.ts'
import { handler } from '../core/handler.ts'
import { ownContactPoints } from './contact-point-responses.ts'
import { alertChange, alertPreviewFacts, shownContactPoints, warningsFor } from './responses.ts'

export default handler(createAlert, async (context, input, target) => {
  const { environment, app, account } = target
  rejectViolation(metricViolation(input.metric, app))
  const points = await ownContactPoints(context, account.accountId, input.contactPointIds)
  const { name, metric, operator, threshold, duration, aggregation, queryRange } = input
  const alert: StoredAlert = {
    alertId: newId('alr'),
    appEnvId: environment.appEnvId,
    accountId: account.accountId,
    name,
    description: input.description ?? '',
    metric,
    operator,
    threshold,
    duration,
    aggregation,
    queryRange,
    contactPointIds: points.map((point) => point.contactPointId),
    enabled: true,
    region: environment.servedFrom ?? environment.region,
    createdAt: context.now,
    updatedAt: context.now,
    revision: 1,
  }
  await insertAlert(context.tx, alert)
  const { progress } = await insertAlertState(context.tx, alert)
  const warnings = warningsFor(alert, target)
  const { alertId, enabled } = alert
  const contactPoints = shownContactPoints(points)
  const facts = { alertId, name, metric, operator, threshold, duration, aggregation, queryRange }
  const condition = `${aggregation} of ${metric} over ${queryRange} ${operator === 'gt' ? 'above' : 'below'} ${threshold} ${metricUnits[metric]} for ${duration}`
  return {
    answer: {
      message: [`Alert ${alertId} created.`, ...warnings].join(' '),
      alert: { ...facts, enabled, lastKnownState: progress.state, contactPoints },
    },
    change: alertChange(null, alert),
    impact: { actions: ['create-object'] },
    effects: [
      `Fires on ${condition}; notifications go to ${counted(points.length, 'contact point')}.`,
      ...warnings,
    ],
    preview: ({ metrics }) => alertPreviewFacts(context, metrics, alert, environment),
  }
})
