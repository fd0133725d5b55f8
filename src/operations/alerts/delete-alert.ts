import { endAlert } from '../../alerting/steps.ts'
import { deleteAlert } from '../../contract/alerts.ts'
import { handler } from '../core/handler.ts'
import { peopleNotified } from './people-notified.ts'
import { alertChange, alertUrl } from './responses.ts'

export default handler(deleteAlert, async (context, _input, { alert, environment }) => {
  const notified = await endAlert(context.tx, {
    alert,
    endedBy: 'alert-deleted',
    appEnvName: environment.cliEnvName,
    nowMs: Date.parse(context.now),
    url: alertUrl(context, environment.cliEnvName, alert.alertId),
  })
  return {
    answer: { message: `Alert ${alert.alertId} deleted` },
    change: alertChange(alert, null),
    impact: {
      actions: notified.length > 0 ? ['delete-object', 'send-message'] : ['delete-object'],
      peopleNotified: await peopleNotified(context.tx, notified),
    },
    effects: [
      `Deletes alert ${alert.alertId} with its history.`,
      ...(notified.length > 0
        ? ['Its receivers know that it fires, so they are notified that it ends.']
        : []),
    ],
  }
})
