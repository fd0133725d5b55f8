import { timestamp } from '../clock.ts'
import { type PodRecord, zCloudSize } from '../domain/environment.ts'
import { newId, randomText } from '../domain/ids.ts'
import type { Engine, EngineContainer } from '../engines/engine.ts'
import type { EnvironmentView, RolloutView } from './environment-view.ts'
import { containerNameOf, followed, type LivePod, metered, newLivePod } from './live-pod.ts'
import type { LoopParts } from './loop-parts.ts'
import { PodStarter, type StartEvents } from './pod-starter.ts'
import { SpareContainer } from './spare-container.ts'

const drainAppSeconds = 30
const stopGraceSeconds = 10
const retryMs = 2_000

export interface PodEvents extends StartEvents {
  exited(pod: LivePod, container: EngineContainer): void
  /** Look again in so many milliseconds. */
  later(delayMs: number): void
}

/** The pods of one environment: adds, restarts, ends and removes them, and writes down what becomes of them. */
export class EnvironmentPods {
  readonly #appEnvId: string
  readonly #parts: LoopParts
  readonly #events: PodEvents
  readonly #starter: PodStarter
  readonly #pods = new Map<string, LivePod>()
  readonly #spare: SpareContainer

  constructor(appEnvId: string, parts: LoopParts, events: PodEvents) {
    this.#appEnvId = appEnvId
    this.#parts = parts
    this.#events = events
    this.#starter = new PodStarter(parts, events)
    this.#spare = new SpareContainer(parts)
  }

  get all(): LivePod[] {
    return [...this.#pods.values()]
  }

  get(podId: string): LivePod | undefined {
    return this.#pods.get(podId)
  }

  named(containerName: string): LivePod | undefined {
    return this.all.find((pod) => containerNameOf(pod.record) === containerName)
  }

  /** Gives up what is being started. */
  abortStarts(): void {
    for (const pod of this.#pods.values()) pod.starting?.abort()
  }

  /** The pod of the container that is made ahead; null without one. */
  get sparePodId(): string | null {
    return this.#spare.podId
  }

  /** Makes the next container of a function ahead while nothing else is to do, and lets go of one nobody will want. */
  keepSpare(view: EnvironmentView): void {
    const { environment, current, functionConfig } = view
    const wanted = environment.wantedRolloutId ?? environment.currentRolloutId
    if (!functionConfig || environment.wish !== 'running' || current?.rollout.rolloutId !== wanted) {
      this.#spare.drop()
      return
    }
    const settled = this.all.every((pod) => pod.state === 'ready' && !pod.removing)
    if (!current || !settled || this.all.length >= functionConfig.maxScale) return
    this.#spare.keep(view, current, () => this.#newRecord(view, current))
  }

  clear(): void {
    this.#spare.drop()
    this.abortStarts()
    this.#pods.clear()
  }

  /** Matches stored pods with what runs; only the first pass after a restart finds pods it does not know. */
  sync(view: EnvironmentView): void {
    const stored = new Set(view.pods.map((record) => record.podId))
    for (const [podId, pod] of this.#pods) {
      if (!stored.has(podId) && !pod.removing) this.#pods.delete(podId)
    }
    for (const record of view.pods) {
      if (this.#pods.has(record.podId)) continue
      const pod = this.#keep(record)
      const container = this.#parts.found.get(containerNameOf(record))
      const rollout = rolloutView(view, record.rolloutId)
      if (container?.state === 'running') {
        this.#starter.adopt(pod, container, view, rollout, this.engineOf(pod))
      } else if (container?.state === 'exited') {
        this.#parts.followers.follow(this.engineOf(pod), followed(pod))
        this.#events.exited(pod, container)
      }
    }
  }

  async add(rolloutId: string, view: EnvironmentView, ordinal?: number): Promise<void> {
    const rollout = rolloutView(view, rolloutId)
    if (!rollout) return
    const spare = this.#spare.offer(rolloutId)
    const made = spare ? { ...spare, createdAt: this.#now() } : this.#newRecord(view, rollout)
    const record: PodRecord = ordinal === undefined ? made : { ...made, ordinal }
    if (!(await this.#parts.transitions.addPod(record))) return
    // Only now: until its row is written, the spare's claim keeps the container.
    if (spare) this.#spare.taken()
    const pod = this.#keep(record)
    this.#starter.start(pod, view, rollout, this.engineOf(pod))
  }

  async restart(pod: LivePod | undefined, view: EnvironmentView): Promise<void> {
    const rollout = pod && rolloutView(view, pod.record.rolloutId)
    if (!pod || !rollout) return
    if (pod.ended) {
      const before = containerNameOf(pod.record)
      await this.#parts.followers.finish(before, 2_000)
      await this.#parts.usage.ended(metered(pod, null))
      await this.engineOf(pod).remove(before)
      const restartCount = pod.record.restartCount + 1
      await this.change(pod, { restartCount, status: 'Pending', startedAt: null })
      pod.ended = null
    }
    this.#starter.start(pod, view, rollout, this.engineOf(pod))
  }

  async end(pod: LivePod | undefined, view: EnvironmentView): Promise<void> {
    if (!pod) return
    pod.starting?.abort()
    await this.change(pod, { wish: 'end', ready: false })
    if (pod.state === 'ready') {
      const limitSeconds = view.functionConfig ? view.functionConfig.timeoutSeconds + 5 : drainAppSeconds
      this.#parts.clock.after(limitSeconds * 1_000, () => {
        pod.drained = true
        this.#events.wake()
      })
    }
    this.#events.wake()
  }

  /** Ends and removes the container beside the passes, so that a slow stop holds up nothing. */
  async remove(pod: LivePod | undefined): Promise<void> {
    if (!pod || pod.removing) return
    pod.removing = true
    pod.starting?.abort()
    void this.#takeDown(pod).catch((error) => {
      this.#parts.log.warn(
        { err: error, container: containerNameOf(pod.record) },
        'a container cannot be removed yet',
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
    await this.#parts.followers.finish(name, 2_000)
    await this.#parts.usage.ended(metered(pod, finishedAt))
    const failed = pod.ended !== null && pod.ended.exitCode !== 0
    await engine.remove(name)
    this.#parts.found.delete(name)
    await this.change(pod, {
      wish: 'gone',
      ready: false,
      status: failed ? 'Failed' : 'Succeeded',
      finishedAt: pod.ended?.finishedAt ?? finishedAt,
    })
    this.#pods.delete(pod.record.podId)
    this.#events.wake()
  }

  engineOf(pod: LivePod): Engine {
    return this.#parts.engineOf(pod.record.region)
  }

  /** Memory first, then disk: writes queue up in order, so the newest state is always the last one written. */
  change(pod: LivePod, change: Partial<PodRecord>): Promise<void> {
    pod.record = { ...pod.record, ...change }
    return this.#parts.transitions.savePod(pod.record)
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
  }

  #keep(record: PodRecord): LivePod {
    const pod = newLivePod(record)
    this.#pods.set(record.podId, pod)
    return pod
  }

  #now(): string {
    return timestamp(this.#parts.clock.wallMs())
  }
}

/** The version a pod runs, of the two that may run now. */
function rolloutView(view: EnvironmentView, rolloutId: string): RolloutView | null {
  return [view.wanted, view.current].find((known) => known?.rollout.rolloutId === rolloutId) ?? null
}
