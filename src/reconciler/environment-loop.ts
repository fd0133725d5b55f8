import { timestamp } from '../clock.ts'
import { type PodRecord, zCloudSize } from '../domain/environment.ts'
import { newId, randomText } from '../domain/ids.ts'
import { type PlanInput, type PlanStep, planRollout } from '../domain/rollout-plan.ts'
import type { Engine, EngineContainer } from '../engines/engine.ts'
import { AppError } from '../errors.ts'
import { chooseDatabasePorts, lacksPorts } from './database-ports.ts'
import { type EnvironmentView, loadView, type RolloutView } from './environment-view.ts'
import {
  containerNameOf,
  followed,
  type LivePod,
  metered,
  newLivePod,
  plannedPod,
  restartDelayMs,
  terminationOf,
} from './live-pod.ts'
import type { LoopParts } from './loop-parts.ts'
import { type Measured, measuredOf } from './measured.ts'
import { PodStarter } from './pod-starter.ts'
import { routeOf } from './routes.ts'

const drainAppSeconds = 30
const stopGraceSeconds = 10
const shortLifeMs = 10_000
const retryMs = 2_000

/** Makes the wish of one environment true. One pass at a time; a wake during a pass makes another one. */
export class EnvironmentLoop {
  readonly #appEnvId: string
  readonly #parts: LoopParts
  readonly #starter: PodStarter
  readonly #pods = new Map<string, LivePod>()
  #running: Promise<void> | null = null
  #dirty = false
  #closed = false
  #adopted = false
  #view: EnvironmentView | null = null
  #making: { rolloutId: string; controller: AbortController } | null = null
  /** What the gateway asks for; null until it said so. */
  #gatewayDesired: number | null = null
  #failures = 0
  #startNotBeforeMs = 0
  #lastFailure = 'The container could not be started.'

