import { counted } from '../../amounts.ts'
import type { ImpactStatement } from '../../contract/impact.ts'
import type { Environment, Settings } from '../../domain/environments/environment.ts'
import { pathName, pendingPaths } from '../../domain/environments/pending-changes.ts'
import { effectiveFunctionConfig, warmContainers } from '../../domain/functions/config.ts'
import type { JobRun } from '../../domain/jobs/run.ts'
import type { Tx } from '../../store/db.ts'
import { hasBackupSince } from '../../store/repositories/backups.ts'
import { forgetAuthors, listAuthors } from '../../store/repositories/pending-authors.ts'
import { listLivePods } from '../../store/repositories/rollouts.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Context } from '../core/handler.ts'
import { settingsInForce } from './responses.ts'

type Target = Pick<EnvironmentTarget, 'environment' | 'app' | 'account'>
type Actions = NonNullable<ImpactStatement['actions']>

const freshMs = 3_600_000

/** What a rollout does once it succeeds: every container that runs now ends, and those of `settings` start. */
export async function rolloutImpact(
  context: Context,
  target: Target,
  actions: Actions,
  { settings, undo = 'redeploy' }: { settings: Settings; undo?: 'redeploy' | 'none' },
): Promise<ImpactStatement> {
  const { environment, app } = target
  const containersEnded = await runningContainers(context.tx, environment.appEnvId)
  const interrupts = app.isDatabase || settings.useVolume || environment.applied.useVolume
  const hasServed = environment.currentRolloutId !== null
  return {
    actions,
    containersEnded,
    containersStarted: containersOf(target, settings, containersEnded),
    downtimeSeconds: containersEnded > 0 && interrupts ? null : 0,
    dataLost: containersEnded > 0 && (await losesMemory(context, target)),
    undo: hasServed ? undo : 'none',
    variables: { appliedOf: await appliedOf(context, environment, settings) },
  }
}

/** Everything ends, until it is started again; `runs` are its active job runs. */
export async function endImpact(
  context: Context,
  { environment, app, account }: Target,
  actions: Actions,
  runs: readonly JobRun[],
): Promise<ImpactStatement> {
  const served = await runningContainers(context.tx, environment.appEnvId)
  const containersEnded = served + runs.filter(hasContainer).length
  const serves = environment.desiredState === 'running' && environment.currentRolloutId !== null && !app.isJob
  return {
    actions,
    containersEnded,
    downtimeSeconds: serves ? null : 0,
    dataLost: containersEnded > 0 && (await losesMemory(context, { environment, app, account })),
    undo: serves ? 'redeploy' : 'none',
  }
}

/** Scaling of an app, which takes effect without a new version. Functions: the containers that are kept warm. */
export async function scaleImpact(
  { tx }: Context,
  target: Target,
  draft: Environment,
): Promise<ImpactStatement> {
  const { environment, app } = target
  if (app.isDatabase || app.isJob) return {}
  if (app.isFunction) {
    const [before, after] = [warmOf(target, environment.applied), warmOf(target, draft.applied)]
    const present = await runningContainers(tx, environment.appEnvId)
    return warmthImpact({ before, after, present: serves(environment) ? present : after })
  }
  const { containers } = environment.saved
  const more = draft.saved.containers - containers
  const changed = serves(environment) ? draft.applied.containers - environment.applied.containers : 0
  return {
    ...(more === 0 ? {} : { actions: [more > 0 ? 'scale-up' : 'scale-down'] }),
    containersStarted: Math.max(0, changed),
    containersEnded: Math.max(0, -changed),
  }
}

/** Containers are started up to the number that is kept warm. Those above it end once they are idle. */
export function warmthImpact(warm: { before: number; after: number; present: number }): ImpactStatement {
  const { before, after, present } = warm
  if (before === after) return {}
  return {
    actions: [after > before ? 'scale-up' : 'scale-down'],
    containersStarted: Math.max(0, after - Math.max(before, present)),
  }
}

function serves({ desiredState, currentRolloutId, wantedRolloutId }: Environment): boolean {
  return desiredState === 'running' && (currentRolloutId ?? wantedRolloutId) !== null
}

function warmOf({ account }: Pick<Target, 'account'>, { functionConfig }: Settings): number {
  return warmContainers(effectiveFunctionConfig(functionConfig, account.settings), account.settings)
}

/** A function starts one container to prove the version, and as many as are kept warm or run now. */
function containersOf(target: Target, settings: Settings, present: number): number {
  const { app, account, environment } = target
  if (app.isJob) return 0
  if (!app.isFunction) return settings.containers
  const { maxScale } = effectiveFunctionConfig(settings.functionConfig, account.settings)
  const warm = Math.max(warmOf(target, settings), warmOf(target, environment.applied))
  return Math.min(maxScale, Math.max(1, warm, present))
}

/** Between two attempts it has none. */
export function hasContainer({ status, retry }: JobRun): boolean {
  return status === 'RUNNING' && retry === null
}

/** Containers of its versions that should run; those of job runs are not counted. */
export async function runningContainers(tx: Tx, appEnvId: string): Promise<number> {
  return (await listLivePods(tx, appEnvId)).filter(({ desiredState }) => desiredState === 'run').length
}

/** A database without persistence loses its data with its container. */
async function losesMemory(context: Context, { environment, app }: Target): Promise<boolean> {
  if (!app.isDatabase || environment.withPersistence) return false
  return !(await hasFreshBackup(context, environment.appEnvId))
}

/** Whether the environment keeps data that is gone with it. */
export function storesData({ environment, app }: Target): boolean {
  const { currentRolloutId, desiredState, withPersistence, applied, leftVolumeIn } = environment
  if (currentRolloutId === null) return false
  if (app.isDatabase) return withPersistence || desiredState === 'running'
  return applied.useVolume || leftVolumeIn !== undefined
}

/** A backup that holds what was stored an hour ago, or later. */
export function hasFreshBackup({ tx, now }: Context, appEnvId: string): Promise<boolean> {
  const since = new Date(Date.parse(now) - freshMs).toISOString()
  return hasBackupSince(tx, appEnvId, since)
}

/** The pending changes that `settings` puts in force, with their authors. Authors of what is in force are forgotten. */
export async function appliedOf(
  context: Context,
  environment: Environment,
  settings: Settings,
): Promise<{ name: string; by: string | null }[]> {
  const { appEnvId, saved } = environment
  const inForce = await settingsInForce(context, environment)
  const pending = pendingPaths(saved, inForce)
  const authors = await listAuthors(context.tx, appEnvId)
  const isPending = new Set(pending)
  await forgetAuthors(
    context.tx,
    appEnvId,
    [...authors.keys()].filter((path) => !isPending.has(path)),
  )
  const held = new Set(pendingPaths(saved, settings))
  return pending
    .filter((path) => !held.has(path))
    .map((path) => ({ name: pathName(path), by: authors.get(path)?.by ?? null }))
}

/** What the impact of a rollout says about downtime, for an effect. */
export function downtimeText({ downtimeSeconds }: ImpactStatement): string {
  return downtimeSeconds === 0
    ? ' without downtime'
    : '; it is down from the end of the old container until the new one serves'
}

/** Whose pending changes a write puts in force, for its effects. The impact has their names, which tenants choose. */
export function appliedText({ variables }: ImpactStatement): string[] {
  const authors = new Map<string | null, number>()
  for (const { by } of variables?.appliedOf ?? []) authors.set(by, (authors.get(by) ?? 0) + 1)
  return [...authors].map(
    ([by, count]) =>
      `Puts ${counted(count, 'pending change')} of ${by === null ? 'an unknown user' : by} in force.`,
  )
}
