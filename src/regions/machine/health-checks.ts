import { type Clock, sleep } from '../../clock.ts'
import type { HealthCheck } from '../../contract/health.ts'
import { containerNameOf } from '../rollouts/container-spec.ts'
import { type EnvironmentView, rolloutView } from '../rollouts/environment-view.ts'
import { type CheckProblem, checkContainer } from './container-check.ts'
import type { LivePod } from './live-pod.ts'
import type { WorkerDeps } from './worker-deps.ts'

/** This many checks in succession must fail; one that passes makes the container healthy again. */
const failuresNeeded = 2
const portCheckMs = 1_000
const checksInWindow = 4
const leastEveryMs = 50
/** An engine reports the end of a container within this time, also one that is busy with builds. */
const endReportedMs = 2_000
const lookAgainMs = 200

type CheckDeps = Pick<WorkerDeps, 'clock' | 'stabilityScale' | 'hostOf'>

interface CheckEvents {
  /** The last read state of the environment. */
  view(): EnvironmentView | null
  checked(pod: LivePod, problem: CheckProblem | null): void
  /** Whether the engine still has the container running; true if it does not answer. */
  isRunning(pod: LivePod): Promise<boolean>
  /** A check that `hasCheckedSince` began has ended. */
  checkedNow(): void
}

/**
 * Checks the ready containers of one environment: always if the health check has a path; without one only during the
 * stability window, and those that refused a connection.
 */
export class HealthChecks {
  readonly #deps: CheckDeps
  readonly #clock: Clock
  readonly #events: CheckEvents
  /** The checked containers, each with the controller that ends the pause before its next check. */
  readonly #pauses = new Map<LivePod, AbortController>()
  #stopped = false

  constructor(deps: CheckDeps, events: CheckEvents) {
    this.#deps = deps
    this.#clock = deps.clock
    this.#events = events
  }

  /** Each container that needs checks gets them from now on. */
  look(pods: readonly LivePod[]): void {
    for (const pod of pods) {
      if (!this.#pauses.has(pod) && this.#need(pod)) void this.#run(pod)
    }
  }

  /** Whether the last check of this container began at `sinceMs` or later; if not, the next one begins now. */
  hasCheckedSince(pod: LivePod, sinceMs: number): boolean {
    if (!pod.address || !this.#need(pod) || pod.checkedAtMs >= sinceMs) return true
    this.#pauses.get(pod)?.abort()
    return false
  }

  stop(): void {
    this.#stopped = true
    for (const pause of this.#pauses.values()) pause.abort()
  }

  async #run(pod: LivePod): Promise<void> {
    let pause = new AbortController()
    let container = ''
    let failures = 0
    for (;;) {
      const need = this.#need(pod)
      if (!need || !pod.address || this.#stopped) break
      const wasRequested = pause.signal.aborted
      pause = new AbortController()
      this.#pauses.set(pod, pause)
      const startedAtMs = this.#clock.monotonicMs()
      const problem = await checkContainer(pod.address, need.check, need.hostName)
      // It may have ended meanwhile, and a restarted pod has another container.
      if (!this.#need(pod)) break
      failures =
        problem && container === containerNameOf(pod.record) ? failures + 1 : Number(problem !== null)
      container = containerNameOf(pod.record)
      pod.failing = problem !== null
      pod.checkedAtMs = startedAtMs
      if (!problem) pod.suspect = false
      const isDecided = problem ? failures >= failuresNeeded && !pod.unhealthy : pod.unhealthy
      if (isDecided && problem && (await this.#hasEnded(pod, problem))) break
      if (isDecided) this.#events.checked(pod, problem)
      if (wasRequested) this.#events.checkedNow()
      await sleep(this.#clock, need.everyMs, pause.signal)
    }
    this.#pauses.delete(pod)
  }

  /** A container that ended refuses checks before its end is reported, and its exit is the cause to name. */
  async #hasEnded(pod: LivePod, { answered }: CheckProblem): Promise<boolean> {
    const untilMs = this.#clock.monotonicMs() + endReportedMs
    for (;;) {
      if (!(await this.#events.isRunning(pod)) || !this.#need(pod)) return true
      if (answered || this.#stopped || this.#clock.monotonicMs() >= untilMs) return false
      await sleep(this.#clock, lookAgainMs)
    }
  }

  #need(pod: LivePod): { check: HealthCheck; everyMs: number; hostName: string } | null {
    const view = this.#events.view()
    const rollout = view && rolloutView(view, pod.record.rolloutId)
    if (!rollout || view.app.isDatabase || pod.state !== 'ready') return null
    if (pod.removing || pod.record.desiredState !== 'run') return null
    const check = rollout.healthCheck
    const isTried = rollout === view.wanted
    if (check.path === null && !isTried && !pod.suspect && !pod.unhealthy) return null
    const intervalMs = check.path === null ? portCheckMs : check.intervalSeconds * 1_000
    const partMs = (check.stabilitySeconds * 1_000) / this.#deps.stabilityScale / checksInWindow
    const everyMs = isTried ? Math.min(intervalMs, Math.max(leastEveryMs, partMs)) : intervalMs
    return { check, everyMs, hostName: this.#deps.hostOf(view) }
  }
}
