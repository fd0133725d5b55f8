import { timestamp } from '../../clock.ts'
import { type PodRecord, zCloudSize } from '../../domain/environments/environment.ts'
import { newId, randomText } from '../../domain/ids.ts'
import type { Engine, EngineContainer } from '../../engines/engine.ts'
import { containerNameOf } from '../rollouts/container-spec.ts'
import { type EnvironmentView, type RolloutView, rolloutView } from '../rollouts/environment-view.ts'
import { followed, type LivePod, metered, newLivePod, type Observation } from './live-pod.ts'
import { withMissingModule } from './pod-endings.ts'
import { PodStarter, type StartEvents } from './pod-starter.ts'
import { PrewarmedContainer } from './prewarmed-container.ts'
import type { WorkerDeps } from './worker-deps.ts'

const drainAppSeconds = 30
const stopGraceSeconds = 10
const retryMs = 2_000
/** The output of an ended container is complete in milliseconds, on a busy machine in seconds. */
const lastOutputMs = 20_000

type Failure = NonNullable<Observation['failure']>

interface PodEvents extends StartEvents {
  exited(pod: LivePod, container: EngineContainer): void
  /** Run another pass after this many milliseconds. */
  later(delayMs: number): void
}

/** The pods of one environment: adds, restarts, ends and removes them, and stores their states. */
export class EnvironmentPods {
  readonly #appEnvId: string
  readonly #deps: WorkerDeps
  readonly #events: PodEvents
  readonly #starter: PodStarter
  readonly #pods = new Map<string, LivePod>()
  readonly #prewarmed: PrewarmedContainer

  constructor(appEnvId: string, deps: WorkerDeps, events: PodEvents) {
    this.#appEnvId = appEnvId
    this.#deps = deps
    this.#events = events
    this.#starter = new PodStarter(deps, events)
    this.#prewarmed = new PrewarmedContainer(deps)
  }

  get all(): LivePod[] {
    return [...this.#pods.values()]
  }

  get ready(): PodRecord[] {
    return this.all.flatMap(({ state, removing, record }) => (state === 'ready' && !removing ? [record] : []))
  }

  get(podId: string): LivePod | undefined {
    return this.#pods.get(podId)
  }

  named(containerName: string): LivePod | undefined {
    return this.all.find((pod) => containerNameOf(pod.record) === containerName)
  }

  /** Aborts starts in progress. */
  abortStarts(): void {
    for (const pod of this.#pods.values()) pod.starting?.abort()
  }

  /** The pod of the prewarmed container; null if there is none. */
  get prewarmedPodId(): string | null {
    return this.#prewarmed.podId
  }

  /** Stores what was observed since the last pass; failed writes are repeated by a later pass. */
  async saveObservations(wantedRolloutId: string | null): Promise<void> {
    for (const pod of this.all) {
      const { unsaved } = pod
      if (!unsaved) continue
      // An ending pod takes no requests, whatever its container's state.
      const ready = pod.record.desiredState === 'run' && unsaved.change.ready === true
      await this.#change(pod, { ...unsaved.change, ready })
      if (unsaved.failure) {
        const { rolloutId } = pod.record
        const isTried = rolloutId === wantedRolloutId
        const failure = isTried ? await this.#explained(pod, unsaved.failure) : unsaved.failure
        await this.#deps.rollouts.failedContainer(this.#appEnvId, rolloutId, failure)
      }
      if (pod.unsaved === unsaved) pod.unsaved = null
      if (pod.record.desiredState === 'gone') this.#pods.delete(pod.record.podId)
    }
  }

  /** Waits for the last output of an ended container: readers of the failure look there for its cause. */
  async #explained(pod: LivePod, failure: Failure): Promise<Failure> {
    if (!pod.ended) return failure
    const lines = await this.#deps.followers.lastLines(followed(pod), lastOutputMs)
    return failure.reason === 'exits-at-once' ? withMissingModule(failure, lines) : failure
  }

  /** Prewarms the next container of a function while no other work is due; drops one that is no longer needed. */
  keepPrewarmed(view: EnvironmentView): void {
    const { environment, current, functionConfig } = view
    const wanted = environment.wantedRolloutId ?? environment.currentRolloutId
    if (!functionConfig || environment.desiredState !== 'running' || current?.rollout.rolloutId !== wanted) {
      this.#prewarmed.drop()
      return
    }
    const settled = this.all.every((pod) => pod.state === 'ready' && !pod.removing)
    if (!current || !settled || this.all.length >= functionConfig.maxScale) return
    this.#prewarmed.keep(view, current, () => this.#newRecord(view, current))
  }

  clear(): void {
    this.#prewarmed.drop()
    this.abortStarts()
    this.#pods.clear()
  }

  /** Matches stored pods with running containers; only the first pass after a restart finds unknown pods. */
  sync(view: EnvironmentView): void {
    const stored = new Set(view.pods.map((record) => record.podId))
    for (const [podId, pod] of this.#pods) {
      if (!stored.has(podId) && !pod.removing) this.#pods.delete(podId)
    }
    for (const record of view.pods) {
      if (this.#pods.has(record.podId)) continue
      const pod = this.#keep(record)
      const container = this.#deps.found.get(containerNameOf(record))
      const rollout = rolloutView(view, record.rolloutId)
      if (container?.state === 'running') {
        this.#starter.adopt(pod, container, view, rollout, this.engineOf(pod))
      } else if (container?.state === 'exited') {
        this.#deps.followers.follow(this.engineOf(pod), followed(pod))
        this.#events.exited(pod, container)
      }
    }
  }

  async add(rolloutId: string, view: EnvironmentView, ordinal?: number): Promise<void> {
    const rollout = rolloutView(view, rolloutId)
    if (!rollout) return
    const prewarmed = this.#prewarmed.availability(rolloutId)
    const made = prewarmed ? { ...prewarmed, createdAt: this.#now() } : this.#newRecord(view, rollout)
    const record: PodRecord = ordinal === undefined ? made : { ...made, ordinal }
    if (!(await this.#deps.rollouts.addPod(record))) return
    // Release only now: until the pod's row is written, the claim keeps the prewarmed container from being removed.
    if (prewarmed) this.#prewarmed.taken()
    const pod = this.#keep(record)
    this.#starter.start(pod, view, rollout, this.engineOf(pod))
  }

  /** Whether the engine lists the container as running; true when it does not answer. */
  async isRunning(pod: LivePod): Promise<boolean> {
    const containers = await this.engineOf(pod)
      .list()
      .catch(() => null)
    const container = containers?.find(({ name }) => name === containerNameOf(pod.record))
    return containers === null || container?.state === 'running'
  }

  async restart(pod: LivePod | undefined, view: EnvironmentView): Promise<void> {
    const rollout = pod && rolloutView(view, pod.record.rolloutId)
    if (!pod || !rollout) return
    // A container that was started and is not there any more ran under its name, as after `longshore stop`.
    if (pod.ended || pod.record.startedAt !== null) {
      const before = containerNameOf(pod.record)
      await this.#deps.followers.finish(before, 2_000)
      await this.#deps.usage.ended(metered(pod, null))
      await this.engineOf(pod).remove(before)
      const restartCount = pod.record.restartCount + 1
      await this.#change(pod, { restartCount, status: 'Pending', startedAt: null })
      pod.ended = null
    }
    this.#starter.start(pod, view, rollout, this.engineOf(pod))
  }

  async end(pod: LivePod | undefined, view: EnvironmentView): Promise<void> {
    if (!pod) return
    pod.starting?.abort()
    await this.#change(pod, { desiredState: 'end', ready: false })
    if (pod.state === 'ready') {
      const limitSeconds = view.functionConfig ? view.functionConfig.timeoutSeconds + 5 : drainAppSeconds
      this.#deps.clock.after(limitSeconds * 1_000, () => {
        pod.drained = true
        this.#events.wake()
      })
    }
    this.#events.wake()
  }

  /** Ends and removes the container in the background, so that a slow stop delays no other work. */
  async remove(pod: LivePod | undefined): Promise<void> {
    if (!pod || pod.removing) return
    pod.removing = true
    pod.starting?.abort()
    void this.#takeDown(pod).catch((error) => {
      this.#deps.log.warn(
        { err: error, container: containerNameOf(pod.record) },
        'cannot remove a container; retrying',
      )
      pod.removing = false
      this.#events.later(retryMs)
    })
  }

