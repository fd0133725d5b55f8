import { deleteAlert } from '../contract/alerts.ts'
import { endAlert } from '../store/alert-steps.ts'
import { alertChange, alertUrl } from './alert-answers.ts'
import { handler } from './handler.ts'

export default handler(deleteAlert, async (context, _input, { alert, environment }) => {
  const fires = await endAlert(context.tx, {
    alert,
    appEnvName: environment.cliEnvName,
    nowMs: Date.parse(context.now),
    url: alertUrl(context, alert.alertId),
  })
  return {
    answer: { message: `Alert ${alert.name} deleted` },
    change: alertChange(alert, null),
    effects: [
      `Deletes the alert ${alert.name} with its history.`,
      ...(fires ? ['It is firing: a resolved notice goes out.'] : []),
    ],
  }
})
