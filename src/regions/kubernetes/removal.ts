import type { Observed } from './cache.ts'
import type { ClusterClient } from './client.ts'
import { credentialsName } from './databases/workload.ts'
import { label, secretName, volumeClaim } from './manifests/workload.ts'
import type { WorkloadObject } from './status.ts'

/**
 * Removes what the cluster has of an environment that was deleted, or runs in another region now. `keepsData`: it is
 * there, but no version of it should run.
 */
export async function removeEnvironment(
  client: ClusterClient,
  observed: Observed,
  { keepsData = false }: { keepsData?: boolean } = {},
): Promise<void> {
  const { deployment, service, statefulSet, postgres } = observed
  const found = deployment ?? service ?? statefulSet ?? postgres
  if (!found) return
  const { namespace, name, labels } = found.metadata
  const rolloutId = found.spec?.template?.metadata?.labels?.[label.rollout]
  if (deployment) {
    for (const kind of ['Ingress', 'HorizontalPodAutoscaler', 'PodDisruptionBudget'] as const)
      await client.delete(kind, namespace, name)
  }
  if (!service) {
    const selector = `${label.environment}=${labels?.[label.environment]}`
    for (const { metadata } of await client.list<WorkloadObject>('Service', selector))
      await client.delete('Service', namespace, metadata.name)
  }
  if (!keepsData) await client.delete('PersistentVolumeClaim', namespace, volumeClaim(name))
  await client.delete('Secret', namespace, credentialsName(name))
  if (rolloutId) await client.delete('Secret', namespace, secretName({ envName: name, rolloutId }))
  if (postgres) await client.delete('ImageCatalog', namespace, name)
  // Last, because it is what the next pass would find.
  if (service) await client.delete('KnativeService', namespace, name)
  if (deployment) await client.delete('Deployment', namespace, name)
  if (statefulSet) await client.delete('StatefulSet', namespace, name)
  if (postgres) await client.delete('PostgresCluster', namespace, name)
}