  async #takeDown(pod: LivePod): Promise<void> {
    const engine = this.engineOf(pod)
    const name = containerNameOf(pod.record)
    await engine.stop(name, stopGraceSeconds)
    const finishedAt = this.#now()
    await this.#deps.followers.finish(name, 2_000)
    await this.#deps.usage.ended(metered(pod, finishedAt))
    const failed = pod.ended !== null && pod.ended.exitCode !== 0
    await engine.remove(name)
    this.#deps.found.delete(name)
    const status = failed ? ('Failed' as const) : ('Succeeded' as const)
    pod.unsaved = {
      change: { desiredState: 'gone', ready: false, status, finishedAt: pod.ended?.finishedAt ?? finishedAt },
    }
    this.#events.wake()
  }

  engineOf(pod: LivePod): Engine {
    return this.#deps.engineOf(pod.record.region)
  }

  /** The store first, then memory: after a failed write, memory has the state that a restart would find. */
  async #change(pod: LivePod, change: Partial<PodRecord>): Promise<void> {
    await this.#deps.rollouts.savePod({ ...pod.record, ...change })
    pod.record = { ...pod.record, ...change }
  }

  #newRecord(view: EnvironmentView, rollout: RolloutView): PodRecord {
    const { settings } = rollout.rollout
    return {
      podId: newId('pod'),
      name: `${view.environment.cliEnvName.slice(0, 40).replace(/-+$/, '')}-${randomText(10)}`,
      appEnvId: this.#appEnvId,
      rolloutId: rollout.rollout.rolloutId,
      contentId: rollout.content.contentId,
      region: rollout.rollout.region,
      desiredState: 'run',
      status: 'Pending',
      ready: false,
      restartCount: 0,
      lastTermination: null,
      cpuMillicores: settings.zClouds * zCloudSize.cpuMillicores,
      memoryMb: settings.zClouds * zCloudSize.memoryMb,
      nodeName: this.#deps.nodeName,
      createdAt: this.#now(),
      startedAt: null,
      finishedAt: null,
    }
  }

  #keep(record: PodRecord): LivePod {
    const pod = newLivePod(record)
    this.#pods.set(record.podId, pod)
    return pod
  }

  #now(): string {
    return timestamp(this.#deps.clock.wallMs())
  }
}
