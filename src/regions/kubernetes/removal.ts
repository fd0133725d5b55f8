import { isNamespaceOf } from '../../domain/environments/cluster-names.ts'
import { type Observed, workloadsIn } from './cache.ts'
import type { ClusterClient, ObjectMetadata } from './client.ts'
import { credentialsName } from './databases/workload.ts'
import type { Kind } from './kinds.ts'
import { copyLabel } from './manifests/volume-copy.ts'
import { type ClusterOptions, label, secretName, workloadOfClaim } from './manifests/workload.ts'

interface RemovalDeps {
  client: ClusterClient
  installationId: string
  options: ClusterOptions
}

interface Removal {
  appEnvId: string
  observed: Observed | undefined
  /** Secrets that the cluster may have: their names, and the namespace of each. They cannot be listed. */
  secrets: ReadonlyMap<string, string>
  /** The environment exists, but no version of it should run: its volume stays. */
  keepsData: boolean
  /** The environment was deleted: also end copies of its volume, which would otherwise keep it until they end. */
  endsCopies: boolean
}

/**
 * Removes the objects of an environment that was deleted, or runs in another region now. Selects by its label and by the
 * ids of objects, never by their names, which another environment may have by now.
 */
export async function removeEnvironment(
  deps: RemovalDeps,
  { appEnvId, observed, secrets, keepsData, endsCopies }: Removal,
): Promise<void> {
  const { client, options } = deps
  const workloads = workloadsIn(observed)
  const services = await labeled(deps, 'Service', label.environment, appEnvId)
  const volumes = await labeled(deps, 'PersistentVolumeClaim', label.environment, appEnvId)
  const names = [
    ...[...workloads.map(([, { metadata }]) => metadata), ...services],
    ...volumes.map((one) => ({ ...one, name: workloadOfClaim(one.name) })),
  ]
  const kinds: Kind[] = ['Ingress', 'HorizontalPodAutoscaler', 'PodDisruptionBudget']
  if (options.gateway) kinds.push('HTTPRoute')
  if (observed?.postgres) kinds.push('ImageCatalog')
  for (const kind of kinds) await remove(client, kind, await labeled(deps, kind, label.environment, appEnvId))
  await remove(client, 'Service', services)
  for (const [name, namespace] of [...secrets, ...secretsOf(names, observed)]) {
    const found = await client.identify('Secret', namespace, name)
    if (found?.labels?.[label.environment] === appEnvId) await client.deleteOne('Secret', found)
  }
  if (endsCopies) await remove(client, 'Job', await labeled(deps, 'Job', copyLabel, appEnvId))
  if (!keepsData) await remove(client, 'PersistentVolumeClaim', volumes)
  // Last, so that after a failure the next pass finds the workloads and repeats the other steps.
  for (const [kind, { metadata }] of workloads) await client.deleteOne(kind, metadata)
}

/** Removes the volumes of an environment that moved away. */
export async function removeVolumes(deps: RemovalDeps, appEnvId: string): Promise<void> {
  const kind = 'PersistentVolumeClaim'
  await remove(deps.client, kind, await labeled(deps, kind, label.environment, appEnvId))
}

/** Objects of this region with a label; another region may have its own in the same cluster. */
async function labeled(
  { client, installationId, options }: RemovalDeps,
  kind: Kind,
  by: string,
  appEnvId: string,
): Promise<ObjectMetadata[]> {
  const found: ObjectMetadata[] = []
  const selector = `${label.installation}=${installationId},${by}=${appEnvId}`
  await client.eachMetadata(kind, selector, (metadata) => {
    if (isNamespaceOf(options.namespacePrefix, metadata.namespace ?? '')) found.push(metadata)
  })
  return found
}

/** Objects that an operator made are left out: they are removed with the object they belong to. */
async function remove(client: ClusterClient, kind: Kind, objects: readonly ObjectMetadata[]): Promise<void> {
  for (const one of objects)
    if (!one.deletionTimestamp && !one.ownerReferences?.some(({ controller }) => controller))
      await client.deleteOne(kind, one)
}

/** The credentials of a database, and the variables of the versions that run. */
function secretsOf(
  names: readonly Pick<ObjectMetadata, 'name' | 'namespace'>[],
  observed: Observed | undefined,
): Map<string, string> {
  const templates = workloadsIn(observed).map(([, { spec }]) => spec?.template?.metadata)
  const pods = observed?.pods.map(({ metadata }) => metadata) ?? []
  const rollouts = new Set([...templates, ...pods].flatMap((one) => one?.labels?.[label.rollout] ?? []))
  const found = new Map<string, string>()
  for (const { namespace = '', name } of names) {
    found.set(credentialsName(name), namespace)
    for (const rolloutId of rollouts) found.set(secretName({ envName: name, rolloutId }), namespace)
  }
  return found
}