  constructor(appEnvId: string, parts: LoopParts) {
    this.#appEnvId = appEnvId
    this.#parts = parts
    this.#starter = new PodStarter(parts, {
      ready: (pod, view) => this.#onReady(pod, view),
      failed: (pod, reason, message) => this.#onStartFailed(pod, reason, message),
      drained: (pod) => {
        pod.drained = true
        this.wake()
      },
      wake: () => this.wake(),
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
    this.#making?.controller.abort()
    for (const pod of this.#pods.values()) pod.starting?.abort()
  }

  /** F2, F3: the gateway's wish for a function. */
  desire(containers: number): void {
    this.#gatewayDesired = containers
    if (containers > 0 && this.#backsOff()) this.#parts.routes.startFailed(this.#appEnvId, this.#lastFailure)
    this.wake()
  }

  drained(containerName: string): void {
    for (const pod of this.#pods.values()) {
      if (containerNameOf(pod.record) === containerName) pod.drained = true
    }
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
    for (const pod of this.#pods.values()) {
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
    const serving = [...this.#pods.values()]
      .filter((pod) => pod.state === 'ready' && pod.address !== null && !pod.removing)
      .map((pod) => ({
        containerName: containerNameOf(pod.record),
        address: pod.address as NonNullable<typeof pod.address>,
        rolloutId: pod.record.rolloutId,
        draining: pod.record.wish === 'end' || pod.drained,
      }))
    return routeOf(this.#view, serving)
  }

  /** What of this environment is measured now; null when nothing is. */
  measured(): Measured | null {
    if (this.#view?.environment.wish !== 'running') return null
    return measuredOf(this.#view, [...this.#pods.values()], this.#parts.engineOf)
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
    this.#syncPods(view)
    this.#makeImage(view)
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
    this.#publish()
  }

  #plan(view: EnvironmentView): PlanStep[] {
    const { environment, app, wanted } = view
    const nowMs = this.#parts.clock.monotonicMs()
    const pods = [...this.#pods.values()].filter((pod) => !pod.removing)
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
      leaving: pods.length < this.#pods.size,
      mayStart: !this.#backsOff(),
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
        return this.#addPod(step.rolloutId, view)
      case 'start-pod':
        return this.#restart(this.#pods.get(step.podId), view)
      case 'end-pod':
        return this.#end(this.#pods.get(step.podId), view)
      case 'remove-pod':
        return this.#remove(this.#pods.get(step.podId))
      case 'promote': {
        await this.#parts.transitions.promote(this.#appEnvId, step.rolloutId)
        this.#failures = 0
        this.#dirty = true
      }
    }
  }

  async #addPod(rolloutId: string, view: EnvironmentView): Promise<void> {
    const rollout = rolloutView(view, rolloutId)
    if (!rollout) return
    const { settings } = rollout.rollout
    const record: PodRecord = {
      podId: newId('pod'),
      name: `${view.environment.cliEnvName.slice(0, 40).replace(/-+$/, '')}-${randomText(10)}`,
      appEnvId: this.#appEnvId,
      rolloutId,
      contentId: rollout.content.contentId,
      region: rollout.rollout.region,
      wish: 'run',
      status: 'Pending',
      ready: false,
      restartCount: 0,
      lastTermination: null,
      cpuMillicores: settings.zClouds * zCloudSize.cpuMillicores,
      memoryMb: settings.zClouds * zCloudSize.memoryMb,
      nodeName: this.#parts.nodeName,
      createdAt: this.#now(),
      startedAt: null,
      finishedAt: null,
    }
    if (!(await this.#parts.transitions.addPod(record))) return
    const pod = newLivePod(record)
    this.#pods.set(record.podId, pod)
    this.#starter.start(pod, view, rollout, this.#engineOf(pod))
  }

  async #restart(pod: LivePod | undefined, view: EnvironmentView): Promise<void> {
    const rollout = pod && rolloutView(view, pod.record.rolloutId)
    if (!pod || !rollout) return
    if (pod.ended) {
      const before = containerNameOf(pod.record)
      await this.#parts.followers.finish(before, 2_000)
      await this.#parts.usage.ended(metered(pod, null))
      await this.#engineOf(pod).remove(before)
      const restartCount = pod.record.restartCount + 1
      await this.#change(pod, { restartCount, status: 'Pending', startedAt: null })
      pod.ended = null
    }
    this.#starter.start(pod, view, rollout, this.#engineOf(pod))
  }

  async #end(pod: LivePod | undefined, view: EnvironmentView): Promise<void> {
    if (!pod) return
    pod.starting?.abort()
    await this.#change(pod, { wish: 'end', ready: false })
    if (pod.state === 'ready') {
      const limitSeconds = view.functionConfig ? view.functionConfig.timeoutSeconds + 5 : drainAppSeconds
      this.#parts.clock.after(limitSeconds * 1_000, () => {
        pod.drained = true
        this.wake()
      })
    }
    this.#dirty = true
  }

  /** Ends and removes the container beside the passes, so that a slow stop holds up nothing. */
  async #remove(pod: LivePod | undefined): Promise<void> {
    if (!pod || pod.removing) return
    pod.removing = true
    pod.starting?.abort()
    void this.#takeDown(pod).catch((error) => {
      this.#parts.log.warn(
        { err: error, container: containerNameOf(pod.record) },
        'a container cannot be removed yet',
      )
      pod.removing = false
      this.#later(retryMs)
    })
  }

  async #takeDown(pod: LivePod): Promise<void> {
    const engine = this.#engineOf(pod)
    const name = containerNameOf(pod.record)
    await engine.stop(name, stopGraceSeconds)
    const finishedAt = this.#now()
    await this.#parts.followers.finish(name, 2_000)
    await this.#parts.usage.ended(metered(pod, finishedAt))
    const failed = pod.ended !== null && pod.ended.exitCode !== 0
    await engine.remove(name)
    this.#parts.found.delete(name)
    await this.#change(pod, {
      wish: 'gone',
      ready: false,
      status: failed ? 'Failed' : 'Succeeded',
      finishedAt: pod.ended?.finishedAt ?? finishedAt,
    })
    this.#pods.delete(pod.record.podId)
    this.wake()
  }

  #onReady(pod: LivePod, view: EnvironmentView): void {
    pod.state = 'ready'
    pod.readyAtMs = this.#parts.clock.monotonicMs()
    // The gateway hears first: a request may be waiting for this container.
    if (pod.record.rolloutId === view.environment.currentRolloutId) this.#publish()
    void this.#change(pod, { status: 'Running', ready: pod.record.wish === 'run' })
      .catch((error) => this.#parts.log.warn({ err: error }, 'a pod could not be written down as running'))
      .finally(() => this.wake())
  }

  #onStartFailed(pod: LivePod, reason: string, message: string): void {
    pod.state = 'exited'
    pod.ended ??= lost(pod.record)
    this.#countFailure(pod, message)
    pod.startNotBeforeMs = this.#parts.clock.monotonicMs() + restartDelayMs(pod.record.restartCount + 1)
    void this.#settleFailure(pod, reason, message)
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
    pod.startNotBeforeMs = nowMs + restartDelayMs(pod.record.restartCount + 1)
    this.#later(restartDelayMs(pod.record.restartCount + 1))
    void this.#settleFailure(pod, container.outOfMemory ? 'out of memory' : 'exited', message)
  }

  /** A container of the version being brought in decides its fate; one of the serving version is replaced. */
  async #settleFailure(pod: LivePod, reason: string, message: string): Promise<void> {
    const termination = pod.ended ? terminationOf(pod.ended, this.#now()) : null
    await this.#change(pod, {
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
    this.#failures += 1
    this.#lastFailure = message
    this.#startNotBeforeMs = this.#parts.clock.monotonicMs() + restartDelayMs(this.#failures)
    this.#later(restartDelayMs(this.#failures))
    if (this.#view?.app.isFunction) this.#parts.routes.startFailed(this.#appEnvId, message)
  }

  #engineOf(pod: LivePod): Engine {
    return this.#parts.engineOf(pod.record.region)
  }

  #backsOff(): boolean {
    return this.#parts.clock.monotonicMs() < this.#startNotBeforeMs
  }

  /** Matches stored pods with what runs; only the first pass after a restart finds pods it does not know. */
  #syncPods(view: EnvironmentView): void {
    const stored = new Set(view.pods.map((record) => record.podId))
    for (const [podId, pod] of this.#pods) {
      if (!stored.has(podId) && !pod.removing) this.#pods.delete(podId)
    }
    for (const record of view.pods) {
      if (this.#pods.has(record.podId)) continue
      const pod = newLivePod(record)
      this.#pods.set(record.podId, pod)
      const container = this.#parts.found.get(containerNameOf(record))
      const rollout = rolloutView(view, record.rolloutId)
      if (container?.state === 'running') {
        this.#starter.adopt(pod, container, view, rollout, this.#engineOf(pod))
      } else if (container?.state === 'exited') {
        this.#parts.followers.follow(this.#engineOf(pod), followed(pod))
        this.#onExit(pod, container)
      }
    }
  }

  #makeImage(view: EnvironmentView): void {
    const { wanted } = view
    const needs =
      wanted && !(wanted.rollout.region in wanted.content.images) && wanted.rollout.status !== 'FAILED'
    if (this.#making && this.#making.rolloutId !== wanted?.rollout.rolloutId) {
      this.#making.controller.abort()
      this.#making = null
    }
    if (!needs || this.#making) return
    const controller = new AbortController()
    const making = { rolloutId: wanted.rollout.rolloutId, controller }
    this.#making = making
    const engine = this.#parts.engineOf(wanted.rollout.region)
    void this.#parts.images
      .make(engine, view, wanted, controller.signal)
      .catch((error) => {
        const away = error instanceof AppError
        this.#parts.log[away ? 'warn' : 'error'](
          { err: error, appEnvId: this.#appEnvId },
          'an image is not made yet',
        )
        this.#later(retryMs)
      })
      .finally(() => {
        if (this.#making === making) this.#making = null
        this.wake()
      })
  }

  #publish(): void {
    const route = this.route()
    if (route) this.#parts.routes.setRoute(route)
  }

  /** The environment is gone: so is everything of it. */
  async #forget(): Promise<void> {
    this.#view = null
    this.#making?.controller.abort()
    this.#parts.routes.dropRoute(this.#appEnvId)
    for (const pod of this.#pods.values()) pod.starting?.abort()
    this.#pods.clear()
    await this.#parts.cleanUp(this.#appEnvId)
  }

  /** Memory first, then disk: writes queue up in order, so the newest state is always the last one written. */
  #change(pod: LivePod, change: Partial<PodRecord>): Promise<void> {
    pod.record = { ...pod.record, ...change }
    return this.#parts.transitions.savePod(pod.record)
  }

  #later(delayMs: number): void {
    this.#parts.clock.after(delayMs, () => this.wake())
  }

  #now(): string {
    return timestamp(this.#parts.clock.wallMs())
  }
}

