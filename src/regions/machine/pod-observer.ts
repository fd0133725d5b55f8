import { timestamp } from '../../clock.ts'
import type { EngineContainer } from '../../engines/engine.ts'
import type { EnvironmentView } from './environment-view.ts'
import { type LivePod, restartDelayMs, terminationOf } from './live-pod.ts'
import { exitMessage, exitReason, lost } from './pod-endings.ts'
import type { StartBackoff } from './start-backoff.ts'
import type { WorkerDeps } from './worker-deps.ts'

const shortLifeMs = 10_000

interface ObservedEnvironment {
  readonly appEnvId: string
  /** As it was read last. */
  readonly view: EnvironmentView | null
  wake(): void
  /** Look again in so many milliseconds. */
  later(delayMs: number): void
  /** Tells the gateway which containers take requests. */
  publish(): void
}

/** Records on each pod that its container is ready or has ended, and how long to delay the next start. */
export class PodObserver {
  readonly #environment: ObservedEnvironment
  readonly #deps: WorkerDeps
  readonly #backoff: StartBackoff

  constructor(environment: ObservedEnvironment, deps: WorkerDeps, backoff: StartBackoff) {
    this.#environment = environment
    this.#deps = deps
    this.#backoff = backoff
  }

  ready(pod: LivePod, view: EnvironmentView): void {
    pod.state = 'ready'
    pod.readyAtMs = this.#deps.clock.monotonicMs()
    // The gateway hears first: a request may be waiting for this container.
    if (pod.record.rolloutId === view.environment.currentRolloutId) this.#environment.publish()
    pod.unsaved = { change: { status: 'Running', ready: true } }
    this.#environment.wake()
  }

  startFailed(pod: LivePod, reason: string, message: string): void {
    pod.state = 'exited'
    pod.ended ??= lost(pod.record)
    this.#countFailure(pod, message)
    pod.shortLives += 1
    pod.startNotBeforeMs = this.#deps.clock.monotonicMs() + restartDelayMs(pod.shortLives)
    this.#noteFailure(pod, reason, message)
  }

  exited(pod: LivePod, container: EngineContainer): void {
    const nowMs = this.#deps.clock.monotonicMs()
    const wasReady = pod.state === 'ready'
    pod.ended = container
    pod.state = 'exited'
    pod.starting?.abort()
    if (pod.record.desiredState !== 'run') {
      this.#environment.wake()
      return
    }
    const lived = wasReady ? nowMs - pod.readyAtMs : 0
    const message = exitMessage(container, wasReady, this.#environment.view?.app.port ?? null)
    if (lived < shortLifeMs) this.#countFailure(pod, message)
    else this.#backoff.reset()
    pod.shortLives = lived < shortLifeMs ? pod.shortLives + 1 : 0
    pod.startNotBeforeMs = nowMs + restartDelayMs(pod.shortLives)
    this.#environment.later(restartDelayMs(pod.shortLives))
    this.#noteFailure(pod, exitReason(container, wasReady), message)
  }

  /** A container of the version being brought in decides its fate; one of the serving version is replaced. */
  #noteFailure(pod: LivePod, reason: string, message: string): void {
    const lastTermination = pod.ended ? terminationOf(pod.ended, timestamp(this.#deps.clock.wallMs())) : null
    // A pod that is being removed cannot fail a rollout.
    if (pod.record.desiredState === 'run') {
      pod.unsaved = {
        change: { ready: false, status: 'Failed', lastTermination },
        failure: { reason, message },
      }
    }
    this.#environment.wake()
  }

  /** Only the serving version backs off: one being brought in fails at once and must not hold up the other. */
  #countFailure(pod: LivePod, message: string): void {
    const { view, appEnvId } = this.#environment
    if (pod.record.rolloutId !== view?.environment.currentRolloutId) return
    this.#environment.later(this.#backoff.failed(message))
    if (view?.app.isFunction) this.#deps.routes.startFailed(appEnvId, message)
  }
}
