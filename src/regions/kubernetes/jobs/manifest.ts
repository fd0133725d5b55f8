import type { ContainerSpec } from '../../../engines/engine.ts'
import { keepingPath } from '../../../engines/login-shell.ts'
import { type ClusterOptions, containerName, type Manifest, securityContext } from '../manifests/workload.ts'

/** Labels of everything that belongs to one attempt of a job run. */
export const jobLabels = {
  installation: 'longshore.dev/installation',
  kind: 'longshore.dev/kind',
  environment: 'longshore.dev/environment',
  content: 'longshore.dev/content',
  attempt: 'longshore.dev/attempt',
  /** The name of the container, which is that of the Job too. */
  name: 'longshore.dev/name',
} as const

export const jobKind = 'job-attempt'
/**
 * Keeps each pod of a Job from starting until Longshore has chosen it. Kubernetes makes another pod when an answer of the
 * API server is lost, and documents that a program may therefore run twice.
 */
const startGate = 'longshore.dev/start'
/** Annotation of the Job: the name of the pod that was chosen. */
export const chosenPod = 'longshore.dev/pod'
const graceSeconds = 10
const mostSurplusPods = 20

interface JobManifestOptions {
  installationId: string
  namespace: string
  podSecurity?: ClusterOptions['podSecurity']
  /** The claim of each volume of the environment. */
  claimOf(volume: string): string
}

/**
 * The Secret with the variables of an attempt and its Job, to be applied in this order. One pod of the Job is started and
 * never another: the scheduler decides about retries, and a new attempt has a new name.
 */
export function jobManifests(
  spec: ContainerSpec,
  options: JobManifestOptions,
): [secret: Manifest, job: Manifest] {
  const labels = {
    [jobLabels.installation]: options.installationId,
    [jobLabels.kind]: jobKind,
    [jobLabels.environment]: spec.appEnvId,
    [jobLabels.content]: spec.contentId,
    [jobLabels.attempt]: spec.podId,
    [jobLabels.name]: spec.name,
  }
  const metadata = { name: spec.name, namespace: options.namespace, labels }
  return [
    { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', stringData: spec.env, immutable: true },
    {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata,
      spec: {
        completions: 1,
        parallelism: 1,
        podReplacementPolicy: 'Failed',
        // A surplus pod that the cluster takes away again counts as failed. It must not end the Job of the pod that runs.
        backoffLimit: mostSurplusPods,
        podFailurePolicy: {
          rules: [
            { action: 'FailJob', onExitCodes: { containerName, operator: 'NotIn', values: [0] } },
            { action: 'FailJob', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          ],
        },
        template: { metadata: { labels }, spec: podSpec(spec, options) },
      },
    },
  ]
}

function podSpec(spec: ContainerSpec, { claimOf, podSecurity }: JobManifestOptions): object {
  const mounts = spec.mounts ?? []
  return {
    schedulingGates: [{ name: startGate }],
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: graceSeconds,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    containers: [
      {
        name: containerName,
        image: spec.image,
        ...(spec.command ? { command: keepingPath(spec.command) } : {}),
        ...(spec.workingDir ? { workingDir: spec.workingDir } : {}),
        envFrom: [{ secretRef: { name: spec.name } }],
        resources: resourcesOf(spec),
        securityContext: securityContext({ podSecurity }),
        ...(mounts.length > 0
          ? { volumeMounts: mounts.map(({ volume, path }) => ({ name: volume, mountPath: path })) }
          : {}),
      },
    ],
    ...(mounts.length > 0
      ? {
          volumes: mounts.map(({ volume }) => ({
            name: volume,
            persistentVolumeClaim: { claimName: claimOf(volume) },
          })),
        }
      : {}),
  }
}

/** The whole memory is reserved, and a tenth of the CPU: idle CPU is shared. */
function resourcesOf({ cpuMillicores, memoryMb }: ContainerSpec): object {
  const memory = `${memoryMb}Mi`
  return {
    limits: { cpu: `${cpuMillicores}m`, memory },
    requests: { cpu: `${Math.ceil(cpuMillicores / 10)}m`, memory },
  }
}
