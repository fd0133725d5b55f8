import { listNotificationRecords } from '../../alerting/outbox.ts'
import { listStateChanges } from '../../alerting/state-history.ts'
import { findAlertStates, type StoredAlertState } from '../../alerting/states.ts'
import { type Alert, type AlertDetails, getAlert } from '../../contract/alerts.ts'
import { metricUnits } from '../../contract/metrics.ts'
import type { StoredAlert } from '../../domain/alerts/alert.ts'
import { episodeIdOf } from '../../domain/alerts/notification.ts'
import { isFlapping } from '../../domain/alerts/state.ts'
import { AppError } from '../../errors.ts'
import { type Context, handler, type Sources } from '../core/handler.ts'
import { alertResponses, currentValueOf } from './responses.ts'

export default handler(getAlert, async (context, _input, { alert }) => {
  const [shown] = await alertResponses(context, [alert])
  return {
    answer: {
      ...(shown as Alert),
      currentValue: null,
      unit: metricUnits[alert.metric],
      ...openEpisodeOf((await findAlertStates(context.tx, [alert.alertId])).get(alert.alertId)),
      stateHistory: await listStateChanges(context.tx, alert.alertId),
      notifications: await listNotificationRecords(context.tx, alert.alertId),
    },
    afterRead: async (answer, { metrics }) => ({
      ...answer,
      currentValue: await valueOrNull(context, metrics, alert),
    }),
  }
})

function openEpisodeOf(state: StoredAlertState | undefined): Pick<AlertDetails, 'openEpisode'> {
  if (!state?.progress.isOpen || state.startedAt === null) return {}
  const { alertId, progress, startedAt } = state
  const flapping = isFlapping(progress)
  return { openEpisode: { episodeId: episodeIdOf(alertId, progress.episode), startedAt, flapping } }
}

/** Return the alert even if its metric source is unavailable. */
async function valueOrNull(
  context: Context,
  metrics: Sources['metrics'],
  alert: StoredAlert,
): Promise<number | null> {
  try {
    return await currentValueOf(context, metrics, alert)
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}
