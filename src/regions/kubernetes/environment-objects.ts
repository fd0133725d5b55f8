import { isRegularApp } from '../../domain/apps/presets.ts'
import { workloadName } from '../../domain/environments/cluster-names.ts'
import type { Log } from '../../log.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import type { EnvironmentView, RolloutView } from '../rollouts/environment-view.ts'
import type { ClusterAccounts } from './accounts.ts'
import { AppliedObjects, keyOf, type ListedObjects } from './applied.ts'
import { type Observed, workloadsIn } from './cache.ts'
import { type ClusterClient, refusalOf } from './client.ts'
import { type ClusterOptions, type Manifest, namespaceOf, secretName } from './manifests/workload.ts'
import { type NameClaims, OwnedNames } from './owned-names.ts'
import { removeEnvironment } from './removal.ts'
import { manifestsOf, workloadOf } from './workload-of.ts'

export interface EnvironmentObjectsDeps {
  options: ClusterOptions
  installationId: string
  client: ClusterClient
  log: Log
  secrets: SecretBox
  clockScale: number
  accounts: ClusterAccounts
  claims: NameClaims
}

/** The objects of one environment in a cluster. */
export class EnvironmentObjects {
  readonly #appEnvId: string
  readonly #deps: EnvironmentObjectsDeps
  readonly #applied = new AppliedObjects()
  readonly #names: OwnedNames
  /** Secrets that the cluster may have: their names, and the namespace of each. */
  readonly #secrets = new Map<string, string>()
  /** The cluster may have an autoscaler of it: of the time before this process, or of the last version applied. */
  #mayScale = true
  /** The cluster may still have an Ingress from before the region had a gateway. */
  #mayHaveIngress = true

  constructor(appEnvId: string, deps: EnvironmentObjectsDeps) {
    this.#appEnvId = appEnvId
    this.#deps = deps
    this.#names = new OwnedNames(appEnvId, deps)
  }

  /** The next `apply` applies all objects, even unchanged ones. */
  forget(): void {
    this.#applied.clear()
  }

  /** Whether its workload is gone, or was changed by others since it was applied. */
  isDrifted(observed: Observed | undefined): boolean {
    return this.#applied.isDrifted(observed)
  }

  /** Whether the objects are as they were applied. */
  compare(listed: ListedObjects): boolean {
    this.#names.add(listed.environments.get(this.#appEnvId) ?? [])
    return this.#applied.isAsListed(listed)
  }

  /**
   * Applies objects that differ from the last applied ones. Returns why the cluster refuses the version; null if it accepts
   * it. Throws while the cluster has objects of a deleted environment of the same name.
   */
  async apply(
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
      this.forget()
      if (observed?.service) await client.deleteOne('KnativeService', observed.service.metadata)
      return null
    }
    const manifests = manifestsOf(view, version, workload, { ...options, secrets }).map((manifest) =>
      withOwner(manifest, observed),
    )
    const isOther = (manifest: Manifest) => !this.#applied.has(manifest)
    const others = manifests.filter(isOther)
    if (others.length > 0) await this.ensureAccount(view)
    this.#names.add(workloadsIn(observed).map(([kind, { metadata }]) => keyOf(kind, metadata)))
    await this.#names.require(`${namespace}/${name}`, others)
    for (const manifest of others) {
      if (manifest.kind === 'Secret') this.#secrets.set(manifest.metadata.name, namespace)
      const refused = await this.#applyOne(manifest, view)
      if (refused !== null) return refused
    }
    this.#applied.keepOnly(manifests)
    if (!isRegularApp(view.app.dockerPreset)) return null
    if (!workload.autoscaling && this.#mayScale)
      await client.delete('HorizontalPodAutoscaler', namespace, name)
    this.#mayScale = workload.autoscaling !== null
    if (options.gateway && this.#mayHaveIngress) await client.delete('Ingress', namespace, name)
    this.#mayHaveIngress = false
    return null
  }

  ensureAccount({ account, environment }: EnvironmentView): Promise<void> {
    return this.#deps.accounts.ensure(environment.accountId, account.settings)
  }

  /** Removes the variables of versions that have ended or were replaced in progress; their pods have read them. */
  async dropVariables(
    { environment }: EnvironmentView,
    kept: RolloutView | null,
    known: readonly (RolloutView | null)[],
  ): Promise<void> {
    const namespace = namespaceOf(this.#deps.options, environment.accountId)
    const nameOf = ({ rollout: { rolloutId } }: RolloutView) =>
      secretName({ envName: environment.cliEnvName, rolloutId })
    for (const version of known) if (version) this.#secrets.set(nameOf(version), namespace)
    const keptName = kept && nameOf(kept)
    for (const name of this.#secrets.keys()) {
      if (name === keptName) continue
      await this.#deps.client.delete('Secret', namespace, name)
      this.#secrets.delete(name)
    }
  }

  /** `keepsData`: the environment exists, but no version of it should run; `endsCopies`: it was deleted. */
  async remove(
    observed: Observed | undefined,
    { keepsData = false, endsCopies = false } = {},
  ): Promise<void> {
    this.forget()
    const { client, installationId, options } = this.#deps
    const removal = { appEnvId: this.#appEnvId, observed, secrets: this.#secrets, keepsData, endsCopies }
    await removeEnvironment({ client, installationId, options }, removal)
    this.#secrets.clear()
  }

  /** Frees the names once no more objects of the environment are applied: another environment may take them. */
  release(): void {
    this.#names.release()
  }

  async #applyOne(manifest: Manifest, { app, environment, wanted }: EnvironmentView): Promise<string | null> {
    const { client, accounts, log } = this.#deps
    try {
      this.#applied.add(manifest, await client.apply(manifest))
      return null
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal?.status === 404) accounts.forget(environment.accountId)
      // Most storage classes cannot change the size of a volume; only databases have a disk that users choose.
      const isVolume = manifest.kind === 'PersistentVolumeClaim' && refusal?.status === 403
      if (!refusal || (refusal.status !== 422 && !isVolume)) throw error
      if (wanted && (!isVolume || app.isDatabase)) return `The cluster refuses it: ${refusal.reason}`
      if (!isVolume) throw error
      this.#applied.add(manifest, null)
      log.warn({ err: error, appEnvId: environment.appEnvId }, 'the volume keeps its size')
      return null
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
