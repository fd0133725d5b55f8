import type { RemediationRun } from '../../contract/remediations.ts'
import type { StoredRemediation, StoredRun } from './remediation.ts'

/** Whether the trigger of a run is on, as its own alert or the last diagnosis says. */
export interface TriggerState {
  /** `paused`: neither on nor over, such as an alert without data, or one that flaps. */
  is: 'on' | 'paused' | 'over'
  /** For `paused`: why. */
  why: string
  /** Measured values, or diagnoses, that say so. */
  samples: number
  /** The trigger was deleted, paused or changed by somebody: the run cannot be judged any more. */
  gone: string | null
}

export interface RunFacts {
  now: string
  remediation: Pick<StoredRemediation, 'mode' | 'minSamples' | 'holdSeconds' | 'coolDownSeconds' | 'atMost'>
  run: StoredRun
  trigger: TriggerState
  /** The change that somebody made to the environment since the episode began, as a sentence. */
  changedBy: string | null
  agentsPaused: boolean
  /** Another run that acts on the environment. */
  busy: string | null
  /** Runs of the remediation that acted within its window or its cool-down, newest first. */
  earlier: readonly Pick<StoredRun, 'runId' | 'steps' | 'finishedAt' | 'startedAt'>[]
  /** Milliseconds of a number of seconds, by the clock scale. */
  scaled: (seconds: number) => number
}

type Next =
  | { is: 'wait'; reason: string }
  | { is: 'end'; status: RemediationRun['status']; reason: string }
  | { is: 'act' }

/** What a run that has not acted yet does now. A person's change always comes first. */
export function nextOf(facts: RunFacts): Next {
  const { trigger, changedBy, remediation, run, now, scaled } = facts
  const end = (status: RemediationRun['status'], reason: string): Next => ({ is: 'end', status, reason })
  if (remediation.mode === 'off') return end('skipped', 'The remediation was turned off.')
  if (trigger.gone !== null) return end('skipped', trigger.gone)
  if (changedBy !== null) return end('skipped', `${changedBy} A remediation never acts past that.`)
  if (trigger.is === 'over') return end('skipped', 'Its trigger was over before it acted.')
  if (trigger.is === 'paused') return { is: 'wait', reason: trigger.why }
  if (trigger.samples < remediation.minSamples)
    return {
      is: 'wait',
      reason: `Only ${trigger.samples} of ${remediation.minSamples} samples confirm its trigger.`,
    }
  const heldMs = Date.parse(now) - Date.parse(run.trigger.startedAt)
  if (heldMs < scaled(remediation.holdSeconds))
    return { is: 'wait', reason: `Its trigger must be on for ${remediation.holdSeconds} s first.` }
  if (remediation.mode === 'observe') return { is: 'act' }
  const limited = limitOf(facts)
  if (limited !== null) return end('limited', limited)
  if (facts.agentsPaused) return { is: 'wait', reason: 'Agents are paused; it waits until they are resumed.' }
  if (facts.busy !== null) return { is: 'wait', reason: facts.busy }
  return { is: 'act' }
}

function limitOf({ remediation, earlier, run, now, scaled }: RunFacts): string | null {
  const { atMost, coolDownSeconds } = remediation
  const others = earlier.filter(({ runId }) => runId !== run.runId)
  const sinceMs = Date.parse(now) - scaled(atMost.windowSeconds)
  const within = others.filter((one) => Date.parse(one.steps[0]?.at ?? one.startedAt) >= sinceMs)
  if (within.length >= atMost.count)
    return `It acted ${within.length} times within ${atMost.windowSeconds} s already, which is its limit (atMost).`
  const last = others[0]
  const lastMs = last ? Date.parse(last.finishedAt ?? last.startedAt) : Number.NEGATIVE_INFINITY
  if (Date.parse(now) - lastMs < scaled(coolDownSeconds))
    return `It acted at ${last!.finishedAt ?? last!.startedAt}, and its cool-down is ${coolDownSeconds} s.`
  return null
}

/** How a run ends whose steps are done: by its own trigger, never by missing data. */
export function verdictOf({
  trigger,
  changedBy,
  remediation,
  run,
  now,
}: Pick<RunFacts, 'trigger' | 'changedBy' | 'remediation' | 'run' | 'now'>):
  | Next
  | { is: 'not-verified'; reason: string } {
  const stays = 'What the run did stays.'
  if (trigger.gone !== null) return { is: 'end', status: 'skipped', reason: `${trigger.gone} ${stays}` }
  if (changedBy !== null)
    return { is: 'end', status: 'skipped', reason: `${changedBy} The run stops there. ${stays}` }
  const isOver = trigger.is === 'over'
  if (isOver && trigger.samples >= remediation.minSamples) {
    const what = run.trigger.alertId === undefined ? 'The cause is gone' : 'The alert is back to Normal'
    return {
      is: 'end',
      status: 'verified',
      reason: `${what}, by ${trigger.samples} samples after the steps.`,
    }
  }
  if (run.verifyBy !== null && now < run.verifyBy)
    return { is: 'wait', reason: 'Its trigger has to recover.' }
  const lacking = isOver
    ? `only ${trigger.samples} of ${remediation.minSamples} samples say that it recovered`
    : trigger.is === 'paused'
      ? trigger.why.replace(/\.$/, '')
      : 'its trigger is still on'
  return { is: 'not-verified', reason: `Not verified in time: ${lacking}.` }
}
