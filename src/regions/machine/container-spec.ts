import type { DatabasePresetName } from '../../contract/fields.ts'
import { databaseEndpoints, internalName, portName } from '../../domain/databases/credentials.ts'
import { zCloudSize } from '../../domain/environments/environment.ts'
import type { ContainerSpec, DatabaseSpec } from '../../engines/engine.ts'
import { openDatabaseSecrets } from '../../store/secrets/opened.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import { mountsOf, variablesFor } from '../rollouts/container-settings.ts'
import type { EnvironmentView, RolloutView } from '../rollouts/environment-view.ts'
import { containerNameOf, type LivePod } from './live-pod.ts'

/** The container spec of a pod, from its rollout's snapshot of settings. */
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
    image: content.images[rollout.region] ?? '',
    port: databaseEndpoints(app.dockerPreset)[0]?.port ?? app.port,
    env: variablesFor('DEPLOY', rollout.settings, environment.appEnvId, secrets),
    cpuMillicores: rollout.settings.zClouds * zCloudSize.cpuMillicores,
    memoryMb: rollout.settings.zClouds * zCloudSize.memoryMb,
    internalHost: internalName(environment.cliEnvName, pod.record.ordinal ?? 0),
    ...mountsOf(rollout.settings),
    ...databaseSpec(view, rollout, secrets, pod.record.ordinal ?? 0),
  }
}

/** The part of the spec for managed databases. */
export function databaseSpec(
  { environment, app }: EnvironmentView,
  { settings }: RolloutView['rollout'],
  secrets: SecretBox,
  ordinal: number,
): { database?: DatabaseSpec } {
  const access = environment.database
  if (!access) return {}
  const { appEnvId, dockerPresetVersion, withPersistence } = environment
  const opened = openDatabaseSecrets(secrets, appEnvId, access.secrets)
  const endpoints = databaseEndpoints(app.dockerPreset)
  const first = endpoints[0]
  const primary = {
    host: environment.cliEnvName,
    port: first?.port ?? 0,
    hostPort: access.ports[first?.name ?? ''] ?? 0,
  }
  const parameters = Object.entries(settings.databaseSettings.postgresql?.parameters ?? {})
  return {
    database: {
      dockerPreset: app.dockerPreset as DatabasePresetName,
      version: dockerPresetVersion ?? '',
      user: access.user,
      database: access.database,
      ...opened,
      parameters: Object.fromEntries(parameters.map(([name, value]) => [name, String(value)])),
      ports: endpoints.map(({ name, port }) => ({
        name,
        port,
        hostPort: access.ports[portName(name, ordinal)] ?? 0,
      })),
      // A replica's data is a copy: it is removed with the container, and the next container makes a new copy.
      persistent: withPersistence && ordinal === 0,
      ...(ordinal === 0 || !first ? {} : { primary }),
    },
  }
}
