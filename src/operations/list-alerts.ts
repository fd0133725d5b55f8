import { listAlerts } from '../contract/alerts.ts'
import { listAlertsOfEnvironment } from '../store/alerts.ts'
import { alertAnswers } from './alert-answers.ts'
import { handler } from './handler.ts'

export default handler(listAlerts, async (context, _input, { environment }) => {
  const alerts = await listAlertsOfEnvironment(context.tx, environment.appEnvId)
  return { answer: { alerts: await alertAnswers(context, alerts) } }
})
