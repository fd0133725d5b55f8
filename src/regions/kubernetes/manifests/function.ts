import { workloadName } from '../../../domain/environments/cluster-names.ts'
import {
  type ClusterOptions,
  container,
  labelsOf,
  type Manifest,
  namespaceOf,
  podLabels,
  variablesSecret,
  type Workload,
} from './workload.ts'

/** Stable windows of Knative in seconds: the shortest and longest it accepts, and its default. */
const shortestWindow = 6
const longestWindow = 3_600
const usualWindow = 60

/** Knative's container beside each function. Its pods need limits of their own: the quota of the account refuses others. */
const queueProxySize = {
  'queue.sidecar.serving.knative.dev/cpu-resource-request': '25m',
  'queue.sidecar.serving.knative.dev/cpu-resource-limit': '1',
  'queue.sidecar.serving.knative.dev/memory-resource-request': '32Mi',
  'queue.sidecar.serving.knative.dev/memory-resource-limit': '256Mi',
}

/**
 * The objects of a function: a Knative Service, which scales, starts on a request (F2) and goes to zero (F1). A version
 * that does not start gets no traffic: Knative serves the last one that was ready.
 */
export function functionManifests(workload: Workload, options: ClusterOptions): Manifest[] {
  const namespace = namespaceOf(options, workload.accountId)
  const config = workload.functionConfig
  if (!config) throw new Error(`${workload.appEnvId} is not a function`)
  const { idleTimeoutSeconds, containerConcurrency, timeoutSeconds, responseStartTimeoutSeconds } = config
  const scaling = {
    'autoscaling.knative.dev/min-scale': String(workload.warm),
    'autoscaling.knative.dev/max-scale': String(config.maxScale),
    'autoscaling.knative.dev/window': `${Math.min(Math.max(idleTimeoutSeconds, shortestWindow), usualWindow)}s`,
    // The last container stays for the idle time; the others go with the load.
    'autoscaling.knative.dev/scale-to-zero-pod-retention-period': `${Math.min(idleTimeoutSeconds, longestWindow)}s`,
  }
  return [
    ...variablesSecret(workload, namespace),
    {
      apiVersion: 'serving.knative.dev/v1',
      kind: 'Service',
      metadata: { name: workloadName(workload.envName), namespace, labels: labelsOf(workload) },
      spec: {
        template: {
          metadata: { labels: podLabels(workload), annotations: { ...scaling, ...queueProxySize } },
          spec: {
            containerConcurrency,
            timeoutSeconds,
            responseStartTimeoutSeconds,
            enableServiceLinks: false,
            automountServiceAccountToken: false,
            containers: [container(workload, options)],
          },
        },
      },
    },
  ]
}
