import { mqttService } from '../../../domain/databases/credentials.ts'
import { workloadName } from '../../../domain/environments/cluster-names.ts'
import { databaseContainer } from '../../../engines/database-container.ts'
import {
  type ClusterOptions,
  containerName,
  label,
  labelsOf,
  type Manifest,
  namespaceOf,
  podLabels,
  volumeClaim,
  volumeClaimManifest,
} from '../manifests/workload.ts'
import { postgresManifests } from './postgres.ts'
import { credentialsName, type DatabaseWorkload } from './workload.ts'

/** Time to write everything to the volume after SIGTERM. */
const graceSeconds = 60

/**
 * Capabilities that the official images need: they start as root, give their data folder away and become an ordinary
 * user.
 */
const capabilities = { drop: ['ALL'], add: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'] }

/**
 * The objects of a managed database, in the order in which they are applied: PostgreSQL is CloudNativePG's, the others
 * are a StatefulSet of one pod.
 */
export function databaseManifests(workload: DatabaseWorkload, options: ClusterOptions): Manifest[] {
  if (workload.database.dockerPreset === 'POSTGRESQL') return postgresManifests(workload, options)
  const namespace = namespaceOf(options, workload.accountId)
  const metadata = { name: workloadName(workload.envName), namespace, labels: labelsOf(workload) }
  const { persistent } = workload.database
  return [
    credentials(workload, metadata),
    ...(persistent ? [volumeClaimManifest(workload.diskMb, options, metadata)] : []),
    ...services(workload, metadata),
    statefulSet(workload, metadata),
  ]
}

type Metadata = Manifest['metadata']

/** Not immutable: a rotated password is in it for the next start. */
function credentials({ database, memoryMb, env }: DatabaseWorkload, metadata: Metadata): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadata, name: credentialsName(metadata.name) },
    type: 'Opaque',
    stringData: { ...env, ...databaseContainer(database, memoryMb).env },
  }
}

function services({ database, mqttHost, appEnvId }: DatabaseWorkload, metadata: Metadata): Manifest[] {
  const service = (name: string, ports: typeof database.ports): Manifest => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...metadata, name },
    spec: {
      selector: { [label.environment]: appEnvId },
      ports: ports.map(({ name, port }) => ({ name, port, targetPort: port, protocol: 'TCP' })),
    },
  })
  const mqtt = mqttService({ mqttHost })
  return [
    service(metadata.name, database.ports),
    // D1: MQTT has a host name of its own.
    ...(mqtt === null
      ? []
      : [
          service(
            mqtt,
            database.ports.filter(({ name }) => name === 'mqtt'),
          ),
        ]),
  ]
}

function statefulSet(workload: DatabaseWorkload, metadata: Metadata): Manifest {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata,
    spec: {
      replicas: Math.min(workload.containers, 1),
      revisionHistoryLimit: 1,
      serviceName: metadata.name,
      // With the default policy, a version that does not start could not be replaced by the one before.
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: { [label.environment]: workload.appEnvId } },
      template: { metadata: { labels: podLabels(workload) }, spec: podSpec(workload, metadata) },
    },
  }
}

function podSpec(workload: DatabaseWorkload, { name }: Metadata): object {
  const { database, memoryMb, cpuMillicores, image } = workload
  const { entrypoint, cmd, dataPath } = databaseContainer(database, memoryMb)
  const memory = `${memoryMb}Mi`
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: graceSeconds,
    containers: [
      {
        name: containerName,
        image,
        ...(entrypoint ? { command: entrypoint } : {}),
        ...(cmd ? { args: cmd } : {}),
        ports: database.ports.map(({ name, port }) => ({ name, containerPort: port })),
        envFrom: [{ secretRef: { name: credentialsName(name) } }],
        resources: {
          limits: { cpu: `${cpuMillicores}m`, memory },
          requests: { cpu: `${Math.ceil(cpuMillicores / 10)}m`, memory },
        },
        readinessProbe: { tcpSocket: { port: database.ports[0]!.port }, periodSeconds: 2, timeoutSeconds: 2 },
        securityContext: {
          allowPrivilegeEscalation: false,
          capabilities,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        volumeMounts: [{ name: 'data', mountPath: dataPath }],
      },
    ],
    volumes: [
      {
        name: 'data',
        // Without persistence the data goes with the pod.
        ...(database.persistent
          ? { persistentVolumeClaim: { claimName: volumeClaim(name) } }
          : { emptyDir: { sizeLimit: `${workload.diskMb}Mi` } }),
      },
    ],
  }
}
