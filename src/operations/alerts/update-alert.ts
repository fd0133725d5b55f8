import { type Alert, updateAlert } from '../../contract/alerts.ts'
import { metricViolation } from '../../contract/rules.ts'
import type { StoredAlert } from '../../domain/alerts/alert.ts'
import { rejectViolation } from '../../errors.ts'
import { handler } from '../core/handler.ts'
import { saveAlertChange } from './change-alert.ts'
import { ownContactPoints } from './contact-point-responses.ts'
import { alertPreviewFacts, alertResponses, warningsFor } from './responses.ts'

export default handler(updateAlert, async (context, input, target) => {
  const { alertId: _id, expectedRevision: _revision, contactPointIds, ...given } = input
  const changes = given as Partial<StoredAlert>
  if (input.metric !== undefined) rejectViolation(metricViolation(input.metric, target.app))
  if (contactPointIds) {
    const points = await ownContactPoints(context, target.account.accountId, contactPointIds)
    changes.contactPointIds = points.map((point) => point.contactPointId)
  }
  const { alert, change, impact } = await saveAlertChange(context, target.alert, changes)
  const [shown] = await alertResponses(context, [alert])
  const asksThreshold = input.metric !== undefined || input.threshold !== undefined || input.operator
  const warnings = asksThreshold ? warningsFor(alert, target) : []
  return {
    answer: {
      message: [`Alert ${alert.alertId} updated.`, ...warnings].join(' '),
      alert: shown as Alert,
    },
    change,
    impact,
    effects: [alert.enabled ? 'The next evaluation uses the changes.' : 'The alert is paused.', ...warnings],
    preview: ({ metrics }) => alertPreviewFacts(context, metrics, alert, target.environment),
  }
})
