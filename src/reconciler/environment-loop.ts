import { timestamp } from '../clock.ts'
import { type PlanInput, type PlanStep, planRollout } from '../domain/rollout-plan.ts'
import type { EngineContainer } from '../engines/engine.ts'
import { chooseDatabasePorts, lacksPorts } from './database-ports.ts'
import { EnvironmentPods } from './environment-pods.ts'
import { type EnvironmentView, loadView } from './environment-view.ts'
import { ImageMaking } from './image-making.ts'
import { containerNameOf, type LivePod, plannedPod, restartDelayMs, terminationOf } from './live-pod.ts'
import type { LoopParts } from './loop-parts.ts'
import { type Measured, measuredOf } from './measured.ts'
import { exitMessage, lost } from './pod-endings.ts'
import { routeOf } from './routes.ts'
import { StartBackoff } from './start-backoff.ts'

const shortLifeMs = 10_000
const retryMs = 2_000

/** Makes the wish of one environment true. One pass at a time; a wake during a pass makes another one. */
export class EnvironmentLoop {
  readonly #appEnvId: string
  readonly #parts: LoopParts
  readonly #pods: EnvironmentPods
  readonly #images: ImageMaking
  readonly #backoff: StartBackoff
  #running: Promise<void> | null = null
  #dirty = false
  #closed = false
  #adopted = false
  #view: EnvironmentView | null = null
  /** What the gateway asks for; null until it said so. */
  #gatewayDesired: number | null = null

