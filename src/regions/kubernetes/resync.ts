import { isNamespaceOf } from '../../domain/environments/cluster-names.ts'
import { keyOf, type ListedObjects, lastWriteOf } from './applied.ts'
import { environmentOf } from './cache.ts'
import type { ClusterClient } from './client.ts'
import type { Kind } from './kinds.ts'
import { type ClusterOptions, label } from './manifests/workload.ts'

/** Kinds that no watch follows. Secrets are not among them: the platform may write but not read them. */
const kinds: readonly Kind[] = [
  ...(['Namespace', 'NetworkPolicy', 'LimitRange', 'ResourceQuota'] as const),
  ...(['Service', 'PersistentVolumeClaim', 'HorizontalPodAutoscaler', 'PodDisruptionBudget'] as const),
]

/** Lists an installation's objects of the kinds that no watch follows, by pages, with metadata only. */
export async function listObjects(
  client: ClusterClient,
  installationId: string,
  { gateway, namespacePrefix }: Pick<ClusterOptions, 'gateway' | 'namespacePrefix'>,
): Promise<ListedObjects> {
  const listed = [...kinds, gateway ? ('HTTPRoute' as const) : ('Ingress' as const)]
  const lastWrites = new Map<string, string>()
  const environments = new Map<string, string[]>()
  for (const kind of listed)
    await client.eachMetadata(kind, `${label.installation}=${installationId}`, (metadata) => {
      const key = keyOf(kind, metadata)
      lastWrites.set(key, lastWriteOf(metadata))
      const appEnvId = environmentOf({ metadata })
      if (appEnvId === '' || !isNamespaceOf(namespacePrefix, metadata.namespace ?? '')) return
      const keys = environments.get(appEnvId) ?? []
      environments.set(appEnvId, [...keys, key])
    })
  return { kinds: new Set(listed), lastWrites, environments }
}
