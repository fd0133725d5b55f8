import { type Engine, type EngineContainer, EngineFailure } from '../engines/engine.ts'
import { waitUntilListening } from '../engines/wait-until-listening.ts'
import { AppError } from '../errors.ts'
import { containerSpec } from './container-spec.ts'
import type { EnvironmentView, RolloutView } from './environment-view.ts'
import { containerNameOf, followed, type LivePod } from './live-pod.ts'
import type { LoopParts } from './loop-parts.ts'

const startTimeoutMs = 60_000
const lookEveryMs = 500
const adoptedDrainMs = 30_000

export interface StartEvents {
  ready(pod: LivePod, view: EnvironmentView): void
  failed(pod: LivePod, reason: string, message: string): void
  drained(pod: LivePod): void
  wake(): void
}

/** Starts containers and waits until their port answers, beside the reconcile passes. */
export class PodStarter {
  readonly #parts: LoopParts
  readonly #events: StartEvents

  constructor(parts: LoopParts, events: StartEvents) {
    this.#parts = parts
    this.#events = events
  }

  start(pod: LivePod, view: EnvironmentView, rollout: RolloutView, engine: Engine): void {
    this.#begin(pod, async (signal) => {
      const container = await engine.apply(containerSpec(view, rollout, pod, this.#parts.secrets))
      pod.record.startedAt = container.startedAt
      pod.record.nodeName = container.nodeName
      await this.#watch(pod, container, view, engine, signal)
    })
  }

  /** Takes over a container that ran before this control plane started. */
  adopt(
    pod: LivePod,
    container: EngineContainer,
    view: EnvironmentView,
    rollout: RolloutView | null,
    engine: Engine,
  ): void {
    pod.record.startedAt = container.startedAt ?? pod.record.startedAt
    if (!rollout || pod.record.wish === 'end' || pod.record.ready) {
      // It answered before: the gateway may be using it right now, so it stays in the route.
      pod.state = 'ready'
      pod.address = container.address
      this.#parts.followers.follow(engine, followed(pod))
      if (pod.record.wish === 'end') this.#parts.clock.after(adoptedDrainMs, () => this.#events.drained(pod))
      return
    }
    this.#begin(pod, (signal) => this.#watch(pod, container, view, engine, signal))
  }

  async #watch(
    pod: LivePod,
    container: EngineContainer,
    view: EnvironmentView,
    engine: Engine,
    signal: AbortSignal,
  ): Promise<void> {
    pod.address = container.address
    this.#parts.followers.follow(engine, followed(pod))
    if (container.state === 'exited') return this.#parts.look()
    const looking = setInterval(() => this.#parts.look(), lookEveryMs)
    const outcome = await waitUntilListening({
      address: () => pod.address,
      stillRunning: () => pod.ended === null,
      timeoutMs: startTimeoutMs,
      clock: this.#parts.clock,
      signal,
    }).finally(() => clearInterval(looking))
    if (outcome === 'listening') this.#events.ready(pod, view)
    if (outcome === 'timeout') {
      await engine.stop(containerNameOf(pod.record), 1).catch(() => {})
      this.#events.failed(
        pod,
        'port not listening',
        `Nothing listened on port ${view.app.port} within ${startTimeoutMs / 1_000} seconds. Listen on the port in the PORT variable, on all interfaces; get-logs shows the output.`,
      )
    }
  }

  #begin(pod: LivePod, work: (signal: AbortSignal) => Promise<void>): void {
    const controller = new AbortController()
    pod.starting = controller
    pod.state = 'starting'
    void work(controller.signal)
      .catch((error) => this.#onError(pod, error, controller.signal))
      .finally(() => {
        if (pod.starting === controller) pod.starting = null
      })
  }

  #onError(pod: LivePod, error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return
    if (error instanceof EngineFailure) {
      this.#events.failed(pod, error.reason, error.message)
      return
    }
    // The engine is away, or a fault of ours: the pod is tried again, nothing is given up.
    const away = error instanceof AppError
    this.#parts.log[away ? 'warn' : 'error'](
      { err: error, container: containerNameOf(pod.record) },
      'a container is not started yet',
    )
    pod.state = 'absent'
    pod.startNotBeforeMs = this.#parts.clock.monotonicMs() + 2_000
    this.#parts.clock.after(2_000, () => this.#events.wake())
  }
}
