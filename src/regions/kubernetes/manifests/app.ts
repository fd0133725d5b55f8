import { workloadName } from '../../../domain/environments/cluster-names.ts'
import { routeManifest } from './route.ts'
import {
  annotated,
  type ClusterOptions,
  container,
  heldAnnotation,
  label,
  labelsOf,
  type Manifest,
  namespaceOf,
  podLabels,
  variablesSecret,
  volumeClaim,
  volumeClaimManifest,
  type Workload,
} from './workload.ts'

/** Requests that reach a terminating pod are still answered: the ingress takes a moment to remove it. */
const drainSeconds = 5
const graceSeconds = 45
/** Pods of an unreachable node are replaced after this time, not after the usual five minutes. */
const shortTolerations = ['not-ready', 'unreachable'].map((condition) => ({
  ...{ key: `node.kubernetes.io/${condition}`, operator: 'Exists', effect: 'NoExecute' },
  tolerationSeconds: 10,
}))

/** The objects of an app, in the order in which they are applied. */
export function appManifests(workload: Workload, options: ClusterOptions): Manifest[] {
  const namespace = namespaceOf(options, workload.accountId)
  const metadata = { name: workloadName(workload.envName), namespace, labels: labelsOf(workload) }
  return [
    ...variablesSecret(workload, namespace),
    ...(workload.volume ? [volumeClaimManifest(workload.volume.diskMb, options, metadata)] : []),
    deployment(workload, options, metadata),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: annotated(metadata, options.annotations?.service),
      spec: {
        selector: selectorOf(workload),
        ports: [{ port: 80, targetPort: workload.port, protocol: 'TCP' }],
      },
    },
    routeManifest(hostName(workload, options), options, metadata),
    ...(workload.containers > 0 ? scaling(workload, metadata) : []),
  ]
}

type Metadata = Manifest['metadata']

function hostName({ envName }: Workload, { appDomain }: ClusterOptions): string {
  return `${envName}.${appDomain}`
}

function selectorOf({ appEnvId }: Workload): Record<string, string> {
  return { [label.environment]: appEnvId }
}

function deployment(workload: Workload, options: ClusterOptions, metadata: Metadata): Manifest {
  const { volume, autoscaling, containers } = workload
  const autoscaled = autoscaling !== null && containers > 0
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      // The autoscaler owns the number while it is on.
      ...(autoscaled ? {} : { replicas: containers }),
      revisionHistoryLimit: 1,
      // A version counts as deployed after being ready for this long.
      minReadySeconds: workload.healthCheck.stabilitySeconds,
      // A volume is in use by one pod at a time; otherwise the version before serves until the new one is ready.
      strategy: volume
        ? { type: 'Recreate' }
        : { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      selector: { matchLabels: selectorOf(workload) },
      template: {
        metadata: {
          labels: podLabels(workload),
          ...(workload.isHeld && { annotations: { [heldAnnotation]: 'true' } }),
        },
        spec: podSpec(workload, options, metadata),
      },
    },
  }
}

function podSpec(workload: Workload, options: ClusterOptions, { name }: Metadata): object {
  const { volume, port, healthCheck } = workload
  const httpHeaders = [{ name: 'Host', value: hostName(workload, options) }]
  const probe =
    healthCheck.path === null
      ? { tcpSocket: { port } }
      : { httpGet: { path: healthCheck.path, port, httpHeaders } }
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: graceSeconds,
    // A volume may be attached to the lost node for longer, so its pod has nowhere else to go.
    ...(volume ? {} : { tolerations: shortTolerations }),
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: selectorOf(workload) },
      },
    ],
    containers: [
      {
        ...container(workload, options),
        env: [{ name: 'PORT', value: String(port) }],
        readinessProbe: {
          ...probe,
          periodSeconds: Math.min(healthCheck.intervalSeconds, 5),
          timeoutSeconds: healthCheck.timeoutSeconds,
          failureThreshold: 3,
        },
        lifecycle: { preStop: { sleep: { seconds: drainSeconds } } },
        ...(volume ? { volumeMounts: [{ name: 'data', mountPath: volume.mountPath }] } : {}),
      },
    ],
    ...(volume
      ? { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: volumeClaim(name) } }] }
      : {}),
  }
}

function scaling(workload: Workload, metadata: Metadata): Manifest[] {
  const { autoscaling, containers } = workload
  const least = autoscaling ? autoscaling.minContainers : containers
  const budget: Manifest = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata,
    spec: { maxUnavailable: 1, selector: { matchLabels: selectorOf(workload) } },
  }
  return [...(least > 1 ? [budget] : []), ...(autoscaling ? [autoscaler(autoscaling, metadata)] : [])]
}

function autoscaler(autoscaling: NonNullable<Workload['autoscaling']>, metadata: Metadata): Manifest {
  const { targetCpuPercent, targetMemoryPercent } = autoscaling
  // Kubernetes measures against requests: a tenth of the CPU limit, and the whole memory.
  const of = (name: string, averageUtilization: number) => ({
    type: 'Resource',
    resource: { name, target: { type: 'Utilization', averageUtilization } },
  })
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata,
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: metadata.name },
      minReplicas: autoscaling.minContainers,
      maxReplicas: autoscaling.maxContainers,
      metrics: [
        of('cpu', targetCpuPercent * 10),
        ...(targetMemoryPercent === null ? [] : [of('memory', targetMemoryPercent)]),
      ],
      behavior: {
        scaleUp: { stabilizationWindowSeconds: autoscaling.scaleUpWindowSeconds },
        scaleDown: { stabilizationWindowSeconds: autoscaling.scaleDownWindowSeconds },
      },
    },
  }
}
