import type { Clock } from '../../clock.ts'
import type { PlanInput } from '../../domain/environments/plan-steps.ts'
import type { EnvironmentView } from './environment-view.ts'
import type { LivePod } from './live-pod.ts'

/** A failed check near the end of the window is waited out: the next one decides. */
const lookAgainMs = 100

/**
 * How long the version being brought in has been healthy. The store says since when; the time is measured in this
 * process on a clock that never steps, so a restart of the control plane begins the window again.
 */
export class StabilityWindow {
  readonly #clock: Clock
  /** Runs a pass at the end of the window. */
  readonly #later: (delayMs: number) => void
  readonly #scale: number
  #open: { key: string; sinceMs: number } | null = null

  constructor(clock: Clock, scale: number, later: (delayMs: number) => void) {
    this.#clock = clock
    this.#scale = scale
    this.#later = later
  }

  state(view: EnvironmentView, pods: readonly LivePod[]): PlanInput['trial'] {
    const { wanted } = view
    if (!wanted) return 'none'
    const { stability } = wanted.rollout
    const lengthMs = (wanted.healthCheck.stabilitySeconds * 1_000) / this.#scale
    if (!stability && lengthMs === 0) return 'passed'
    if (!stability?.since) return 'none'
    const key = `${wanted.rollout.rolloutId} ${stability.since}`
    const nowMs = this.#clock.monotonicMs()
    if (this.#open?.key !== key) {
      this.#open = { key, sinceMs: nowMs }
      this.#later(lengthMs)
    }
    if (nowMs - this.#open.sinceMs < lengthMs) return 'open'
    const isFailing = pods.some((pod) => pod.failing && pod.record.rolloutId === wanted.rollout.rolloutId)
    if (isFailing) this.#later(lookAgainMs)
    return isFailing ? 'open' : 'passed'
  }
}
