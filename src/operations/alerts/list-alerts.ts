import { listAlerts } from '../../contract/alerts.ts'
import { listAlertsOfEnvironment } from '../../store/repositories/alerts.ts'
import { handler } from '../core/handler.ts'
import { alertResponses } from './responses.ts'

export default handler(listAlerts, async (context, _input, { environment }) => {
  const alerts = await listAlertsOfEnvironment(context.tx, environment.appEnvId)
  return { answer: { alerts: await alertResponses(context, alerts) } }
})
