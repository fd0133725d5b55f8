import {
  findAlertStates,
  lastCheckOf,
  lastCycleAt,
  type StoredAlertState,
  saveAlertState,
} from '../../alerting/states.ts'
import { endForContactPoints } from '../../alerting/steps.ts'
import type { ImpactStatement } from '../../contract/impact.ts'
import type { StoredAlert } from '../../domain/alerts/alert.ts'
import { saveAlert } from '../../store/repositories/alerts.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import type { Change, Context } from '../core/handler.ts'
import { peopleNotified } from './people-notified.ts'
import { alertChange, alertUrl } from './responses.ts'

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
 * check (3.2). A contact point that is no longer notified gets the end of an open episode.
 */
export async function saveAlertChange(
  context: Context,
  before: StoredAlert,
  changes: Partial<StoredAlert>,
): Promise<{ alert: StoredAlert; change: Change; impact: ImpactStatement }> {
  const alert: StoredAlert = {
    ...before,
    ...changes,
    updatedAt: context.now,
    revision: before.revision + 1,
  }
  await saveAlert(context.tx, alert)
  const state = (await findAlertStates(context.tx, [alert.alertId])).get(alert.alertId)
  let notified: string[] = []
  if (state) {
    const isOther = condition.some((field) => before[field] !== alert[field])
    const resumes = !before.enabled && alert.enabled
    if (state.progress.isOpen) notified = await endWhereRemoved(context, before, { alert, state })
    const afresh = isOther ? { flaps: 0, calmMs: 0, heldMs: 0 } : {}
    await saveAlertState(
      context.tx,
      {
        ...state,
        progress: { ...state.progress, ...(resumes ? { heldMs: 0 } : {}), ...afresh },
        checkedAt: lastCheckOf(state, await lastCycleAt(context.tx)),
        isInCycle: alert.enabled && before.enabled && state.isInCycle,
      },
      null,
    )
  }
  const impact: ImpactStatement =
    notified.length === 0
      ? {}
      : {
          actions: ['change-settings', 'send-message'],
          peopleNotified: await peopleNotified(context.tx, notified),
        }
  return { alert, change: alertChange(before, alert), impact }
}

async function endWhereRemoved(
  context: Context,
  before: StoredAlert,
  { alert, state }: { alert: StoredAlert; state: StoredAlertState },
): Promise<string[]> {
  const contactPointIds = before.contactPointIds.filter((id) => !alert.contactPointIds.includes(id))
  const environment = await findEnvironment(context.tx, alert)
  if (contactPointIds.length === 0 || !environment) return []
  const { cliEnvName: appEnvName } = environment
  const url = alertUrl(context, appEnvName, alert.alertId)
  const nowMs = Date.parse(context.now)
  return endForContactPoints(context.tx, { alert, state, appEnvName, nowMs, url, contactPointIds })
}
