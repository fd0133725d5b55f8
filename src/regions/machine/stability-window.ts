import type { Clock } from '../../clock.ts'
import type { PlanInput } from '../../domain/environments/plan-steps.ts'
import type { EnvironmentView } from '../rollouts/environment-view.ts'
import type { LivePod } from './live-pod.ts'

/** A failed check near the end of the window is waited out: the next one decides. */
const lookAgainMs = 100

interface WindowEvents {
  /** Runs a pass at the end of the window. */
  later(delayMs: number): void
  /** False begins a check of the container, and runs a pass after it. */
  hasCheckedSince(pod: LivePod, sinceMs: number): boolean
}

/**
 * How long the version being brought in has been healthy. The store has the start; the time is measured in this process
 * on a clock that never steps, so a restart of the control plane begins the window again.
 */
export class StabilityWindow {
  readonly #clock: Clock
  readonly #events: WindowEvents
  readonly #scale: number
  #open: { key: string; sinceMs: number } | null = null

  constructor(clock: Clock, scale: number, events: WindowEvents) {
    this.#clock = clock
    this.#scale = scale
    this.#events = events
  }

  state(view: EnvironmentView, pods: readonly LivePod[]): PlanInput['trial'] {
    const { wanted, environment } = view
    if (!wanted) return 'none'
    // The version ran before. During a window it would write to the copy of its volume, and a failure would lose that.
    if (environment.volumeMove) return 'passed'
    const { stability } = wanted.rollout
    const lengthMs = (wanted.healthCheck.stabilitySeconds * 1_000) / this.#scale
    if (!stability && lengthMs === 0) return 'passed'
    if (!stability?.since) return 'none'
    const key = `${wanted.rollout.rolloutId} ${stability.since}`
    const nowMs = this.#clock.monotonicMs()
    if (this.#open?.key !== key) {
      this.#open = { key, sinceMs: nowMs }
      this.#events.later(lengthMs)
    }
    const endMs = this.#open.sinceMs + lengthMs
    if (nowMs < endMs) return 'open'
    const own = pods.filter((pod) => pod.record.rolloutId === wanted.rollout.rolloutId)
    // A version that failed after its last check of the window must not pass: one more check, after the end, decides.
    const unchecked = own.filter((pod) => !this.#events.hasCheckedSince(pod, endMs))
    if (unchecked.length === 0 && !own.some((pod) => pod.failing)) return 'passed'
    this.#events.later(lookAgainMs)
    return 'open'
  }
}
