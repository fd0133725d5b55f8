import { keyOf, type ListedObjects, lastWriteOf } from './applied.ts'
import type { ClusterClient, Kind } from './client.ts'
import { type ClusterOptions, label } from './manifests/workload.ts'

/** Kinds that no watch follows. Secrets are not among them: the platform may write but not read them. */
const kinds: readonly Kind[] = [
  ...(['Namespace', 'NetworkPolicy', 'LimitRange', 'ResourceQuota'] as const),
  ...(['Service', 'PersistentVolumeClaim', 'HorizontalPodAutoscaler', 'PodDisruptionBudget'] as const),
]

/** What the cluster has of an installation of the kinds that no watch follows, by pages, and only who wrote it when. */
export async function listObjects(
  client: ClusterClient,
  installationId: string,
  { gateway }: Pick<ClusterOptions, 'gateway'>,
): Promise<ListedObjects> {
  const listed = [...kinds, gateway ? ('HTTPRoute' as const) : ('Ingress' as const)]
  const lastWrites = new Map<string, string>()
  for (const kind of listed)
    await client.eachMetadata(kind, `${label.installation}=${installationId}`, (metadata) => {
      lastWrites.set(keyOf(kind, metadata), lastWriteOf(metadata))
    })
  return { kinds: new Set(listed), lastWrites }
}
