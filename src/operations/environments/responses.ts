import { type AppEnv, autoscalingDefaults } from '../../contract/app-envs.ts'
import type { App } from '../../contract/apps.ts'
import { secretMask } from '../../contract/fields.ts'
import { mayAccess } from '../../domain/access/environment-access.ts'
import { type AppRecord, appOfVersion } from '../../domain/apps/app-settings.ts'
import { isRegularApp } from '../../domain/apps/presets.ts'
import type { DatabaseSecrets } from '../../domain/databases/credentials.ts'
import type {
  Environment,
  PodRecord,
  Settings,
  StoredVariable,
} from '../../domain/environments/environment.ts'
import { effectiveHealthCheck, hasHealthCheck } from '../../domain/environments/health-check.ts'
import { pendingChangesOf, pendingFields } from '../../domain/environments/pending-changes.ts'
import { effectiveFunctionConfig } from '../../domain/functions/config.ts'
import { effectiveJobConfigOf, platformJobConfig, withoutEmpty } from '../../domain/jobs/config.ts'
import { findClaim } from '../../store/repositories/claims.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { listAuthors } from '../../store/repositories/pending-authors.ts'
import { findContent, findRollout } from '../../store/repositories/rollouts.ts'
import { openDatabaseSecrets, openVariable } from '../../store/secrets/opened.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { claimShown } from '../core/claim-check.ts'
import type { Context } from '../core/handler.ts'

/** Response of operations that act on an environment (docs/interface.md#responses-of-actions). */
export function environmentResponse(environment: Environment, message: string) {
  const { appEnvId, name, status } = environment
  return { success: true as const, message, appEnv: { appEnvId, name, status } }
}

/** The settings that pending changes are compared with: those of an unfinished rollout, else the applied ones. */
export async function settingsInForce(context: Context, environment: Environment): Promise<Settings> {
  if (environment.wantedRolloutId === null) return environment.applied
  const rollout = await findRollout(context.tx, environment.wantedRolloutId)
  return rollout?.settings ?? environment.applied
}

export async function pendingOf(context: Context, environment: Environment) {
  return pendingChangesOf(environment.saved, await settingsInForce(context, environment))
}

/** For reads: with the user who saved each change. */
export async function pendingWithAuthors(context: Context, environment: Environment) {
  const { appEnvId, saved } = environment
  const inForce = await settingsInForce(context, environment)
  const isPending = pendingFields(saved, inForce).length > 0
  return pendingChangesOf(saved, inForce, isPending ? await listAuthors(context.tx, appEnvId) : new Map())
}

/** Desired, running and ready containers. `pods`: the environment's pods that have not ended. */
export function containerCounts(
  environment: Environment,
  app: { isFunction: boolean; isJob: boolean },
  pods: readonly PodRecord[],
): { desired: number; running: number; ready: number } {
  const desiredPods = pods.filter((pod) => pod.desiredState === 'run')
  const desired = app.isFunction ? desiredPods.length : environment.saved.containers
  return {
    desired: environment.desiredState === 'running' && !app.isJob ? desired : 0,
    running: pods.filter((pod) => pod.status === 'Running').length,
    ready: desiredPods.filter((pod) => pod.ready).length,
  }
}

/** The app as the serving version knows it: its port may have been changed since. */
export function servedApp(
  context: Context,
  { currentRolloutId, latestRolloutId }: Environment,
  app: AppRecord,
): Promise<App> {
  return appOfRollout(context, currentRolloutId ?? latestRolloutId, app)
}

export async function appOfRollout({ tx }: Context, rolloutId: string | null, app: AppRecord): Promise<App> {
  if (!app.createdAs || rolloutId === null) return app
  const rollout = await findRollout(tx, rolloutId)
  return appOfVersion(app, rollout && (await findContent(tx, rollout.contentId)))
}

/** An environment as read (2.1). Secrets are masked unless `decrypt`, which the caller has checked (X1). */
export async function appEnvResponse(
  context: Context,
  target: EnvironmentTarget,
  decrypt: boolean,
): Promise<AppEnv> {
  const { environment, app, account } = target
  const { saved, appEnvId, appId, accountId, labels } = environment
  return {
    ...{ appEnvId, appId, accountId },
    ...{ name: environment.name, slug: environment.slug },
    region: environment.region,
    status: environment.status,
    currentVersion: environment.currentVersion,
    gitBranch: saved.branch || 'cli',
    cliEnvName: environment.cliEnvName,
    labels,
    protected: environment.protected,
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
    envVars: await readVariables(context, target, decrypt),
    ...(app.isFunction
      ? { functionConfig: effectiveFunctionConfig(saved.functionConfig, account.settings) }
      : {}),
    ...(app.isJob ? jobSettings(target) : {}),
    ...(hasHealthCheck(app)
      ? {
          healthCheck: saved.healthCheck ?? {},
          effectiveHealthCheck: effectiveHealthCheck(app, saved.healthCheck),
        }
      : {}),
    autoscaling: isRegularApp(app.dockerPreset) ? (environment.autoscaling ?? autoscalingDefaults) : null,
    hosts: context.installation.hosts(
      environment,
      await servedApp(context, environment, app),
      decrypt ? databaseSecrets(context, environment) : undefined,
    ),
    pendingChanges: await pendingWithAuthors(context, environment),
    claim: claimShown(await findClaim(context.tx, appEnvId, context.now)),
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
    // Platform defaults count as defaults of the app too (2.5).
    appJobConfig: { ...platformJobConfig, ...withoutEmpty(app.jobConfig ?? {}) },
    effectiveJobConfig: effectiveJobConfigOf(app.jobConfig, applied.jobConfig, saved.jobConfig),
  }
}

function databaseSecrets(context: Context, { appEnvId, database }: Environment): DatabaseSecrets | undefined {
  return database && openDatabaseSecrets(context.secrets, appEnvId, database.secrets)
}

/** A reference names its source, unless the caller may not see that environment (M2). */
async function readVariables(context: Context, target: EnvironmentTarget, decrypt: boolean) {
  const { environment, account, membership } = target
  const names = new Map<string, string | null>()
  for (const { from } of environment.saved.envVars) {
    if (!from || names.has(from.appEnvId)) continue
    const isVisible = membership && mayAccess(account, membership, from.appEnvId)
    const source = isVisible ? await findEnvironment(context.tx, from) : null
    names.set(from.appEnvId, source?.cliEnvName ?? null)
  }
  return environment.saved.envVars.map((variable) => ({
    ...readVariable(context, environment.appEnvId, variable, decrypt),
    ...(variable.from && {
      from: { envName: names.get(variable.from.appEnvId) ?? null, field: variable.from.field },
    }),
  }))
}

function readVariable(context: Context, appEnvId: string, variable: StoredVariable, decrypt: boolean) {
  const { _id, name, type, isSecret } = variable
  const value = isSecret && !decrypt ? secretMask : openVariable(context.secrets, appEnvId, variable)
  return { _id, name, value, type, isSecret }
}
