import type { Autoscaling } from '../../../contract/app-envs.ts'
import type { FunctionConfig } from '../../../contract/function-config.ts'
import type { HealthCheck } from '../../../contract/health.ts'
import { clusterNamespace, dnsName, workloadName } from '../../../domain/environments/cluster-names.ts'

/** One version of an environment in a cluster region, with its settings and decrypted variables. */
export interface Workload {
  installationId: string
  accountId: string
  appEnvId: string
  /** `cliEnvName`, unique in the installation. */
  envName: string
  rolloutId: string
  contentId: string
  image: string
  port: number
  env: Readonly<Record<string, string>>
  /** 0 while the environment is stopped. */
  containers: number
  /**
   * Its volume is being copied: afterwards the version starts with another template, so that the cluster reports new
   * progress.
   */
  isHeld?: boolean
  cpuMillicores: number
  memoryMb: number
  healthCheck: HealthCheck
  /** Null for a number of containers that only users change. */
  autoscaling: Autoscaling | null
  /** Functions only. */
  functionConfig: FunctionConfig | null
  /** Functions only: containers that stay while there is no request (F11). */
  warm: number
  /** A persistent volume, with one container at most. */
  volume: { mountPath: string; diskMb: number } | null
}

/** The settings of the cluster in the regions file. */
export interface ClusterOptions {
  namespacePrefix: string
  appDomain: string
  ingressClass?: string | undefined
  /** In place of an Ingress: routes of this Gateway. */
  gateway?: { name: string; namespace: string; listener?: string | undefined } | undefined
  /** Only for an Ingress: the certificate of its controller, or one for each app by cert-manager. */
  tls?: 'default' | { clusterIssuer: string } | undefined
  /** For the ingress or the Gateway: of each app's route, and of its Service. */
  annotations?: { route: Record<string, string>; service: Record<string, string> } | undefined
  storageClass?: string | undefined
  /** Level for the namespaces of accounts; `restricted` takes only images that run as another user than root. */
  podSecurity?: 'baseline' | 'restricted' | undefined
}

export interface Manifest {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    namespace?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
    ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string }[]
  }
  [key: string]: unknown
}

export const label = {
  installation: 'longshore.dev/installation',
  account: 'longshore.dev/account',
  environment: 'longshore.dev/environment',
  content: 'longshore.dev/content',
  rollout: 'longshore.dev/rollout',
} as const

export const containerName = 'app'

export function namespaceOf({ namespacePrefix }: ClusterOptions, accountId: string): string {
  return clusterNamespace(namespacePrefix, accountId)
}

export function labelsOf(workload: Workload): Record<string, string> {
  return {
    [label.installation]: workload.installationId,
    [label.account]: workload.accountId,
    [label.environment]: workload.appEnvId,
  }
}

export const heldAnnotation = 'longshore.dev/held'

/** `metadata` with annotations besides its own. */
export function annotated(metadata: Manifest['metadata'], more: Record<string, string> = {}) {
  const annotations = { ...metadata.annotations, ...more }
  return Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations }
}

/** Labels of the pods of one version. */
export function podLabels(workload: Workload): Record<string, string> {
  return { ...labelsOf(workload), [label.content]: workload.contentId, [label.rollout]: workload.rolloutId }
}

/** The Secret with the variables of one version; pods of the version before keep theirs until they end. */
export function variablesSecret(workload: Workload, namespace: string): Manifest[] {
  if (!hasVariables(workload)) return []
  const metadata = { name: secretName(workload), namespace, labels: podLabels(workload) }
  return [
    { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', immutable: true, stringData: workload.env },
  ]
}

/** Without a Secret, a node does not have to read one before it starts the container. */
function hasVariables({ env }: Workload): boolean {
  return Object.keys(env).length > 0
}

export function secretName({ envName, rolloutId }: Pick<Workload, 'envName' | 'rolloutId'>): string {
  return `${workloadName(envName)}-${dnsName(rolloutId.replace(/^rol_/, ''))}`.slice(0, 63)
}

/** The claim of the volume of an environment. */
export function volumeClaim(workload: string): string {
  return `${workload}-data`
}

export function workloadOfClaim(claim: string): string {
  return claim.replace(/-data$/, '')
}

export function volumeClaimManifest(
  diskMb: number,
  { storageClass }: ClusterOptions,
  metadata: Manifest['metadata'],
): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { ...metadata, name: volumeClaim(metadata.name) },
    spec: {
      accessModes: ['ReadWriteOnce'],
      ...(storageClass ? { storageClassName: storageClass } : {}),
      resources: { requests: { storage: `${diskMb}Mi` } },
    },
  }
}

/** The container of an app or a function: the parts that they share. */
export function container(workload: Workload, options: ClusterOptions): Record<string, unknown> {
  const { cpuMillicores, memoryMb, port, image } = workload
  const memory = `${memoryMb}Mi`
  return {
    name: containerName,
    image,
    ports: [{ containerPort: port }],
    ...(hasVariables(workload) && { envFrom: [{ secretRef: { name: secretName(workload) } }] }),
    resources: {
      limits: { cpu: `${cpuMillicores}m`, memory },
      // The whole memory is reserved, and a tenth of the CPU: idle CPU is shared.
      requests: { cpu: `${Math.ceil(cpuMillicores / 10)}m`, memory },
    },
    securityContext: securityContext(options),
  }
}

/** The requirements of Pod Security `restricted`; a user other than root only where the region requires it. */
export function securityContext({ podSecurity }: Pick<ClusterOptions, 'podSecurity'>): object {
  return {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
    ...(podSecurity === 'restricted' ? { runAsNonRoot: true } : {}),
  }
}