function kindOf(app: EnvironmentView['app']): PlanInput['kind'] {
  if (app.isFunction) return 'function'
  if (app.isDatabase) return 'database'
  return app.isJob ? 'none' : 'app'
}

function rolloutView(view: EnvironmentView, rolloutId: string): RolloutView | null {
  return [view.wanted, view.current].find((known) => known?.rollout.rolloutId === rolloutId) ?? null
}

/** A container that the engine no longer lists, or that never came to be. */
function lost(record: PodRecord): EngineContainer {
  const { podId, appEnvId, contentId, rolloutId, startedAt, nodeName } = record
  return {
    name: containerNameOf(record),
    podId,
    appEnvId,
    contentId,
    template: rolloutId,
    state: 'exited',
    startedAt,
    finishedAt: null,
    exitCode: null,
    outOfMemory: false,
    address: null,
    nodeName,
  }
}

function exitMessage(container: EngineContainer, wasReady: boolean, port: number | null): string {
  const when = wasReady ? 'while it served' : port === null ? '' : `before it listened on port ${port}`
  if (container.outOfMemory) {
    return `The container ran out of memory ${when}. Raise zClouds or use less memory; get-logs shows its output.`
  }
  const how = container.exitCode === null ? 'was lost' : `exited with code ${container.exitCode}`
  return `The container ${how} ${when}`.trim().concat('. get-logs shows its output.')
}
