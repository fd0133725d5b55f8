import type { Clock } from '../../clock.ts'
import { zCloudSize } from '../../domain/environments/environment.ts'
import type { Engine } from '../../engines/engine.ts'
import type { LogStore } from '../../files/log-store.ts'
import type { Db } from '../../store/db.ts'
import { endRemoval } from '../../store/repositories/removals.ts'
import { PasswordRotation } from '../databases/password-rotation.ts'
import type { LogFollowers } from '../logs/followers.ts'
import { type EnvironmentView, loadView, type RolloutView } from '../rollouts/environment-view.ts'
import { RolloutImage } from '../rollouts/image.ts'
import type { ImageBuilder } from '../rollouts/image-builder.ts'
import { partIn, servesOn } from '../rollouts/move.ts'
import { continueMove, holds, startable } from '../rollouts/volume-move.ts'
import type { RolloutWriter } from '../rollouts/writer.ts'
import type { ListedObjects } from './applied.ts'
import { type Observed, workloadsIn } from './cache.ts'
import { databaseState } from './databases/state.ts'
import { EnvironmentObjects, type EnvironmentObjectsDeps } from './environment-objects.ts'
import { podLines } from './log-lines.ts'
import { heldAnnotation, label } from './manifests/workload.ts'
import { containerNameIn, podIdOf, storePods } from './pods.ts'
import type { WorkloadPod } from './status.ts'
import { appState, functionState, hasEnded, type RolloutState } from './status.ts'

/**
 * Depth of a pass. `events`: compares pods and lost objects in the cluster; `stored`: also the stored rows; `all`: applies
 * all objects again.
 */
export type Depth = 'events' | 'stored' | 'all'

/** Its objects are applied again at least this often: drift of a Secret, which may not be read, shows nowhere else. */
const applyAllEveryMs = 600_000

/**
 * How long a version that moves here has to be ready before clients are sent to its address: an ingress controller answers
 * 404 until it has learned the pods. That usually takes one or two seconds, on a busy cluster far more; the other region
 * serves for a minute after it.
 */
const routeLagMs = 15_000

interface ClusterEnvironmentDeps extends EnvironmentObjectsDeps {
  region: string
  engine: Engine
  db: Db
  clock: Clock
  rollouts: RolloutWriter
  images: ImageBuilder
  followers: LogFollowers
  logs: Pick<LogStore, 'forget'>
  wake(appEnvId: string): void
  /** Removes the attempts of jobs of an environment that was deleted. */
  removeJobs(appEnvId: string): Promise<void>
}

/** One environment in a cluster: applies its objects, and stores their state. */
export class ClusterEnvironment {
  readonly #appEnvId: string
  readonly #deps: ClusterEnvironmentDeps
  readonly #images: RolloutImage
  readonly #rotation: PasswordRotation
  /** Its last state was not the desired one, so it is compared in every pass. */
  #changing = true
  readonly #objects: EnvironmentObjects
  #podsSeen: string | null = null
  /** It was deleted, and so was each of its objects. */
  #isRemoved = false
  /** A version that is ready but not promoted, and since when. */
  #readySince: { rolloutId: string; atMs: number } | null = null
  /** The version in progress, and since when: earlier waits, as for the cluster, are no failure of the version. */
  #appliedSince: { rolloutId: string; wallMs: number } | null = null
  #applyAllAtMs: number

  constructor(appEnvId: string, deps: ClusterEnvironmentDeps) {
    this.#appEnvId = appEnvId
    this.#deps = deps
    this.#objects = new EnvironmentObjects(appEnvId, deps)
    this.#applyAllAtMs = this.#nextApplyAllMs()
    const wake = () => deps.wake(appEnvId)
    const { clock, log, images, engine } = deps
    const later = (delayMs: number) => void clock.after(delayMs, wake)
    this.#images = new RolloutImage({ clock, log, images, engineOf: () => engine }, wake, later)
    this.#rotation = new PasswordRotation({ ...deps, engineOf: () => engine }, later)
  }

  get isChanging(): boolean {
    return this.#changing
  }

  /** Stops image builds and the password rotation for good. */
  close(): void {
    this.#images.close()
    this.#rotation.close()
  }

  /** How closely it has to be looked at in a resync that found these objects. */
  depthFor(listed: ListedObjects): Depth {
    const isOld = this.#deps.clock.monotonicMs() >= this.#applyAllAtMs
    const isAsApplied = this.#objects.compare(listed)
    return isOld || !isAsApplied ? 'all' : 'stored'
  }

