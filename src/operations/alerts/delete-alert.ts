import { endAlert } from '../../alerting/steps.ts'
import { deleteAlert } from '../../contract/alerts.ts'
import { handler } from '../core/handler.ts'
import { alertChange, alertUrl } from './responses.ts'

export default handler(deleteAlert, async (context, _input, { alert, environment }) => {
  const fires = await endAlert(context.tx, {
    alert,
    endedBy: 'alert-deleted',
    appEnvName: environment.cliEnvName,
    nowMs: Date.parse(context.now),
    url: alertUrl(context, environment.cliEnvName, alert.alertId),
  })
  return {
    answer: { message: `Alert ${alert.alertId} deleted` },
    change: alertChange(alert, null),
    effects: [
      `Deletes alert ${alert.alertId} with its history.`,
      ...(fires ? ['Its receivers know that it fires, so they are notified that it ends.'] : []),
    ],
  }
})
