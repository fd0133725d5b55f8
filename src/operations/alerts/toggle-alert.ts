import { toggleAlert } from '../../contract/alerts.ts'
import { handler } from '../core/handler.ts'
import { saveAlertChange } from './change-alert.ts'

export default handler(toggleAlert, async (context, { enabled }, { alert: before }) => {
  const word = enabled ? 'resumed' : 'paused'
  if (before.enabled === enabled) {
    return { answer: { message: `Alert ${before.alertId} is already ${word}`, enabled } }
  }
  const { change } = await saveAlertChange(context, before, { enabled })
  const effect = enabled
    ? 'The alert is evaluated again.'
    : 'The alert is not evaluated and sends nothing; its state stays as it is.'
  return { answer: { message: `Alert ${before.alertId} ${word}`, enabled }, change, effects: [effect] }
})
