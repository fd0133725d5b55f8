import { findAlertStates, lastCheckOf, lastCycleAt, saveAlertState } from '../../alerting/states.ts'
import type { StoredAlert } from '../../domain/alerts/alert.ts'
import { saveAlert } from '../../store/repositories/alerts.ts'
import type { Change, Context } from '../core/handler.ts'
import { alertChange } from './responses.ts'

type Condition = 'metric' | 'operator' | 'threshold' | 'duration' | 'aggregation' | 'queryRange'
const condition: readonly Condition[] = [
  'metric',
  'operator',
  'threshold',
  'duration',
  'aggregation',
  'queryRange',
]

/**
 * Saves a changed alert. A changed condition restarts its duration; pausing freezes the state and the time of the last
 * check (3.2).
 */
export async function saveAlertChange(
  context: Context,
  before: StoredAlert,
  changes: Partial<StoredAlert>,
): Promise<{ alert: StoredAlert; change: Change }> {
  const alert: StoredAlert = {
    ...before,
    ...changes,
    updatedAt: context.now,
    revision: before.revision + 1,
  }
  await saveAlert(context.tx, alert)
  const state = (await findAlertStates(context.tx, [alert.alertId])).get(alert.alertId)
  if (state) {
    const isOther = condition.some((field) => before[field] !== alert[field])
    const resumes = !before.enabled && alert.enabled
    await saveAlertState(
      context.tx,
      {
        ...state,
        progress: { ...state.progress, heldMs: isOther || resumes ? 0 : state.progress.heldMs },
        checkedAt: lastCheckOf(state, await lastCycleAt(context.tx)),
        isInCycle: alert.enabled && before.enabled && state.isInCycle,
      },
      null,
    )
  }
  return { alert, change: alertChange(before, alert) }
}
