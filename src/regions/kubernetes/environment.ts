import type { Clock } from '../../clock.ts'
import { isRegularApp } from '../../domain/apps/presets.ts'
import { workloadName } from '../../domain/environments/cluster-names.ts'
import { zCloudSize } from '../../domain/environments/environment.ts'
import type { Engine } from '../../engines/engine.ts'
import type { Log } from '../../log.ts'
import type { Db } from '../../store/db.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import { PasswordRotation } from '../databases/password-rotation.ts'
import type { LogFollowers } from '../logs/followers.ts'
import { type EnvironmentView, loadView, type RolloutView } from '../rollouts/environment-view.ts'
import { RolloutImage } from '../rollouts/image.ts'
import type { ImageBuilder } from '../rollouts/image-builder.ts'
import { partIn, servesOn } from '../rollouts/move.ts'
import type { RolloutWriter } from '../rollouts/writer.ts'
import type { Observed } from './cache.ts'
import { type ClusterClient, refusalOf } from './client.ts'
import { databaseState } from './databases/state.ts'
import { podLines } from './log-lines.ts'
import { accountManifests } from './manifests/account.ts'
import { type ClusterOptions, label, type Manifest, namespaceOf, secretName } from './manifests/workload.ts'
import { containerNameIn, podIdOf, storePods } from './pods.ts'
import { removeEnvironment } from './removal.ts'
import type { WorkloadPod } from './status.ts'
import { appState, functionState, type RolloutState } from './status.ts'
import { manifestsOf, workloadOf } from './workload-of.ts'

interface ClusterEnvironmentDeps {
  region: string
  options: ClusterOptions
  installationId: string
  client: ClusterClient
  engine: Engine
  db: Db
  clock: Clock
  log: Log
  secrets: SecretBox
  transitions: RolloutWriter
  images: ImageBuilder
  followers: LogFollowers
  clockScale: number
  /** Accounts whose namespace exists. */
  accounts: Set<string>
  wake(appEnvId: string): void
  /** Removes the attempts of jobs of an environment that was deleted. */
  removeJobs(appEnvId: string): Promise<void>
}

/** One environment in a cluster: applies its objects, and stores what became of them. */
export class ClusterEnvironment {
  readonly #appEnvId: string
  readonly #deps: ClusterEnvironmentDeps
  readonly #images: RolloutImage
  readonly #rotation: PasswordRotation
  /** Its last state was not the desired one, so it is compared in every pass. */
  #changing = true
  /** Versions whose variables the cluster may have. */
  readonly #given = new Set<string>()
  /** The cluster may have an autoscaler of it: of the time before this process, or of the last version applied. */
  #mayScale = true
  /** The objects as last applied. */
  #applied = ''
  #podsSeen = ''

  constructor(appEnvId: string, deps: ClusterEnvironmentDeps) {
    this.#appEnvId = appEnvId
    this.#deps = deps
    const wake = () => deps.wake(appEnvId)
    const { clock, log, images, engine } = deps
    const later = (delayMs: number) => void clock.after(delayMs, wake)
    this.#images = new RolloutImage({ clock, log, images, engineOf: () => engine }, wake, later)
    this.#rotation = new PasswordRotation({ ...deps, engineOf: () => engine }, later)
  }

  get isChanging(): boolean {
    return this.#changing
  }

  abort(): void {
    this.#images.abort()
    this.#rotation.abort()
  }

