import { type Settings, zCloudSize } from '../domain/environment.ts'
import type { ContainerSpec } from '../engines/engine.ts'
import type { SecretBox } from '../store/secret-box.ts'
import type { EnvironmentView, RolloutView } from './environment-view.ts'
import { containerNameOf, type LivePod } from './live-pod.ts'

/** The container of a pod, from the snapshot of settings of its rollout. */
export function containerSpec(
  view: EnvironmentView,
  { rollout, content }: RolloutView,
  pod: LivePod,
  secrets: SecretBox,
): ContainerSpec {
  const { environment, app } = view
  return {
    name: containerNameOf(pod.record),
    podId: pod.record.podId,
    appEnvId: environment.appEnvId,
    accountId: environment.accountId,
    contentId: content.contentId,
    template: rollout.rolloutId,
    image: content.images[rollout.region] ?? '',
    port: app.port,
    env: variablesFor('DEPLOY', rollout.settings, environment.appEnvId, secrets),
    cpuMillicores: rollout.settings.zClouds * zCloudSize.cpuMillicores,
    memoryMb: rollout.settings.zClouds * zCloudSize.memoryMb,
    internalHost: environment.cliEnvName,
    ...mountsOf(rollout.settings),
  }
}

function mountsOf({ useVolume, mountPath }: Settings): Pick<ContainerSpec, 'mounts'> {
  return useVolume && mountPath !== null ? { mounts: [{ volume: 'data', path: mountPath }] } : {}
}

/** Variables of one phase in clear: DEPLOY or BUILD, and BOTH (interface.md 2.2). */
export function variablesFor(
  phase: 'DEPLOY' | 'BUILD',
  settings: { envVars: readonly { name: string; value: string; type: string; isSecret: boolean }[] },
  appEnvId: string,
  secrets: SecretBox,
): Record<string, string> {
  const variables = settings.envVars.filter((variable) => variable.type === phase || variable.type === 'BOTH')
  return Object.fromEntries(
    variables.map(({ name, value, isSecret }) => [
      name,
      isSecret ? secrets.open(value, `${appEnvId}/${name}`) : value,
    ]),
  )
}
