import type { Clock } from '../../clock.ts'
import { isRegularApp } from '../../domain/apps/presets.ts'
import { workloadName } from '../../domain/environments/cluster-names.ts'
import { zCloudSize } from '../../domain/environments/environment.ts'
import { effectiveFunctionConfig, warmContainers } from '../../domain/functions/config.ts'
import type { Engine } from '../../engines/engine.ts'
import type { Log } from '../../log.ts'
import type { Db } from '../../store/db.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import type { LogFollowers } from '../logs/followers.ts'
import { variablesFor } from '../rollouts/container-settings.ts'
import { type EnvironmentView, loadView, type RolloutView } from '../rollouts/environment-view.ts'
import { RolloutImage } from '../rollouts/image.ts'
import type { ImageBuilder } from '../rollouts/image-builder.ts'
import type { RolloutWriter } from '../rollouts/writer.ts'
import type { Observed } from './cache.ts'
import type { ClusterClient } from './client.ts'
import { podLines } from './log-lines.ts'
import { accountManifests } from './manifests/account.ts'
import { appManifests, volumeClaim } from './manifests/app.ts'
import { functionManifests } from './manifests/function.ts'
import {
  type ClusterOptions,
  label,
  type Manifest,
  namespaceOf,
  secretName,
  type Workload,
} from './manifests/workload.ts'
import { podIdOf, storePods } from './pods.ts'
import { appState, functionState, type RolloutState, type WorkloadPod } from './status.ts'

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
}