  constructor(appEnvId: string, parts: LoopParts) {
    this.#appEnvId = appEnvId
    this.#parts = parts
    this.#backoff = new StartBackoff(parts.clock)
    const wake = () => this.wake()
    const later = (delayMs: number) => this.#later(delayMs)
    this.#images = new ImageMaking(parts, wake, later)
    this.#pods = new EnvironmentPods(appEnvId, parts, {
      ready: (pod, view) => this.#onReady(pod, view),
      failed: (pod, reason, message) => this.#onStartFailed(pod, reason, message),
      exited: (pod, container) => this.#onExit(pod, container),
      drained: (pod) => {
        pod.drained = true
        this.wake()
      },
      wake,
      later,
    })
  }

  /** Looks again soon; cheap to call often. */
  wake(): void {
    this.#dirty = true
    if (!this.#closed) this.#running ??= this.#turn()
  }

  /** Resolves when nothing is left to do right now. */
  async settled(): Promise<void> {
    while (this.#running) await this.#running
  }

  close(): void {
    this.#closed = true
    this.#images.abort()
    this.#pods.abortStarts()
  }

  /** F2, F3: the gateway's wish for a function. */
  desire(containers: number): void {
    this.#gatewayDesired = containers
    if (containers > 0 && this.#backoff.isHolding)
      this.#parts.routes.startFailed(this.#appEnvId, this.#backoff.lastFailure)
    this.wake()
  }

  drained(containerName: string): void {
    const pod = this.#pods.named(containerName)
    if (pod) pod.drained = true
    this.wake()
  }

  /**
   * What the engines list for this environment; `listedAtMs` is when the lists were asked for. Of a region whose
   * engine did not answer nothing is known.
   */
  observe(
    containers: readonly EngineContainer[],
    listedAtMs: number,
    isListed: (region: string) => boolean = () => true,
  ): void {
    const byName = new Map(containers.map((container) => [container.name, container]))
    for (const pod of this.#pods.all) {
      const container = byName.get(containerNameOf(pod.record))
      if (container?.state === 'running' && container.address) pod.address = container.address
      if (pod.removing || pod.ended) continue
      const vanished =
        !container && pod.state === 'ready' && pod.readyAtMs < listedAtMs && isListed(pod.record.region)
      if (container?.state === 'exited') this.#onExit(pod, container)
      else if (vanished) this.#onExit(pod, lost(pod.record))
    }
  }

  /** Adopts what runs after a restart: from the first list on, pods are matched with their containers. */
  adopt(containers: readonly EngineContainer[]): void {
    for (const container of containers) this.#parts.found.set(container.name, container)
    this.#adopted = true
    this.wake()
  }

  route() {
    // A database speaks for itself on its own ports; the gateway serves HTTP.
    if (!this.#view || this.#view.app.isDatabase) return null
    const serving = this.#pods.all
      .filter((pod) => pod.state === 'ready' && pod.address !== null && !pod.removing)
      .map((pod) => ({
        containerName: containerNameOf(pod.record),
        address: pod.address as NonNullable<typeof pod.address>,
        rolloutId: pod.record.rolloutId,
        draining: pod.record.wish === 'end' || pod.drained,
      }))
    return routeOf(this.#view, serving)
  }

  /** The pod of the container that is made ahead of its row; null without one. */
  get sparePodId(): string | null {
    return this.#pods.sparePodId
  }

  /** What of this environment is measured now; null when nothing is. */
  measured(): Measured | null {
    if (this.#view?.environment.wish !== 'running') return null
    return measuredOf(this.#view, this.#pods.all, this.#parts.engineOf)
  }

  async #turn(): Promise<void> {
    try {
      while (this.#dirty && !this.#closed) {
        this.#dirty = false
        await this.#pass()
      }
    } catch (error) {
      this.#parts.log.error(
        { err: error, appEnvId: this.#appEnvId },
        'a reconcile pass failed; it is tried again',
      )
      this.#later(retryMs)
    } finally {
      this.#running = null
      if (this.#dirty && !this.#closed) this.#running = this.#turn()
    }
  }

  async #pass(): Promise<void> {
    if (!this.#adopted) return
    const view = await loadView(this.#parts.db, this.#appEnvId)
    if (!view) return this.#forget()
    this.#view = view
    this.#pods.sync(view)
    this.#images.look(view)
    if (lacksPorts(view)) {
      await chooseDatabasePorts(this.#parts.db, view)
      this.#dirty = true
      return
    }
    for (const step of this.#plan(view)) {
      if (this.#closed) return
      await this.#perform(step, view)
    }
    if (view.environment.changingRegion && view.environment.wish === 'stopped')
      await this.#parts.transitions.settleRegion(this.#appEnvId)
    this.#pods.keepSpare(view)
    this.#publish()
  }

  #plan(view: EnvironmentView): PlanStep[] {
    const { environment, app, wanted } = view
    const nowMs = this.#parts.clock.monotonicMs()
    const pods = this.#pods.all.filter((pod) => !pod.removing)
    return planRollout({
      kind: kindOf(app),
      runs: environment.wish === 'running',
      // Coming from STOPPED, the earlier version is not brought back while the new one starts.
      current: environment.status === 'PENDING' ? null : environment.currentRolloutId,
      wanted:
        wanted?.rollout.status === 'DEPLOYING' && wanted.rollout.region in wanted.content.images
          ? wanted.rollout.rolloutId
          : null,
      desired: this.#desired(view, pods),
      oneAtATime: environment.applied.useVolume || (wanted?.rollout.settings.useVolume ?? false),
      leaving: pods.length < this.#pods.all.length,
      mayStart: !this.#backoff.isHolding,
      pods: pods.map((pod) => plannedPod(pod, nowMs)),
    })
  }

  #desired(view: EnvironmentView, pods: readonly LivePod[]): number {
    const { functionConfig, environment } = view
    if (view.app.isDatabase) return (view.wanted ?? view.current)?.rollout.settings.containers ?? 1
    if (!functionConfig) return environment.applied.containers
    const present = pods.filter(
      (pod) =>
        pod.record.wish === 'run' && pod.record.rolloutId === environment.currentRolloutId && !pod.drained,
    ).length
    const asked = this.#gatewayDesired ?? present
    return Math.min(functionConfig.maxScale, Math.max(view.warm, asked))
  }

  async #perform(step: PlanStep, view: EnvironmentView): Promise<void> {
    switch (step.do) {
      case 'add-pod':
        return this.#pods.add(step.rolloutId, view, step.ordinal)
      case 'start-pod':
        return this.#pods.restart(this.#pods.get(step.podId), view)
      case 'end-pod':
        return this.#pods.end(this.#pods.get(step.podId), view)
      case 'remove-pod':
        return this.#pods.remove(this.#pods.get(step.podId))
      case 'promote': {
        await this.#parts.transitions.promote(this.#appEnvId, step.rolloutId)
        this.#backoff.reset()
        this.#dirty = true
      }
    }
  }

  #onReady(pod: LivePod, view: EnvironmentView): void {
    pod.state = 'ready'
    pod.readyAtMs = this.#parts.clock.monotonicMs()
    // The gateway hears first: a request may be waiting for this container.
    if (pod.record.rolloutId === view.environment.currentRolloutId) this.#publish()
    void this.#pods
      .change(pod, { status: 'Running', ready: pod.record.wish === 'run' })
      .catch((error) => this.#parts.log.warn({ err: error }, 'a pod could not be written down as running'))
      .finally(() => this.wake())
  }

  #onStartFailed(pod: LivePod, reason: string, message: string): void {
    pod.state = 'exited'
    pod.ended ??= lost(pod.record)
    this.#countFailure(pod, message)
    pod.shortLives += 1
    pod.startNotBeforeMs = this.#parts.clock.monotonicMs() + restartDelayMs(pod.shortLives)
    this.#settleSoon(pod, reason, message)
  }

  #onExit(pod: LivePod, container: EngineContainer): void {
    const nowMs = this.#parts.clock.monotonicMs()
    const wasReady = pod.state === 'ready'
    pod.ended = container
    pod.state = 'exited'
    pod.starting?.abort()
    if (pod.record.wish !== 'run') {
      this.wake()
      return
    }
    const lived = wasReady ? nowMs - pod.readyAtMs : 0
    const message = exitMessage(container, wasReady, this.#view?.app.port ?? null)
    if (lived < shortLifeMs) this.#countFailure(pod, message)
    else this.#backoff.reset()
    pod.shortLives = lived < shortLifeMs ? pod.shortLives + 1 : 0
    pod.startNotBeforeMs = nowMs + restartDelayMs(pod.shortLives)
    this.#later(restartDelayMs(pod.shortLives))
    this.#settleSoon(pod, container.outOfMemory ? 'out of memory' : 'exited', message)
  }

  /** Beside whoever saw the end; what cannot be written down now is seen again with the next list. */
  #settleSoon(pod: LivePod, reason: string, message: string): void {
    if (this.#closed) return
    this.#settleFailure(pod, reason, message).catch((error) => {
      this.#parts.log.warn(
        { err: error, appEnvId: this.#appEnvId },
        'the end of a container is not written down',
      )
      this.#later(retryMs)
    })
  }

  /** A container of the version being brought in decides its fate; one of the serving version is replaced. */
  async #settleFailure(pod: LivePod, reason: string, message: string): Promise<void> {
    const termination = pod.ended ? terminationOf(pod.ended, timestamp(this.#parts.clock.wallMs())) : null
    await this.#pods.change(pod, {
      ready: false,
      status: 'Failed',
      lastTermination: termination,
    })
    if (this.#view?.environment.wantedRolloutId === pod.record.rolloutId) {
      await this.#parts.transitions.fail(this.#appEnvId, pod.record.rolloutId, { reason, message })
    }
    this.wake()
  }

  /** Only the serving version backs off: one being brought in fails at once and must not hold up the other. */
  #countFailure(pod: LivePod, message: string): void {
    if (pod.record.rolloutId !== this.#view?.environment.currentRolloutId) return
    this.#later(this.#backoff.failed(message))
    if (this.#view?.app.isFunction) this.#parts.routes.startFailed(this.#appEnvId, message)
  }

  #publish(): void {
    const route = this.route()
    if (route) this.#parts.routes.setRoute(route)
  }

  /** The environment is gone: so is everything of it. */
  async #forget(): Promise<void> {
    this.#view = null
    this.#images.abort()
    this.#parts.routes.dropRoute(this.#appEnvId)
    this.#pods.clear()
    await this.#parts.cleanUp(this.#appEnvId)
  }

  #later(delayMs: number): void {
    this.#parts.clock.after(delayMs, () => this.wake())
  }
}

function kindOf(app: EnvironmentView['app']): PlanInput['kind'] {
  if (app.isFunction) return 'function'
  if (app.isDatabase) return 'database'
  return app.isJob ? 'none' : 'app'
}