  /** `isOwn`: it is stored, in this region. `isDue`: it was changed, or the time for a comparison has come. */
  async look(observed: Observed | undefined, isOwn: boolean, isDue: boolean): Promise<void> {
    const pods = observed?.pods ?? []
    const seen = JSON.stringify(
      pods.map(({ metadata, status }) => [metadata.uid, metadata.deletionTimestamp, status]),
    )
    if (!isDue && !this.#changing && seen === this.#podsSeen) return
    try {
      if (isDue) this.#applied = ''
      const { ended } = this.#images
      const { db, client, region, clock } = this.#deps
      const isHere = (one: string) => one === region
      const whole = await loadView(db, this.#appEnvId)
      const view = whole && partIn(whole, isHere)
      if (!view || (!isOwn && !view.current && !view.wanted)) {
        this.#images.abort()
        if (!whole) await this.#deps.removeJobs(this.#appEnvId)
        if (observed && !(whole && servesOn(whole, isHere, clock.wallMs())))
          await removeEnvironment(client, observed)
        return
      }
      this.#images.look(view, ended)
      await this.#storePods(view, pods)
      this.#rotation.look(
        view,
        view.pods.filter(({ ready }) => ready),
      )
      // Until it runs in another region, it serves here.
      this.#changing = (await this.#converge(view, observed)) || !isOwn
      this.#podsSeen = seen
    } catch (error) {
      this.#changing = true
      this.#deps.log.warn(
        { err: error, appEnvId: this.#appEnvId },
        'environment is not in its desired state yet; retrying',
      )
    }
  }

  /** Applies what should run; true while it is on its way. */
  async #converge(view: EnvironmentView, observed: Observed | undefined): Promise<boolean> {
    const { environment, app, current, wanted } = view
    const { transitions, client } = this.#deps
    const { appEnvId } = environment
    const next =
      wanted?.rollout.status === 'DEPLOYING' && wanted.rollout.region in wanted.content.images ? wanted : null
    if (environment.changingRegion && environment.desiredState === 'stopped')
      await transitions.settleRegion(appEnvId)
    if (app.isJob) {
      // Its attempts run there, and an account may have jobs only.
      await this.#ensureAccount(view)
      if (next) await transitions.promote(appEnvId, next.rollout.rolloutId)
      return wanted !== null
    }
    const version = next ?? current
    // The first version failed, or was stopped on its way: what it left would go on running.
    if (!version && observed) await removeEnvironment(client, observed, { keepsData: true })
    const refused = version && (await this.#apply(view, version, observed))
    if (!next) return wanted !== null
    const state: RolloutState = refused
      ? { is: 'failed', reason: 'not supported', message: refused }
      : this.#stateOf(view, next, observed)
    if (state.is === 'progressing') return true
    const { rolloutId } = next.rollout
    // Before it is stored that they are over: a program that ends in between finds them again.
    if (!app.isDatabase)
      await this.#dropVariables(view, state.is === 'ready' ? next : current, [current, next])
    if (state.is === 'ready') await transitions.promote(appEnvId, rolloutId)
    else await transitions.fail(appEnvId, rolloutId, { reason: state.reason, message: state.message })
    this.#deps.wake(appEnvId)
    return true
  }

  #stateOf({ app }: EnvironmentView, { rollout }: RolloutView, observed: Observed | undefined): RolloutState {
    const nowMs = this.#deps.clock.wallMs()
    const pods = (observed?.pods ?? []).filter(
      ({ metadata }) => metadata.labels?.[label.rollout] === rollout.rolloutId && !metadata.deletionTimestamp,
    )
    if (app.isDatabase) {
      const { createdAt, settings } = rollout
      return databaseState(pods, { desired: settings.containers, createdAt, nowMs })
    }
    const object = app.isFunction ? observed?.service : observed?.deployment
    const labels = object?.spec?.template?.metadata?.labels
    // Listed before this version was applied.
    if (labels?.[label.rollout] !== rollout.rolloutId) return { is: 'progressing' }
    return app.isFunction ? functionState(object, pods, nowMs) : appState(object, pods)
  }

