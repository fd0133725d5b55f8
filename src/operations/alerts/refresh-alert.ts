import { findAlertStates, lastCheckOf, lastCycleAt, type StoredAlertState } from '../../alerting/states.ts'
import { type Evaluation, storeEvaluation } from '../../alerting/steps.ts'
import { type AlertState, refreshAlert } from '../../contract/alerts.ts'
import type { ImpactStatement } from '../../contract/impact.ts'
import { type StoredAlert, spanMs } from '../../domain/alerts/alert.ts'
import { readingOf } from '../../domain/alerts/reading.ts'
import { clearMsOf, nextAlertState, type Reading } from '../../domain/alerts/state.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import type { TargetOn } from '../core/access-targets.ts'
import { notFound } from '../core/authorize.ts'
import { type Context, handler, noImpact, type Sources } from '../core/handler.ts'
import { peopleNotified } from './people-notified.ts'
import { alertUrl, currentValueOf } from './responses.ts'

/**
 * Evaluates outside the transaction, because the source of the values may be slow. The call does not count towards the
 * duration of the condition: only the evaluator's cycles do.
 */
export default handler(refreshAlert, async (context, _input, target) => {
  const { alert } = target
  const state = await stateOf(context.tx, alert)
  const previousState = state.progress.state
  if (!alert.enabled) {
    const checked = lastCheckOf(state, await lastCycleAt(context.tx)) ?? context.now
    return { answer: answerOf(previousState, previousState, checked), impact: noImpact }
  }
  return {
    answer: null,
    impact: await refreshImpact(context, alert, state),
    preview: async ({ metrics }) => {
      const evaluation = await evaluationOf(context, metrics, target, state)
      const { progress } = nextAlertState(state.progress, evaluation.reading, evaluation)
      return {
        effects: [`The alert is evaluated now: ${previousState} becomes ${progress.state}.`],
        facts: {},
      }
    },
    afterCommit: async (write, { metrics }) => {
      const evaluation = await evaluationOf(context, metrics, target, state)
      // Null: the alert changed in the meantime, so the evaluation no longer applies.
      const after = await write(async (tx) => (await storeEvaluation(tx, evaluation)) ?? stateOf(tx, alert))
      return answerOf(after.progress.state, previousState, after.checkedAt ?? context.now)
    },
  }
})

/** The value is read after the transaction, so a notification that it may cause counts as sent. */
async function refreshImpact(
  { tx, installation }: Context,
  alert: StoredAlert,
  { progress }: StoredAlertState,
): Promise<ImpactStatement> {
  const { clockScale } = installation
  const durationMs = spanMs(alert.duration)
  const time = {
    sinceMs: 0,
    durationMs: durationMs / clockScale,
    clearMs: clearMsOf(durationMs) / clockScale,
  }
  const readings: Reading[] = [
    { kind: 'value', value: 0, isMet: true },
    { kind: 'value', value: 0, isMet: false },
    { kind: 'stopped' },
  ]
  const mayNotify = readings.some((reading) => nextAlertState(progress, reading, time).notification !== null)
  if (!mayNotify) return { actions: ['none'] }
  return { actions: ['send-message'], peopleNotified: await peopleNotified(tx, alert.contactPointIds) }
}

async function stateOf(tx: Tx, { alertId }: StoredAlert): Promise<StoredAlertState> {
  const state = (await findAlertStates(tx, [alertId])).get(alertId)
  if (!state) throw notFound('alert')
  return state
}

async function evaluationOf(
  context: Context,
  metrics: Sources['metrics'],
  { alert, environment }: TargetOn<'alert'>,
  state: StoredAlertState,
): Promise<Evaluation> {
  const { clockScale } = context.installation
  const durationMs = spanMs(alert.duration)
  return {
    alert,
    state,
    appEnvName: environment.cliEnvName,
    reading:
      environment.status === 'STOPPED' && environment.currentVersion !== null
        ? { kind: 'stopped' }
        : await readNow(context, metrics, alert),
    sinceMs: 0,
    durationMs: durationMs / clockScale,
    clearMs: clearMsOf(durationMs) / clockScale,
    nowMs: Date.parse(context.now),
    url: alertUrl(context, environment.cliEnvName, alert.alertId),
    isInCycle: state.isInCycle,
  }
}

async function readNow(context: Context, metrics: Sources['metrics'], alert: StoredAlert): Promise<Reading> {
  try {
    return readingOf(alert, await currentValueOf(context, metrics, alert))
  } catch (error) {
    if (error instanceof AppError) return { kind: 'error' }
    throw error
  }
}

function answerOf(state: AlertState, previousState: AlertState, lastStateCheck: string) {
  return { state, previousState, lastStateCheck }
}
