import { workloadName } from '../../../domain/environments/cluster-names.ts'
import {
  type ClusterOptions,
  labelsOf,
  type Manifest,
  namespaceOf,
  podLabels,
} from '../manifests/workload.ts'
import { credentialsName, type DatabaseWorkload } from './workload.ts'

/** The user of the official images and of those that build on them. */
const postgresId = 999

/**
 * PostgreSQL by CloudNativePG, whose operator makes replicas, fails over and keeps the Services. The catalog gives it
 * images whose tag it cannot read a version from, such as those with vector search.
 */
export function postgresManifests(workload: DatabaseWorkload, options: ClusterOptions): Manifest[] {
  const namespace = namespaceOf(options, workload.accountId)
  const metadata = { name: workloadName(workload.envName), namespace, labels: labelsOf(workload) }
  const { database, image } = workload
  const major = Number.parseInt(database.version, 10)
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...metadata, name: credentialsName(metadata.name) },
      type: 'kubernetes.io/basic-auth',
      stringData: { username: database.user, password: database.password },
    },
    {
      apiVersion: 'postgresql.cnpg.io/v1',
      kind: 'ImageCatalog',
      metadata,
      spec: { images: [{ major, image }] },
    },
    {
      apiVersion: 'postgresql.cnpg.io/v1',
      kind: 'Cluster',
      metadata: {
        ...metadata,
        // Stopped: the volumes stay.
        annotations: { 'cnpg.io/hibernation': workload.containers === 0 ? 'on' : 'off' },
      },
      spec: clusterSpec(workload, options, { name: metadata.name, major }),
    },
  ]
}

function clusterSpec(
  workload: DatabaseWorkload,
  { storageClass }: ClusterOptions,
  { name, major }: { name: string; major: number },
): object {
  const { database, memoryMb, cpuMillicores, diskMb } = workload
  const memory = `${memoryMb}Mi`
  return {
    // A hibernated cluster keeps its number.
    instances: Math.max(workload.containers, 1),
    imageCatalogRef: { apiGroup: 'postgresql.cnpg.io', kind: 'ImageCatalog', name, major },
    // D4: fixed for the life of the cluster.
    postgresUID: postgresId,
    postgresGID: postgresId,
    inheritedMetadata: { labels: podLabels(workload) },
    bootstrap: {
      initdb: {
        database: database.database,
        owner: database.user,
        secret: { name: credentialsName(name) },
        // As on a machine: backups and restores of the platform replace the whole database.
        postInitSQL: [`alter role "${database.user}" superuser`],
      },
    },
    postgresql: { parameters: { shared_buffers: `${Math.floor(memoryMb / 4)}MB`, ...database.parameters } },
    storage: {
      size: `${diskMb}Mi`,
      ...(storageClass ? { storageClass } : {}),
    },
    resources: {
      limits: { cpu: `${cpuMillicores}m`, memory },
      requests: { cpu: `${Math.ceil(cpuMillicores / 10)}m`, memory },
    },
    enablePDB: workload.containers > 1,
    managed: { services: { disabledDefaultServices: ['r'] } },
  }
}
