import type { AppEnv } from '../contract/app-envs.ts'
import type { App } from '../contract/apps.ts'
import { secretMask } from '../contract/fields.ts'
import { autoscalingDefaults } from '../domain/autoscaling.ts'
import { type DatabaseSecrets, databaseSecretName } from '../domain/database-access.ts'
import type { Environment, PodRecord, Settings, StoredVariable } from '../domain/environment.ts'
import { effectiveFunctionConfig } from '../domain/function-config.ts'
import { effectiveJobConfigOf, platformJobConfig, withoutEmpty } from '../domain/job-config.ts'
import { pendingChangesOf } from '../domain/pending-changes.ts'
import { isRegularApp } from '../domain/presets.ts'
import { findRollout } from '../store/rollouts.ts'
import type { EnvironmentTarget } from './access-targets.ts'
import type { Context } from './handler.ts'

/** The answer family of operations that act on an environment (contract.md 1). */
export function acted(environment: Environment, message: string) {
  const { appEnvId, name, status } = environment
  return { success: true as const, message, appEnv: { appEnvId, name, status } }
}

/** What pending changes are measured against: a rollout under way carries its own snapshot. */
export async function settingsInForce(context: Context, environment: Environment): Promise<Settings> {
  if (environment.wantedRolloutId === null) return environment.applied
  const rollout = await findRollout(context.tx, environment.wantedRolloutId)
  return rollout?.settings ?? environment.applied
}

/**
 * What a deployment takes: all that is saved. Job settings are put in force by users only (E4), and the token of
 * an environment may deploy: with it they stay pending.
 */
export async function settingsToDeploy(context: Context, environment: Environment): Promise<Settings> {
  const { saved } = environment
  if (context.caller.kind === 'user') return saved
  return { ...saved, jobConfig: (await settingsInForce(context, environment)).jobConfig }
}

export async function pendingOf(context: Context, environment: Environment) {
  return pendingChangesOf(environment.saved, await settingsInForce(context, environment))
}

/** How many containers are wished for, run and answer. `pods`: those of the environment that are not over. */
export function containerCounts(
  environment: Environment,
  app: { isFunction: boolean; isJob: boolean },
  pods: readonly PodRecord[],
): { desired: number; running: number; ready: number } {
  const wished = pods.filter((pod) => pod.wish === 'run')
  const desired = app.isFunction ? wished.length : environment.saved.containers
  return {
    desired: environment.wish === 'running' && !app.isJob ? desired : 0,
    running: pods.filter((pod) => pod.status === 'Running').length,
    ready: wished.filter((pod) => pod.ready).length,
  }
}

/** 2.1 and contract.md 5. Secrets are masked unless `decrypt`, which the caller has checked (X1). */
export async function appEnvAnswer(
  context: Context,
  target: EnvironmentTarget,
  decrypt: boolean,
): Promise<AppEnv> {
  const { environment, app, account } = target
  const { saved } = environment
  return {
    appEnvId: environment.appEnvId,
    appId: environment.appId,
    accountId: environment.accountId,
    name: environment.name,
    slug: environment.slug,
    region: environment.region,
    status: environment.status,
    currentVersion: environment.currentVersion,
    gitBranch: saved.branch || 'cli',
    cliEnvName: environment.cliEnvName,
    allowUserCliToken: true,
    dockerPreset: app.dockerPreset,
    isFunction: app.isFunction,
    isDatabase: app.isDatabase,
    isJob: app.isJob,
    zClouds: saved.zClouds,
    containers: saved.containers,
    disk: saved.disk,
    withPersistence: environment.withPersistence,
    useVolume: saved.useVolume,
    ...(saved.mountPath === null ? {} : { mountPath: saved.mountPath }),
    ...(environment.dockerPresetVersion === null
      ? {}
      : { dockerPresetVersion: environment.dockerPresetVersion }),
    ...(app.isDatabase ? { databaseSettings: saved.databaseSettings } : {}),
    envVars: saved.envVars.map((variable) => readVariable(context, environment.appEnvId, variable, decrypt)),
    ...(app.isFunction
      ? { functionConfig: effectiveFunctionConfig(saved.functionConfig, account.settings) }
      : {}),
    ...(app.isJob ? jobSettings(target) : {}),
    autoscaling: isRegularApp(app.dockerPreset) ? (environment.autoscaling ?? autoscalingDefaults) : null,
    hosts: context.installation.hosts(
      environment,
      app as App,
      decrypt ? databaseSecrets(context, environment) : undefined,
    ),
    pendingChanges: await pendingOf(context, environment),
    changingRegion: environment.changingRegion,
    createdAt: environment.createdAt,
    updatedAt: environment.updatedAt,
    revision: environment.revision,
  }
}

function jobSettings({ environment, app }: EnvironmentTarget) {
  const { saved, applied } = environment
  return {
    jobConfig: saved.jobConfig,
    // What an environment inherits when neither it nor the app says anything is a default of the app too (2.5).
    appJobConfig: { ...platformJobConfig, ...withoutEmpty(app.jobConfig ?? {}) },
    effectiveJobConfig: effectiveJobConfigOf(app.jobConfig, applied.jobConfig, saved.jobConfig),
  }
}

function databaseSecrets(context: Context, { appEnvId, database }: Environment): DatabaseSecrets | undefined {
  return database && JSON.parse(context.secrets.open(database.secrets, databaseSecretName(appEnvId)))
}

function readVariable(context: Context, appEnvId: string, variable: StoredVariable, decrypt: boolean) {
  const { _id, name, type, isSecret } = variable
  const value = !isSecret
    ? variable.value
    : decrypt
      ? context.secrets.open(variable.value, `${appEnvId}/${name}`)
      : secretMask
  return { _id, name, value, type, isSecret }
}
