import { appOfVersion } from '../../domain/apps/app-settings.ts'
import { commitVariables } from '../../domain/apps/commit-variables.ts'
import { zCloudSize } from '../../domain/environments/environment.ts'
import { effectiveFunctionConfig, warmContainers } from '../../domain/functions/config.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import { databaseSpec, variablesFor } from '../rollouts/container-spec.ts'
import type { EnvironmentView, RolloutView } from '../rollouts/environment-view.ts'
import { holds } from '../rollouts/volume-move.ts'
import { databaseManifests } from './databases/manifest.ts'
import type { DatabaseWorkload } from './databases/workload.ts'
import { appManifests } from './manifests/app.ts'
import { functionManifests } from './manifests/function.ts'
import type { ClusterOptions, Manifest, Workload } from './manifests/workload.ts'

interface WorkloadDeps {
  installationId: string
  secrets: SecretBox
  clockScale: number
}

/** The desired workload of one version of an environment. */
export function workloadOf(
  view: EnvironmentView,
  version: RolloutView,
  { installationId, secrets, clockScale }: WorkloadDeps,
): Workload {
  const { environment, app, account, current } = view
  const { rollout, content, healthCheck } = version
  const { port } = appOfVersion(app, content)
  const { settings } = rollout
  const isHeld = holds(view)
  const inForce = version === current ? environment.applied : settings
  const isAutoscaled =
    environment.autoscaling.enabled && account.settings.allowAutoScaling && !app.isFunction && !app.isDatabase
  const effective = app.isFunction ? effectiveFunctionConfig(inForce.functionConfig, account.settings) : null
  const idleTimeoutSeconds = Math.ceil((effective?.idleTimeoutSeconds ?? 0) / clockScale)
  // No window while a volume moves: a failure would lose the writes made during it.
  const stabilitySeconds = environment.volumeMove ? 0 : Math.ceil(healthCheck.stabilitySeconds / clockScale)
  const functionConfig = effective && { ...effective, idleTimeoutSeconds }
  return {
    installationId,
    accountId: environment.accountId,
    appEnvId: environment.appEnvId,
    envName: environment.cliEnvName,
    rolloutId: rollout.rolloutId,
    contentId: content.contentId,
    image: content.images[rollout.region] ?? '',
    port: port ?? 8080,
    env: { ...commitVariables(content), ...variablesFor('DEPLOY', settings, environment.appEnvId, secrets) },
    containers: environment.desiredState === 'running' && !isHeld ? inForce.containers : 0,
    isHeld,
    cpuMillicores: settings.zClouds * zCloudSize.cpuMillicores,
    memoryMb: settings.zClouds * zCloudSize.memoryMb,
    healthCheck: { ...healthCheck, stabilitySeconds },
    autoscaling: isAutoscaled ? environment.autoscaling : null,
    functionConfig,
    warm: functionConfig ? warmContainers(functionConfig, account.settings) : 0,
    volume:
      settings.useVolume && settings.mountPath !== null
        ? { mountPath: settings.mountPath, diskMb: settings.zClouds * zCloudSize.diskMb }
        : null,
  }
}

/** The objects of a workload, in the order in which they are applied. */
export function manifestsOf(
  view: EnvironmentView,
  version: RolloutView,
  workload: Workload,
  { secrets, ...options }: ClusterOptions & { secrets: SecretBox },
): Manifest[] {
  if (view.app.isFunction) return functionManifests(workload, options)
  const { database } = databaseSpec(view, version.rollout, secrets, 0)
  if (!database) return appManifests(workload, options)
  const mqttHost = view.environment.database?.mqttHost ?? null
  const whole: DatabaseWorkload = { ...workload, database, mqttHost, diskMb: version.rollout.settings.disk }
  return databaseManifests(whole, options)
}
