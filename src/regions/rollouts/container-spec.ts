import type { DatabasePresetName } from '../../contract/fields.ts'
import { appOfVersion } from '../../domain/apps/app-settings.ts'
import { commitVariables } from '../../domain/apps/commit-variables.ts'
import { databaseEndpoints, internalName, portName } from '../../domain/databases/credentials.ts'
import { type PodRecord, type Settings, zCloudSize } from '../../domain/environments/environment.ts'
import type { ContainerSpec, DatabaseSpec } from '../../engines/engine.ts'
import { openDatabaseSecrets, openVariable } from '../../store/secrets/opened.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import type { EnvironmentView, RolloutView } from './environment-view.ts'

/** A restart in place is a new container, named after the pod and the attempt. */
export function containerNameOf(record: PodRecord): string {
  return record.restartCount === 0 ? record.name : `${record.name}-r${record.restartCount}`
}

/** The container spec of a pod, from its rollout's snapshot of settings. */
export function containerSpec(
  view: EnvironmentView,
  { rollout, content }: RolloutView,
  pod: PodRecord,
  secrets: SecretBox,
): ContainerSpec {
  const { environment } = view
  const app = appOfVersion(view.app, content)
  return {
    name: containerNameOf(pod),
    podId: pod.podId,
    appEnvId: environment.appEnvId,
    accountId: environment.accountId,
    contentId: content.contentId,
    image: content.images[rollout.region] ?? '',
    port: databaseEndpoints(app.dockerPreset)[0]?.port ?? app.port,
    env: {
      ...commitVariables(content),
      ...variablesFor('DEPLOY', rollout.settings, environment.appEnvId, secrets),
    },
    cpuMillicores: rollout.settings.zClouds * zCloudSize.cpuMillicores,
    memoryMb: rollout.settings.zClouds * zCloudSize.memoryMb,
    internalHost: internalName(environment.cliEnvName, pod.ordinal ?? 0),
    ...mountsOf(rollout.settings),
    ...databaseSpec(view, rollout, secrets, pod.ordinal ?? 0),
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

/** The one volume that an app can have. */
export const volumeName = 'data'

export function mountsOf({
  useVolume,
  mountPath,
}: Pick<Settings, 'useVolume' | 'mountPath'>): Pick<ContainerSpec, 'mounts'> {
  return useVolume && mountPath !== null ? { mounts: [{ volume: volumeName, path: mountPath }] } : {}
}

/** Decrypted variables of one phase: DEPLOY or BUILD, and BOTH (2.2). */
export function variablesFor(
  phase: 'DEPLOY' | 'BUILD',
  settings: { envVars: readonly { name: string; value: string; type: string; isSecret: boolean }[] },
  appEnvId: string,
  secrets: SecretBox,
): Record<string, string> {
  const variables = settings.envVars.filter((variable) => variable.type === phase || variable.type === 'BOTH')
  return Object.fromEntries(
    variables.map((variable) => [variable.name, openVariable(secrets, appEnvId, variable)]),
  )
}
