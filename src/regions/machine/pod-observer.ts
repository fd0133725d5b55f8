import { timestamp } from '../../clock.ts'
import { appOfVersion } from '../../domain/apps/app-settings.ts'
import type { PodRecord } from '../../domain/environments/environment.ts'
import { loopSince } from '../../domain/environments/health.ts'
import type { EngineContainer } from '../../engines/engine.ts'
import { type EnvironmentView, rolloutView } from '../rollouts/environment-view.ts'
import type { CheckProblem } from './container-check.ts'
import { type LivePod, note, restartDelayMs, terminationOf } from './live-pod.ts'
import { exitMessage, exitReason, lost } from './pod-endings.ts'
import type { StartBackoff } from './start-backoff.ts'
import type { WorkerDeps } from './worker-deps.ts'

const shortLifeMs = 10_000
const keptExits = 5

interface ObservedEnvironment {
  readonly appEnvId: string
  /** As it was read last. */
  readonly view: EnvironmentView | null
  wake(): void
  /** Requests another look in `delayMs`. */
  later(delayMs: number): void
  /** Publishes the containers that take requests to the gateway. */
  publish(): void
}

/** Records on each pod that its container is ready or has ended, and how long to delay the next start. */
export class PodObserver {
  readonly #environment: ObservedEnvironment
  readonly #deps: WorkerDeps
  readonly #backoff: StartBackoff
  #lastExit: Pick<PodRecord, 'rolloutId' | 'exits' | 'loopSince'> | null = null

  constructor(environment: ObservedEnvironment, deps: WorkerDeps, backoff: StartBackoff) {
    this.#environment = environment
    this.#deps = deps
    this.#backoff = backoff
  }

  ready(pod: LivePod, view: EnvironmentView): void {
    pod.state = 'ready'
    pod.readyAtMs = this.#deps.clock.monotonicMs()
    pod.unhealthy = null
    pod.failing = false
    pod.suspect = false
    // The gateway hears first: a request may be waiting for this container.
    if (pod.record.rolloutId === view.serving?.rollout.rolloutId) this.#environment.publish()
    const change = { ready: true, readyAt: this.#now(), unhealthy: null, listensElsewhere: null }
    note(pod, { status: 'Running', ...change })
    this.#environment.wake()
  }

  /** Its checks fail from now on, or one passed again: it leaves the rotation, or returns. */
  checked(pod: LivePod, problem: CheckProblem | null): void {
    pod.unhealthy = problem && { ...problem, since: this.#now() }
    this.#environment.publish()
    note(pod, { ready: problem === null, unhealthy: pod.unhealthy }, problem ?? undefined)
    this.#environment.wake()
  }

  /** A starting container listens, and not on the port of the app so far. */
  listensElsewhere(pod: LivePod, message: string): void {
    note(pod, { listensElsewhere: { message, since: this.#now() } })
    this.#environment.wake()
  }

  startFailed(pod: LivePod, reason: string, message: string): void {
    pod.state = 'exited'
    pod.ended ??= lost(pod.record)
    this.#countFailure(pod, message)
    pod.shortLives += 1
    pod.startNotBeforeMs = this.#deps.clock.monotonicMs() + restartDelayMs(pod.shortLives)
    const { unhealthy: before } = pod.record
    const since = before?.reason === reason ? before.since : this.#now()
    this.#noteFailure(pod, reason, message, { unhealthy: { reason, message, since } })
  }

  exited(pod: LivePod, container: EngineContainer): void {
    const nowMs = this.#deps.clock.monotonicMs()
    const wasReady = pod.state === 'ready'
    pod.ended = container
    pod.state = 'exited'
    pod.unhealthy = null
    pod.starting?.abort()
    if (pod.record.desiredState !== 'run') {
      this.#environment.wake()
      return
    }
    const lived = wasReady ? nowMs - pod.readyAtMs : 0
    // After a restart of the control plane, only the record shows that it was ready.
    const served = wasReady || pod.record.ready
    const { view } = this.#environment
    const app = view && appOfVersion(view.app, rolloutView(view, pod.record.rolloutId)?.content)
    const message = exitMessage(container, served, app?.port ?? null)
    if (lived < shortLifeMs) this.#countFailure(pod, message)
    else this.#backoff.reset()
    pod.shortLives = lived < shortLifeMs ? pod.shortLives + 1 : 0
    pod.startNotBeforeMs = nowMs + restartDelayMs(pod.shortLives)
    this.#environment.later(restartDelayMs(pod.shortLives))
    const at = container.finishedAt ?? this.#now()
    const exits = [...(pod.record.exits ?? []), at].slice(-keptExits)
    const change = { exits, loopSince: this.#loopSince(pod, at), unhealthy: null }
    this.#noteFailure(pod, exitReason(container, served), message, change)
    this.#environment.publish()
  }

  /** Containers of a function are new each time, so a crash loop continues from one to the next. */
  #loopSince({ record }: LivePod, at: string): string {
    const { rolloutId } = record
    const before = this.#lastExit?.rolloutId === rolloutId ? this.#lastExit : record
    const since = loopSince(before, at)
    this.#lastExit = { rolloutId, exits: [at], loopSince: since }
    return since
  }

  /** A container of the version being brought in decides its fate; one of the serving version is replaced. */
  #noteFailure(pod: LivePod, reason: string, message: string, change: Partial<PodRecord>): void {
    const lastTermination = pod.ended ? terminationOf(pod.ended, this.#now()) : null
    // A pod that is being removed cannot fail a rollout.
    if (pod.record.desiredState === 'run')
      note(
        pod,
        { ready: false, status: 'Failed', lastTermination, listensElsewhere: null, ...change },
        { reason, message },
      )
    this.#environment.wake()
  }

  /** Only the serving version backs off: one being brought in fails at once and must not hold up the other. */
  #countFailure(pod: LivePod, message: string): void {
    const { view, appEnvId } = this.#environment
    if (pod.record.rolloutId !== view?.environment.currentRolloutId) return
    this.#environment.later(this.#backoff.failed(message))
    if (view?.app.isFunction) this.#deps.routes.startFailed(appEnvId, message)
  }

  #now(): string {
    return timestamp(this.#deps.clock.wallMs())
  }
}
