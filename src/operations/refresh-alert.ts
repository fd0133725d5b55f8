import { type AlertState, refreshAlert } from '../contract/alerts.ts'
import { type StoredAlert, spanMs } from '../domain/alert.ts'
import { readingOf } from '../domain/alert-reading.ts'
import type { Reading } from '../domain/alert-state.ts'
import { AppError } from '../errors.ts'
import { findAlertStates, lastCheckOf, lastCycleAt, type StoredAlertState } from '../store/alert-states.ts'
import { storeEvaluation } from '../store/alert-steps.ts'
import type { AlertTarget } from './access-targets.ts'
import { alertUrl, currentValueOf } from './alert-answers.ts'
import { type Context, handler } from './handler.ts'

/** Evaluates now. Time does not pass by it: only the evaluator's cycles count how long a condition holds. */
export default handler(refreshAlert, async (context, _input, target) => {
  const { alert } = target
  const state = (await findAlertStates(context.tx, [alert.alertId])).get(alert.alertId)
  if (!state) throw new Error(`alert ${alert.alertId} has no state`)
  const previousState = state.progress.state
  if (!alert.enabled) {
    const checked = lastCheckOf(state, await lastCycleAt(context.tx))
    return { answer: answerOf(previousState, previousState, checked ?? context.now) }
  }
  const after = await evaluateNow(context, target, state)
  return {
    answer: answerOf(after.progress.state, previousState, context.now),
    effects: [`The alert is evaluated now: ${previousState} becomes ${after.progress.state}.`],
  }
})

async function evaluateNow(
  context: Context,
  { alert, environment }: AlertTarget,
  state: StoredAlertState,
): Promise<StoredAlertState> {
  const after = await storeEvaluation(context.tx, {
    alert,
    state,
    appEnvName: environment.cliEnvName,
    reading: await readNow(context, alert),
    sinceMs: 0,
    durationMs: spanMs(alert.duration) / context.installation.clockScale,
    nowMs: Date.parse(context.now),
    url: alertUrl(context, alert.alertId),
    isInCycle: state.isInCycle,
  })
  return after ?? state
}

async function readNow(context: Context, alert: StoredAlert): Promise<Reading> {
  try {
    return readingOf(alert, await currentValueOf(context, alert))
  } catch (error) {
    if (error instanceof AppError) return { kind: 'error' }
    throw error
  }
}

function answerOf(state: AlertState, previousState: AlertState, lastStateCheck: string) {
  return { state, previousState, lastStateCheck }
}
