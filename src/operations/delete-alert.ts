import { deleteAlert } from '../contract/alerts.ts'
import { findAlertStates } from '../store/alert-states.ts'
import { closeEpisode } from '../store/alert-steps.ts'
import { removeAlert } from '../store/alerts.ts'
import { alertChange, alertUrl } from './alert-answers.ts'
import { handler } from './handler.ts'

export default handler(deleteAlert, async (context, _input, { alert, environment }) => {
  const { tx, now } = context
  const state = (await findAlertStates(tx, [alert.alertId])).get(alert.alertId)
  const fires = alert.enabled && state?.progress.isOpen === true
  if (state) {
    const url = alertUrl(context, alert.alertId)
    await closeEpisode(tx, {
      alert,
      state,
      appEnvName: environment.cliEnvName,
      nowMs: Date.parse(now),
      url,
    })
  }
  await removeAlert(tx, alert.alertId)
  return {
    answer: { message: `Alert ${alert.name} deleted` },
    change: alertChange(alert, null),
    effects: [
      `Deletes the alert ${alert.name} with its history.`,
      ...(fires ? ['It is firing: a resolved notice goes out.'] : []),
    ],
  }
})
