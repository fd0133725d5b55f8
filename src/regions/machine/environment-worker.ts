import type { PlanStep } from '../../domain/environments/plan-steps.ts'
import { planRollout } from '../../domain/environments/rollout-plan.ts'
import type { EngineContainer } from '../../engines/engine.ts'
import { Worker } from '../../worker.ts'
import { PasswordRotation } from '../databases/password-rotation.ts'
import { containerNameOf } from '../rollouts/container-spec.ts'
import { type EnvironmentView, loadView, promotedView, rolloutView } from '../rollouts/environment-view.ts'
import { RolloutImage } from '../rollouts/image.ts'
import { leftBehind, partIn } from '../rollouts/move.ts'
import { continueMove } from '../rollouts/volume-move.ts'
import { chooseDatabasePorts, lacksPorts } from './database-ports.ts'
import { EnvironmentPods } from './environment-pods.ts'
import { HealthChecks } from './health-checks.ts'
import { type MetricTarget, metricTargetOf } from './metric-targets.ts'
import { planInput } from './plan-input.ts'
import { lost } from './pod-endings.ts'
import { PodObserver } from './pod-observer.ts'
import { problemOf, routeOf } from './routes.ts'
import { StabilityWindow } from './stability-window.ts'
import { StartBackoff } from './start-backoff.ts'
import type { WorkerDeps } from './worker-deps.ts'

/** How often an environment is looked at that moves to a region elsewhere. */
const awayLookMs = 1_000

/** Brings one environment to its desired state. */
export class EnvironmentWorker {
  readonly #appEnvId: string
  readonly #deps: WorkerDeps
  readonly #pods: EnvironmentPods
  readonly #images: RolloutImage
  readonly #rotation: PasswordRotation
  readonly #backoff: StartBackoff
  readonly #window: StabilityWindow
  readonly #checks: HealthChecks
  readonly #worker: Worker
  readonly #observer: PodObserver
  #adopted = false
  #view: EnvironmentView | null = null
  /** Containers the gateway requests; null until its first report. */
  #gatewayDesired: number | null = null