/** One environment in a cluster: applies its objects, and stores what became of them. */
export class ClusterEnvironment {
  readonly #appEnvId: string
  readonly #deps: ClusterEnvironmentDeps
  readonly #images: RolloutImage
  /** Its last state was not the desired one, so it is compared in every pass. */
  #changing = true
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
  }

  get isChanging(): boolean {
    return this.#changing
  }

  abort(): void {
    this.#images.abort()
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
      const view = isOwn ? await loadView(this.#deps.db, this.#appEnvId) : null
      if (!view) return await this.#remove(observed)
      this.#images.look(view, ended)
      await this.#storePods(view, pods)
      this.#changing = await this.#converge(view, observed)
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
    const { transitions } = this.#deps
    const { appEnvId } = environment
    const next =
      wanted?.rollout.status === 'DEPLOYING' && wanted.rollout.region in wanted.content.images ? wanted : null
    if (!app.isFunction && !isRegularApp(app.dockerPreset)) {
      if (next && app.isJob) await transitions.promote(appEnvId, next.rollout.rolloutId)
      if (next && !app.isJob)
        await transitions.fail(appEnvId, next.rollout.rolloutId, {
          reason: 'not supported',
          message: 'This region runs no databases yet. Create the environment in another region.',
        })
      return wanted !== null
    }
    const version = next ?? current
    if (version) await this.#apply(view, version, observed)
    if (!next) return wanted !== null
    const state = this.#stateOf(view, next, observed)
    if (state.is === 'progressing') return true
    const { rolloutId } = next.rollout
    if (state.is === 'ready') await transitions.promote(appEnvId, rolloutId)
    else await transitions.fail(appEnvId, rolloutId, { reason: state.reason, message: state.message })
    // The variables of the version that is over; its pods have read them.
    const over = state.is === 'ready' ? current : next
    if (over && over.rollout.rolloutId !== (state.is === 'ready' ? rolloutId : current?.rollout.rolloutId))
      await this.#dropVariables(view, over)
    this.#deps.wake(appEnvId)
    return true
  }

  #stateOf({ app }: EnvironmentView, { rollout }: RolloutView, observed: Observed | undefined): RolloutState {
    const object = app.isFunction ? observed?.service : observed?.deployment
    const labels = object?.spec?.template?.metadata?.labels
    // Listed before this version was applied.
    if (labels?.[label.rollout] !== rollout.rolloutId) return { is: 'progressing' }
    const pods = (observed?.pods ?? []).filter(
      ({ metadata }) => metadata.labels?.[label.rollout] === rollout.rolloutId && !metadata.deletionTimestamp,
    )
    return app.isFunction ? functionState(object, pods, this.#deps.clock.wallMs()) : appState(object, pods)
  }

  async #apply(view: EnvironmentView, version: RolloutView, observed: Observed | undefined): Promise<void> {
    const { client, options } = this.#deps
    const workload = this.#workload(view, version)
    const { accountId } = view.environment
    const namespace = namespaceOf(options, accountId)
    const name = workloadName(workload.envName)
    if (view.app.isFunction && workload.containers === 0) {
      if (observed?.service) await client.delete('KnativeService', namespace, name)
      return
    }
    const manifests = (
      view.app.isFunction ? functionManifests(workload, options) : appManifests(workload, options)
    ).map((manifest) => withOwner(manifest, observed))
    const text = JSON.stringify(manifests)
    if (text === this.#applied) return
    await this.#ensureAccount(view)
    for (const manifest of manifests) await client.apply(manifest)
    if (!workload.autoscaling && !view.app.isFunction)
      await client.delete('HorizontalPodAutoscaler', namespace, name)
    this.#applied = text
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

  #workload({ environment, app, account, current }: EnvironmentView, version: RolloutView): Workload {
    const { rollout, content, healthCheck } = version
    const { settings } = rollout
    const containers = version === current ? environment.applied.containers : settings.containers
    const isAutoscaled =
      environment.autoscaling.enabled && account.settings.allowAutoScaling && !app.isFunction
    const { functionConfig: given } = version === current ? environment.applied : settings
    const effective = app.isFunction ? effectiveFunctionConfig(given, account.settings) : null
    const idleTimeoutSeconds = Math.ceil((effective?.idleTimeoutSeconds ?? 0) / this.#deps.clockScale)
    const functionConfig = effective && { ...effective, idleTimeoutSeconds }
    return {
      installationId: this.#deps.installationId,
      accountId: environment.accountId,
      appEnvId: environment.appEnvId,
      envName: environment.cliEnvName,
      rolloutId: rollout.rolloutId,
      contentId: content.contentId,
      image: content.images[rollout.region] ?? '',
      port: app.port ?? 8080,
      env: variablesFor('DEPLOY', settings, environment.appEnvId, this.#deps.secrets),
      containers: environment.desiredState === 'running' ? containers : 0,
      cpuMillicores: settings.zClouds * zCloudSize.cpuMillicores,
      memoryMb: settings.zClouds * zCloudSize.memoryMb,
      healthCheck: {
        ...healthCheck,
        stabilitySeconds: Math.ceil(healthCheck.stabilitySeconds / this.#deps.clockScale),
      },
      autoscaling: isAutoscaled ? environment.autoscaling : null,
      functionConfig,
      warm: functionConfig ? warmContainers(functionConfig, account.settings) : 0,
      volume:
        settings.useVolume && settings.mountPath !== null
          ? { mountPath: settings.mountPath, diskMb: settings.zClouds * zCloudSize.diskMb }
          : null,
    }
  }

  async #storePods(
    { environment, app, wanted, current }: EnvironmentView,
    pods: WorkloadPod[],
  ): Promise<void> {
    if (app.isJob || app.isDatabase) return
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
          podLines(client, { namespace, name }, how),
      }
      followers.follow(source, {
        ...{ appEnvId, podName: name, containerName: name, contentId: labels[label.content] ?? '' },
        ...{ type: 'RUNTIME', origin: { rolloutId: labels[label.rollout] ?? '' } },
        isNew: fresh.includes(podIdOf(pod)),
      })
    }
  }

  async #dropVariables({ environment }: EnvironmentView, { rollout }: RolloutView): Promise<void> {
    const namespace = namespaceOf(this.#deps.options, environment.accountId)
    const name = secretName({ envName: environment.cliEnvName, rolloutId: rollout.rolloutId })
    await this.#deps.client.delete('Secret', namespace, name)
  }

  /** The environment was deleted, or runs in another region now. */
  async #remove(observed: Observed | undefined): Promise<void> {
    this.#images.abort()
    const found = observed?.deployment ?? observed?.service
    if (!found) return
    const { namespace, name } = found.metadata
    const { client } = this.#deps
    const rolloutId = found.spec?.template?.metadata?.labels?.[label.rollout]
    for (const kind of ['Ingress', 'Service', 'HorizontalPodAutoscaler', 'PodDisruptionBudget'] as const)
      if (observed?.deployment) await client.delete(kind, namespace, name)
    await client.delete('PersistentVolumeClaim', namespace, volumeClaim(name))
    if (rolloutId) await client.delete('Secret', namespace, secretName({ envName: name, rolloutId }))
    // Last, because it is what the next pass would find.
    if (observed?.service) await client.delete('KnativeService', namespace, name)
    if (observed?.deployment) await client.delete('Deployment', namespace, name)
  }
}

/** The variables of every version go with the workload. It has no id before it was listed; the next pass adds it. */
function withOwner(manifest: Manifest, observed: Observed | undefined): Manifest {
  const owner = observed?.deployment ?? observed?.service
  if (manifest.kind !== 'Secret' || !owner) return manifest
  const type = observed?.deployment
    ? { apiVersion: 'apps/v1', kind: 'Deployment' }
    : { apiVersion: 'serving.knative.dev/v1', kind: 'Service' }
  const { name, uid } = owner.metadata
  return {
    ...manifest,
    metadata: { ...manifest.metadata, ownerReferences: [{ ...type, name, uid }] },
  }
}
