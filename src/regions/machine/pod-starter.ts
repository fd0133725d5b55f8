import { appOfVersion } from '../../domain/apps/app-settings.ts'
import { hasHealthCheck } from '../../domain/environments/health-check.ts'
import { type DatabaseSpec, type Engine, type EngineContainer, EngineFailure } from '../../engines/engine.ts'
import { logLevelOf } from '../../errors.ts'
import { containerNameOf, containerSpec } from '../rollouts/container-spec.ts'
import type { EnvironmentView, RolloutView } from '../rollouts/environment-view.ts'
import { awaitReady } from './await-ready.ts'
import { followed, type LivePod } from './live-pod.ts'
import { lost } from './pod-endings.ts'
import type { WorkerDeps } from './worker-deps.ts'

const lookEveryMs = 500
/** A new version may answer its checks late, by so many stability windows or this long; a known one has longer. */
const windowsToHealth = 3
const newHealthMs = 15_000
const knownHealthMs = 60_000
/** However fast the window runs. */
const leastHealthMs = 1_000
const adoptedDrainMs = 30_000

export interface StartEvents {
  ready(pod: LivePod, view: EnvironmentView): void
  failed(pod: LivePod, reason: string, message: string): void
  listensElsewhere(pod: LivePod, message: string): void
  drained(pod: LivePod): void
  wake(): void
}

/** The inputs of a container start. */
interface Start {
  view: EnvironmentView
  rollout: RolloutView
  database: DatabaseSpec | undefined
  engine: Engine
  signal: AbortSignal
}

/** Starts containers and waits until their port answers, outside the reconcile passes. */
export class PodStarter {
  readonly #deps: WorkerDeps
  readonly #events: StartEvents

  constructor(deps: WorkerDeps, events: StartEvents) {
    this.#deps = deps
    this.#events = events
  }

  start(pod: LivePod, view: EnvironmentView, rollout: RolloutView, engine: Engine): void {
    this.#begin(pod, async (signal) => {
      const spec = containerSpec(view, rollout, pod.record, this.#deps.secrets)
      const container = await engine.apply(spec)
      pod.record.startedAt = container.startedAt
      pod.record.nodeName = container.nodeName
      await this.#watch(pod, container, { view, rollout, database: spec.database, engine, signal })
    })
  }

  /** Adopts a container that was running before this control plane started. */
  adopt(
    pod: LivePod,
    container: EngineContainer,
    view: EnvironmentView,
    rollout: RolloutView | null,
    engine: Engine,
  ): void {
    pod.record.startedAt = container.startedAt ?? pod.record.startedAt
    if (!rollout || pod.record.desiredState === 'end' || pod.record.ready || pod.record.unhealthy) {
      // It was ready before and the gateway may be using it, so it stays in the route.
      pod.state = 'ready'
      pod.address = container.address
      pod.readyAtMs = this.#startedAtMs(pod.record.startedAt)
      this.#deps.followers.follow(engine, followed(pod))
      if (pod.record.desiredState === 'end')
        this.#deps.clock.after(adoptedDrainMs, () => this.#events.drained(pod))
      return
    }
    const { database } = containerSpec(view, rollout, pod.record, this.#deps.secrets)
    this.#begin(pod, (signal) => this.#watch(pod, container, { view, rollout, database, engine, signal }))
  }

  /** On the monotonic clock, so that a container older than this control plane does not count as ended early. */
  #startedAtMs(startedAt: string | null): number {
    const { clock } = this.#deps
    const ranMs = startedAt === null ? 0 : clock.wallMs() - Date.parse(startedAt)
    return clock.monotonicMs() - Math.max(0, ranMs)
  }

  async #watch(pod: LivePod, container: EngineContainer, start: Start): Promise<void> {
    const { view, rollout, database, engine, signal } = start
    pod.address = container.address
    this.#deps.followers.follow(engine, followed(pod))
    if (container.state === 'exited') return this.#deps.look()
    const looking = setInterval(() => this.#deps.look(), lookEveryMs)
    const { clock } = this.#deps
    const outcome = await awaitReady({
      pod,
      engine,
      port: appOfVersion(view.app, rollout.content).port ?? 0,
      database,
      health: this.#healthOf(start),
      clock,
      signal,
      report: (message) => {
        this.#deps.followers.add(followed(pod), clock.wallMs(), message)
        this.#events.listensElsewhere(pod, message)
      },
    }).finally(() => clearInterval(looking))
    if (outcome === 'ready') this.#events.ready(pod, view)
    if (typeof outcome === 'string' || pod.ended) return
    // Mark it before the stop, so that the resulting exit code is not attributed to the code.
    pod.ended = lost(pod.record)
    await engine.stop(containerNameOf(pod.record), 1).catch(() => {})
    this.#events.failed(pod, outcome.reason, outcome.message)
  }

  #healthOf({ view, rollout }: Start) {
    if (!hasHealthCheck(view.app)) return null
    const { stabilitySeconds } = rollout.healthCheck
    const isNew = rollout === view.wanted
    const windowsMs =
      Math.max(newHealthMs, windowsToHealth * stabilitySeconds * 1_000) / this.#deps.stabilityScale
    return {
      check: rollout.healthCheck,
      limitMs: isNew ? Math.max(leastHealthMs, windowsMs) : knownHealthMs,
      hostName: this.#deps.hostOf(view),
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
    // The engine is down, or a bug: retry the pod instead of failing it.
    this.#deps.log[logLevelOf(error)](
      { err: error, container: containerNameOf(pod.record) },
      'cannot start a container; retrying',
    )
    pod.state = 'absent'
    pod.startNotBeforeMs = this.#deps.clock.monotonicMs() + 2_000
    this.#deps.clock.after(2_000, () => this.#events.wake())
  }
}
