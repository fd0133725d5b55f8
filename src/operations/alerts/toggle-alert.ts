import { toggleAlert } from '../../contract/alerts.ts'
import { handler, noImpact } from '../core/handler.ts'
import { saveAlertChange } from './change-alert.ts'

export default handler(toggleAlert, async (context, { enabled }, { alert: before }) => {
  const word = enabled ? 'resumed' : 'paused'
  if (before.enabled === enabled) {
    const message = `Alert ${before.alertId} is already ${word}`
    return { answer: { message, enabled }, impact: noImpact }
  }
  const { change, impact } = await saveAlertChange(context, before, { enabled })
  const effect = enabled
    ? 'The alert is evaluated again.'
    : 'The alert is not evaluated and sends nothing; its state stays as it is.'
  return {
    answer: { message: `Alert ${before.alertId} ${word}`, enabled },
    change,
    impact,
    effects: [effect],
  }
})
