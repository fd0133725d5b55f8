import { type DatabaseSpec, type Engine, type EngineContainer, EngineFailure } from '../engines/engine.ts'
import { type ListenOutcome, waitUntilListening } from '../engines/wait-until-listening.ts'
import { AppError } from '../errors.ts'
import { containerSpec } from './container-spec.ts'
import { databaseAnswers } from './database-ping.ts'
import type { EnvironmentView, RolloutView } from './environment-view.ts'
import { containerNameOf, followed, type LivePod } from './live-pod.ts'
import type { LoopParts } from './loop-parts.ts'

const startTimeoutMs = 60_000
/** A first start makes the data folder, which takes some images a minute. */
const databaseStartTimeoutMs = 180_000
const databasePingEveryMs = 50
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
      const spec = containerSpec(view, rollout, pod, this.#parts.secrets)
      const container = await engine.apply(spec)
      pod.record.startedAt = container.startedAt
      pod.record.nodeName = container.nodeName
      await this.#watch(pod, container, view, spec.database, engine, signal)
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
      pod.readyAtMs = this.#startedAtMs(pod.record.startedAt)
      this.#parts.followers.follow(engine, followed(pod))
      if (pod.record.wish === 'end') this.#parts.clock.after(adoptedDrainMs, () => this.#events.drained(pod))
      return
    }
    const { database } = containerSpec(view, rollout, pod, this.#parts.secrets)
    this.#begin(pod, (signal) => this.#watch(pod, container, view, database, engine, signal))
  }

  /** On the monotonic clock: what ran for long before this control plane did not end early when it ends now. */
  #startedAtMs(startedAt: string | null): number {
    const { clock } = this.#parts
    const ranMs = startedAt === null ? 0 : clock.wallMs() - Date.parse(startedAt)
    return clock.monotonicMs() - Math.max(0, ranMs)
  }

  async #watch(
    pod: LivePod,
    container: EngineContainer,
    view: EnvironmentView,
    database: DatabaseSpec | undefined,
    engine: Engine,
    signal: AbortSignal,
  ): Promise<void> {
    pod.address = container.address
    this.#parts.followers.follow(engine, followed(pod))
    if (container.state === 'exited') return this.#parts.look()
    const looking = setInterval(() => this.#parts.look(), lookEveryMs)
    const timeoutMs = database ? databaseStartTimeoutMs : startTimeoutMs
    const outcome = await this.#ready(pod, database, timeoutMs, signal).finally(() => clearInterval(looking))
    if (outcome === 'listening') this.#events.ready(pod, view)
    if (outcome === 'timeout') {
      await engine.stop(containerNameOf(pod.record), 1).catch(() => {})
      const limit = `within ${timeoutMs / 1_000} seconds`
      this.#events.failed(
        pod,
        'port not listening',
        database
          ? `The database did not answer ${limit}. get-logs shows its output.`
          : `Nothing listened on port ${view.app.port} ${limit}. Listen on the port in the PORT variable, on all interfaces; get-logs shows the output.`,
      )
    }
  }

  /** Listening, and for a database answering too. */
  async #ready(
    pod: LivePod,
    database: DatabaseSpec | undefined,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ListenOutcome> {
    const { clock } = this.#parts
    const endMs = clock.monotonicMs() + timeoutMs
    for (;;) {
      const outcome = await waitUntilListening({
        address: () => pod.address,
        stillRunning: () => pod.ended === null,
        timeoutMs: endMs - clock.monotonicMs(),
        clock,
        signal,
      })
      if (outcome !== 'listening' || !database || !pod.address) return outcome
      if (await databaseAnswers(pod.address, database)) return outcome
      await new Promise((resolve) => setTimeout(resolve, databasePingEveryMs))
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
