import { type Alert, getAlert } from '../contract/alerts.ts'
import { metricUnits } from '../contract/metrics.ts'
import type { StoredAlert } from '../domain/alert.ts'
import { AppError } from '../errors.ts'
import { listStateChanges } from '../store/alert-states.ts'
import { listNoticeRecords } from '../store/notices.ts'
import { alertAnswers, currentValueOf } from './alert-answers.ts'
import { type Context, handler } from './handler.ts'

export default handler(getAlert, async (context, _input, { alert }) => {
  const [shown] = await alertAnswers(context, [alert])
  return {
    answer: {
      ...(shown as Alert),
      currentValue: await valueOrNull(context, alert),
      unit: metricUnits[alert.metric],
      stateHistory: await listStateChanges(context.tx, alert.alertId),
      notifications: await listNoticeRecords(context.tx, alert.alertId),
    },
  }
})

/** A source that is away must not hide the rest of the alert. */
async function valueOrNull(context: Context, alert: StoredAlert): Promise<number | null> {
  try {
    return await currentValueOf(context, alert)
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}