  constructor(appEnvId: string, deps: WorkerDeps) {
    this.#appEnvId = appEnvId
    this.#deps = deps
    this.#backoff = new StartBackoff(deps.clock)
    this.#worker = new Worker({
      clock: deps.clock,
      // The gateway must get the ready containers even while the store is unavailable.
      pass: () => this.#pass().finally(() => this.#publish()),
      failed: (error) => deps.log.error({ err: error, appEnvId }, 'a reconcile pass failed; retrying'),
    })
    const wake = () => this.wake()
    const later = (delayMs: number) => this.#later(delayMs)
    this.#window = new StabilityWindow(deps.clock, deps.stabilityScale, {
      later,
      hasCheckedSince: (pod, sinceMs) => this.#checks.hasCheckedSince(pod, sinceMs),
    })
    this.#observer = new PodObserver(this.#observed(), deps, this.#backoff)
    this.#checks = new HealthChecks(deps, {
      view: () => this.#view,
      checked: (pod, problem) => this.#observer.checked(pod, problem),
      isRunning: (pod) => this.#pods.isRunning(pod),
      checkedNow: wake,
    })
    this.#images = new RolloutImage(deps, wake, later)
    this.#rotation = new PasswordRotation(deps, later)
    this.#pods = new EnvironmentPods(appEnvId, deps, {
      ready: (pod, view) => this.#observer.ready(pod, view),
      failed: (pod, reason, message) => this.#observer.startFailed(pod, reason, message),
      listensElsewhere: (pod, message) => this.#observer.listensElsewhere(pod, message),
      exited: (pod, container) => this.#observer.exited(pod, container),
      drained: (pod) => {
        pod.drained = true
        this.wake()
      },
      wake,
      later,
    })
  }

  /** Requests another pass soon; cheap to call often. */
  wake(): void {
    this.#worker.wake()
  }

  /** Resolves when no work is due. */
  settled(): Promise<void> {
    return this.#worker.settled()
  }

  /** Starts no further pass; `settled` waits for the current one. */
  close(): void {
    void this.#worker.stop()
    this.#images.close()
    this.#rotation.close()
    this.#checks.stop()
    this.#pods.abortStarts()
  }

  /** F2, F3: the number of containers that the gateway requests for a function. */
  desire(containers: number): void {
    this.#gatewayDesired = containers
    if (containers > 0 && this.#backoff.isHolding)
      this.#deps.routes.startFailed(this.#appEnvId, this.#backoff.lastFailure)
    this.wake()
  }

  drained(containerName: string): void {
    const pod = this.#pods.named(containerName)
    if (pod) pod.drained = true
    this.wake()
  }

  /** From the gateway: a container refused a connection. */
  unreachable(containerName: string): void {
    const pod = this.#pods.named(containerName)
    if (!pod) return
    pod.suspect = true
    this.#checks.look([pod])
  }

  /** Takes the engines' listing, requested at `listedAtMs`. Where an engine did not answer, the state is unknown. */
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
      if (container?.state === 'exited') this.#observer.exited(pod, container)
      else if (vanished) this.#observer.exited(pod, lost(pod.record))
    }
  }

  /** Adopts running containers after a restart: from the first list on, pods are matched with their containers. */
  adopt(containers: readonly EngineContainer[]): void {
    for (const container of containers) this.#deps.found.set(container.name, container)
    this.#adopted = true
    this.wake()
  }

  route() {
    const view = this.#view // A database listens on its own ports; the gateway serves HTTP only.
    if (!view || view.app.isDatabase) return null
    const serving = this.#pods.all
      .filter((pod) => pod.state === 'ready' && pod.address !== null && !pod.removing)
      .filter((pod) => !pod.unhealthy || pod.record.desiredState === 'end')
      .map((pod) => ({
        containerName: containerNameOf(pod.record),
        address: pod.address as NonNullable<typeof pod.address>,
        rolloutId: pod.record.rolloutId,
        // A pod of neither version ends with the next pass; until then its requests are counted.
        draining:
          pod.record.desiredState === 'end' || pod.drained || !rolloutView(view, pod.record.rolloutId),
      }))
    const isOut = serving.every(({ draining }) => draining)
    const problem = isOut ? problemOf(view, this.#pods.all, this.#deps.clock.wallMs()) : null
    return routeOf(view, serving, problem, this.#deps.hostOf(view))
  }

  /** The pod of the prewarmed container; null if there is none. */
  get prewarmedPodId(): string | null {
    return this.#pods.prewarmedPodId
  }

  /** The containers to measure in this environment now; null before the first read and after the deletion. */
  metricTargets(): MetricTarget | null {
    return this.#view && metricTargetOf(this.#view, this.#pods.all, this.#deps.engineOf)
  }

  async #pass(): Promise<void> {
    if (!this.#adopted) return
    // Before the view is read: an observation may have failed the version that is rolling out.
    await this.#pods.saveObservations(this.#view?.environment.wantedRolloutId ?? null)
    const { ended } = this.#images
    const whole = await loadView(this.#deps.db, this.#appEnvId)
    if (!whole) return this.#forget()
    const isMoved = await continueMove(whole, { ...this.#deps, isHere: this.#deps.isOwn })
    if (!isMoved || whole.environment.volumeMove) this.#later(awayLookMs)
    const view = this.#partHere(whole)
    if (!view) return isMoved ? this.#leave() : undefined
    // Another version serves now and has not failed yet.
    if (view.environment.currentRolloutId !== this.#view?.environment.currentRolloutId) this.#backoff.reset()
    this.#view = view
    this.#pods.sync(view)
    this.#images.look(view, ended)
    if (lacksPorts(view)) {
      await chooseDatabasePorts(this.#deps.db, view)
      this.wake()
      return
    }
    const pods = this.#pods.all.filter((pod) => !pod.removing)
    const plan = planRollout(
      planInput(view, pods, {
        trial: this.#window.state(view, pods),
        requested: this.#gatewayDesired,
        leaving: pods.length < this.#pods.all.length,
        mayStart: !this.#backoff.isHolding,
        nowMs: this.#deps.clock.monotonicMs(),
      }),
    )
    for (const step of plan) {
      if (this.#worker.stopped) return
      await this.#perform(step, view)
    }
    if (view.environment.changingRegion && view.environment.desiredState === 'stopped')
      await this.#deps.rollouts.endStoppedMove(this.#appEnvId)
    this.#checks.look(this.#pods.all)
    this.#pods.keepPrewarmed(view)
    this.#rotation.look(view, this.#pods.ready)
  }

  /** The part of the environment that runs here; null once an environment that moved away has left nothing. */
  #partHere(whole: EnvironmentView): EnvironmentView | null {
    const { isOwn, clock } = this.#deps
    if (isOwn(whole.environment.region)) return partIn(whole, isOwn)
    // The runtime of the other region does not announce its writes.
    this.#later(awayLookMs)
    const hasPods = this.#pods.all.length > 0
    return leftBehind(whole, this.#view, { isHere: isOwn, nowMs: clock.wallMs(), hasPods })
  }

  /** Its logs and measurements stay. */
  #leave(): void {
    this.#view = null
    this.#deps.routes.dropRoute(this.#appEnvId)
    this.#deps.left(this.#appEnvId)
    this.close()
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
      case 'try':
        await this.#deps.rollouts.beginTrial(this.#appEnvId, step.rolloutId)
        return this.wake()
      case 'promote':
        return this.#promote(step.rolloutId, view)
    }
  }

  /** Update the gateway first: a client that reads DEPLOYED may send a request immediately. */
  async #promote(rolloutId: string, view: EnvironmentView): Promise<void> {
    const promoted = promotedView(view)
    if (!view.serving) {
      this.#view = promoted
      this.#publish()
    }
    if (await this.#deps.rollouts.promote(this.#appEnvId, rolloutId)) {
      this.#view = promoted
      this.#backoff.reset()
    }
    this.#deps.deployed(this.#appEnvId)
    this.wake()
  }

  #observed() {
    const worker = this
    return {
      appEnvId: this.#appEnvId,
      get view() {
        return worker.#view
      },
      wake: () => this.wake(),
      later: (delayMs: number) => this.#later(delayMs),
      publish: () => this.#publish(),
    }
  }

  #publish(): void {
    const route = this.#worker.stopped ? null : this.route()
    if (route) this.#deps.routes.setRoute(route)
  }

  /** The environment was deleted: removes everything that belonged to it. */
  async #forget(): Promise<void> {
    this.#view = null
    this.#images.abort()
    this.#deps.routes.dropRoute(this.#appEnvId)
    this.#pods.clear()
    await this.#deps.cleanUp(this.#appEnvId)
  }

  #later(delayMs: number): void {
    this.#deps.clock.after(delayMs, () => this.wake())
  }
}