  /** Returns why the cluster refuses the version; null if it takes it. */
  async #apply(
    view: EnvironmentView,
    version: RolloutView,
    observed: Observed | undefined,
  ): Promise<string | null> {
    const { client, options, secrets } = this.#deps
    const workload = workloadOf(view, version, this.#deps)
    const { accountId } = view.environment
    const namespace = namespaceOf(options, accountId)
    const name = workloadName(workload.envName)
    if (view.app.isFunction && workload.containers === 0) {
      if (observed?.service) await client.delete('KnativeService', namespace, name)
      return null
    }
    const manifests = manifestsOf(view, version, workload, { ...options, secrets }).map((manifest) =>
      withOwner(manifest, observed),
    )
    const text = JSON.stringify(manifests)
    if (text === this.#applied) return null
    await this.#ensureAccount(view)
    this.#given.add(version.rollout.rolloutId)
    for (const manifest of manifests) {
      const refused = await this.#applyOne(manifest, view)
      if (refused !== null) return refused
    }
    if (!workload.autoscaling && this.#mayScale && isRegularApp(view.app.dockerPreset))
      await client.delete('HorizontalPodAutoscaler', namespace, name)
    this.#mayScale = workload.autoscaling !== null
    // Of the time before the region had a gateway.
    if (options.gateway && isRegularApp(view.app.dockerPreset))
      await client.delete('Ingress', namespace, name)
    this.#applied = text
    return null
  }

  async #applyOne(manifest: Manifest, { app, environment, wanted }: EnvironmentView): Promise<string | null> {
    try {
      await this.#deps.client.apply(manifest)
      return null
    } catch (error) {
      const refusal = refusalOf(error)
      // Most storage classes cannot change the size of a volume; only databases have a disk that users choose.
      const isVolume = manifest.kind === 'PersistentVolumeClaim' && refusal?.status === 403
      if (!refusal || (refusal.status !== 422 && !isVolume)) throw error
      if (wanted && (!isVolume || app.isDatabase)) return `The cluster refuses it: ${refusal.reason}`
      if (!isVolume) throw error
      this.#deps.log.warn({ err: error, appEnvId: environment.appEnvId }, 'the volume keeps its size')
      return null
    }
  }

  async #ensureAccount({ account, environment }: EnvironmentView): Promise<void> {
    const { accounts, client, installationId, options } = this.#deps
    const { zCloudLimit } = account.settings
    const key = `${environment.accountId} ${zCloudLimit}`
    if (accounts.has(key)) return
    const manifests: Manifest[] = accountManifests(environment.accountId, installationId, {
      ...options,
      zCloudLimit,
    })
    for (const manifest of manifests) await client.apply(manifest)
    accounts.add(key)
  }

  async #storePods(
    { environment, app, wanted, current }: EnvironmentView,
    pods: WorkloadPod[],
  ): Promise<void> {
    if (app.isJob) return
    const { db, clock, region, followers, client } = this.#deps
    const { zClouds } = (wanted ?? current)?.rollout.settings ?? environment.applied
    const size = {
      cpuMillicores: zClouds * zCloudSize.cpuMillicores,
      memoryMb: zClouds * zCloudSize.memoryMb,
    }
    const { appEnvId } = environment
    const fresh = await storePods(db, { appEnvId, region, ...size }, pods, clock.wallMs())
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

  /** The variables of versions that are over, also of those that were replaced on their way; their pods have read them. */
  async #dropVariables(
    { environment }: EnvironmentView,
    kept: RolloutView | null,
    known: readonly (RolloutView | null)[],
  ): Promise<void> {
    const namespace = namespaceOf(this.#deps.options, environment.accountId)
    for (const version of known) if (version) this.#given.add(version.rollout.rolloutId)
    for (const rolloutId of this.#given) {
      if (rolloutId === kept?.rollout.rolloutId) continue
      const name = secretName({ envName: environment.cliEnvName, rolloutId })
      await this.#deps.client.delete('Secret', namespace, name)
      this.#given.delete(rolloutId)
    }
  }
}

/** Variables and routes go with the workload. It has no id before it was listed; the next pass adds it. */
function withOwner(manifest: Manifest, observed: Observed | undefined): Manifest {
  const owner = observed?.deployment ?? observed?.service
  if (!['Secret', 'HTTPRoute'].includes(manifest.kind) || !owner) return manifest
  const type = observed?.deployment
    ? { apiVersion: 'apps/v1', kind: 'Deployment' }
    : { apiVersion: 'serving.knative.dev/v1', kind: 'Service' }
  const { name, uid } = owner.metadata
  return {
    ...manifest,
    metadata: { ...manifest.metadata, ownerReferences: [{ ...type, name, uid }] },
  }
}