  /** Resolves to false once the environment has nothing left here. */
  async look(observed: Observed | undefined, depth: Depth): Promise<boolean> {
    const pods = observed?.pods ?? []
    const seen = JSON.stringify(
      pods.map(({ metadata, status }) => [metadata.uid, metadata.deletionTimestamp, status]),
    )
    const isDrifted = this.#objects.isDrifted(observed)
    if (depth === 'events' && !this.#changing && !isDrifted && seen === this.#podsSeen) return true
    try {
      if (depth === 'all' || isDrifted) {
        this.#objects.forget()
        this.#applyAllAtMs = this.#nextApplyAllMs()
      }
      const isLeft = await this.#compare(observed, seen)
      if (!isLeft) this.#objects.release()
      return isLeft
    } catch (error) {
      this.#changing = true
      this.#deps.log.warn(
        { err: error, appEnvId: this.#appEnvId },
        'environment is not in its desired state yet; retrying',
      )
      return true
    }
  }

  /** Not at the same time for all environments. */
  #nextApplyAllMs(): number {
    return this.#deps.clock.monotonicMs() + applyAllEveryMs * (0.5 + Math.random() / 2)
  }

  async #compare(observed: Observed | undefined, seen: string): Promise<boolean> {
    const { ended } = this.#images
    const { db, region, clock, engine } = this.#deps
    const isHere = (one: string) => one === region
    const whole = await loadView(db, this.#appEnvId)
    if (!whole) return this.#removeDeleted(observed)
    const isMoved = await continueMove(whole, { ...this.#deps, isHere, engineOf: () => engine })
    if (!isMoved) this.#changing = true
    const view = partIn(whole, isHere)
    const isOwn = isHere(whole.environment.region)
    if (!isOwn && !view.current && !view.wanted) {
      this.#images.abort()
      // Their rows end too.
      await this.#storePods(whole, observed?.pods ?? [])
      if (observed && !servesOn(whole, isHere, clock.wallMs())) await this.#objects.remove(observed)
      this.#podsSeen = null
      return isOwn || observed !== undefined || !isMoved
    }
    this.#images.look(view, ended)
    const pods = observed?.pods ?? []
    // A pod that is to end counts as ended after a while, even if the cluster still has it.
    const isSame = seen === this.#podsSeen && !pods.some(({ metadata }) => metadata.deletionTimestamp)
    const fresh = isSame ? [] : await this.#storePods(view, pods)
    this.#podsSeen = seen
    this.#followLogs(view, pods, fresh)
    this.#rotation.look(
      view,
      view.pods.filter(({ ready }) => ready),
    )
    // Until it runs in another region, it serves here.
    this.#changing = (await this.#converge(view, observed)) || !isOwn || !isMoved
    return true
  }

  /** Runs even if no workload is observed: a version that failed or was stopped may leave just a volume. */
  async #removeDeleted(observed: Observed | undefined): Promise<boolean> {
    this.#images.abort()
    await this.#deps.removeJobs(this.#appEnvId)
    // Objects that end only with their pods are not looked up again in each pass until then.
    if (!this.#isRemoved || workloadsIn(observed).length > 0)
      await this.#objects.remove(observed, { endsCopies: true })
    this.#objects.release()
    this.#isRemoved = true
    this.#podsSeen = null
    if (observed !== undefined) return true
    const { db, logs, region } = this.#deps
    await logs.forget(this.#appEnvId)
    await db.write((tx) => endRemoval(tx, { kind: 'environment', subject: this.#appEnvId }, [region]))
    return false
  }

  /** Applies the desired workload; true while it is in progress. */
  async #converge(view: EnvironmentView, observed: Observed | undefined): Promise<boolean> {
    const { environment, app, current, wanted } = view
    const { rollouts } = this.#deps
    const { appEnvId } = environment
    const next = startable(view)
    if (environment.changingRegion && environment.desiredState === 'stopped')
      await rollouts.endStoppedMove(appEnvId)
    if (app.isJob) {
      // Its attempts run there, and an account may have jobs only.
      await this.#objects.ensureAccount(view)
      if (next) await rollouts.promote(appEnvId, next.rollout.rolloutId)
      return wanted !== null
    }
    const version = next ?? current
    // The first version failed, or was stopped in progress: its objects would keep running.
    if (!version && observed) await this.#objects.remove(observed, { keepsData: true })
    const refused = version && (await this.#objects.apply(view, version, observed))
    if (next && this.#appliedSince?.rolloutId !== next.rollout.rolloutId)
      this.#appliedSince = { rolloutId: next.rollout.rolloutId, wallMs: this.#deps.clock.wallMs() }
    if (!next || holds(view)) return wanted !== null
    const state: RolloutState = refused
      ? { is: 'failed', reason: 'not supported', message: refused }
      : this.#stateOf(view, next, observed)
    const { rolloutId } = next.rollout
    if (state.is !== 'ready') this.#readySince = null
    if (state.is === 'progressing') return true
    // The other region keeps serving until the route here has had time to take effect.
    if (state.is === 'ready' && environment.servedFrom !== undefined && this.#lacksRoute(rolloutId))
      return true
    // Before the outcome is stored: if this process ends in between, the next pass finds the variables again.
    if (!app.isDatabase)
      await this.#objects.dropVariables(view, state.is === 'ready' ? next : current, [current, next])
    if (state.is === 'ready') await rollouts.promote(appEnvId, rolloutId)
    else await rollouts.fail(appEnvId, rolloutId, { reason: state.reason, message: state.message })
    this.#deps.wake(appEnvId)
    return true
  }

  #lacksRoute(rolloutId: string): boolean {
    const { clock, wake } = this.#deps
    const nowMs = clock.monotonicMs()
    if (this.#readySince?.rolloutId !== rolloutId) this.#readySince = { rolloutId, atMs: nowMs }
    const leftMs = this.#readySince.atMs + routeLagMs - nowMs
    if (leftMs > 0) clock.after(leftMs, () => wake(this.#appEnvId))
    return leftMs > 0
  }

  #stateOf({ app }: EnvironmentView, { rollout }: RolloutView, observed: Observed | undefined): RolloutState {
    const nowMs = this.#deps.clock.wallMs()
    const isOfVersion = ({ metadata }: WorkloadPod) => metadata.labels?.[label.rollout] === rollout.rolloutId
    const pods = (observed?.pods ?? []).filter(
      (pod) => isOfVersion(pod) && !pod.metadata.deletionTimestamp && !hasEnded(pod),
    )
    if (app.isDatabase) {
      const sinceMs = this.#appliedSince?.wallMs ?? nowMs
      return databaseState(pods, { desired: rollout.settings.containers, sinceMs, nowMs })
    }
    const object = app.isFunction ? observed?.service : observed?.deployment
    const { labels, annotations } = object?.spec?.template?.metadata ?? {}
    // Listed before this version was applied, or while it was held.
    if (labels?.[label.rollout] !== rollout.rolloutId || annotations?.[heldAnnotation])
      return { is: 'progressing' }
    return app.isFunction ? functionState(object, pods, nowMs) : appState(object, pods)
  }

  /** Returns the ids of pods seen for the first time. */
  async #storePods(
    { environment, app, wanted, current }: EnvironmentView,
    pods: WorkloadPod[],
  ): Promise<string[]> {
    if (app.isJob) return []
    const { db, clock, region } = this.#deps
    const { zClouds } = (wanted ?? current)?.rollout.settings ?? environment.applied
    const size = {
      cpuMillicores: zClouds * zCloudSize.cpuMillicores,
      memoryMb: zClouds * zCloudSize.memoryMb,
    }
    const { appEnvId } = environment
    return storePods(db, { appEnvId, region, ...size }, pods, clock.wallMs())
  }

  #followLogs({ app, environment }: EnvironmentView, pods: WorkloadPod[], fresh: readonly string[]): void {
    if (app.isJob) return
    const { followers, client } = this.#deps
    const { appEnvId } = environment
    for (const pod of pods) {
      const { name, namespace, labels = {} } = pod.metadata
      if (!pod.status?.containerStatuses?.some(({ state }) => state?.running || state?.terminated)) continue
      const source = {
        logs: (_name: string, how: Parameters<Engine['logs']>[1]) =>
          podLines(client, { namespace, name, container: containerNameIn(pod) }, how),
      }
      followers.follow(source, {
        ...{ appEnvId, podName: name, containerName: name, contentId: labels[label.content] ?? '' },
        ...{ type: 'RUNTIME', origin: { rolloutId: labels[label.rollout] ?? '' } },
        isNew: fresh.includes(podIdOf(pod)),
      })
    }
  }
}
