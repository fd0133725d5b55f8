import { workloadName } from '../../../domain/environments/cluster-names.ts'
import type { VolumeSpec } from '../../../engines/volume-copies.ts'
import {
  type ClusterOptions,
  containerName,
  label,
  type Manifest,
  namespaceOf,
  securityContext,
  volumeClaim,
} from './workload.ts'

/** The environment whose volume is copied; not the label by which the pods of an environment are found. */
export const copyLabel = 'longshore.dev/volume-of'
/** Ends copies that a killed control plane left. */
const longestSeconds = 86_400

/**
 * A Job whose pod has the volume of a stopped environment and waits: scripts in it copy the files. It runs the image of
 * the environment, as its user, who owns the files.
 */
export function volumeCopyJob(
  { appEnvId, accountId, envName, image, mount }: VolumeSpec,
  installationId: string,
  options: ClusterOptions,
): Manifest {
  const name = `${workloadName(envName).slice(0, 58)}-copy`
  const labels = {
    [label.installation]: installationId,
    [label.account]: accountId,
    [copyLabel]: appEnvId,
  }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: namespaceOf(options, accountId), labels },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: longestSeconds,
      ttlSecondsAfterFinished: 600,
      template: {
        metadata: { labels },
        spec: {
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: 1,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          containers: [
            {
              name: containerName,
              image,
              command: ['/bin/sh', '-c', `exec sleep ${longestSeconds}`],
              resources: {
                limits: { cpu: '500m', memory: '256Mi' },
                requests: { cpu: '50m', memory: '64Mi' },
              },
              securityContext: securityContext(options),
              volumeMounts: [{ name: 'data', mountPath: mount.path }],
            },
          ],
          volumes: [
            { name: 'data', persistentVolumeClaim: { claimName: volumeClaim(workloadName(envName)) } },
          ],
        },
      },
    },
  }
}
