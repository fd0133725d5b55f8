import { type AppRecord, keptSettings } from '../../domain/apps/app-settings.ts'
import type { Content, Environment, Rollout, Settings } from '../../domain/environments/environment.ts'
import { copiesVolume } from '../../domain/environments/move.ts'
import { giveUpRestored } from '../../domain/environments/version-settings.ts'
import { refuseWhileCopying } from '../../domain/environments/volume-move.ts'
import { newId } from '../../domain/ids.ts'
import { AppError } from '../../errors.ts'
import { insertActivity } from '../../store/repositories/activities.ts'
import { isRestoring } from '../../store/repositories/backups.ts'
import {
  findContent,
  findRollout,
  insertContent,
  insertRollout,
  saveRollout,
} from '../../store/repositories/rollouts.ts'
import type { Context } from '../core/handler.ts'
import { userIdOrNull } from '../core/user-of.ts'
import { noteActivity } from '../environments/note-activity.ts'
import { resolveReferences } from '../environments/refresh-references.ts'

/** Adds the next version of an environment; the caller saves the environment. */
export async function addContent(
  context: Context,
  app: AppRecord,
  environment: Environment,
  what: Pick<Content, 'type' | 'image' | 'uploadId' | 'gitCommitId'> & Partial<Pick<Content, 'gitBranch'>>,
): Promise<Content> {
  const content: Content = {
    contentId: newId('dep'),
    appEnvId: environment.appEnvId,
    version: environment.nextVersion,
    containerImage: null,
    gitBranch: null,
    images: {},
    ...keptSettings(app),
    createdBy: userIdOrNull(context.caller),
    createdAt: context.now,
    ...what,
  }
  environment.nextVersion += 1
  await insertContent(context.tx, content)
  return content
}

interface RolloutOptions {
  settings: Settings
  activity: string
  /** The saved settings before a rollback changed them. */
  savedBefore?: Settings
  /** For the history. */
  details?: string
}

/**
 * Makes a content the desired version, with a snapshot of settings, and supersedes an unfinished rollout. Changes
 * `environment`, which the caller saves.
 */
export async function beginRollout(
  context: Context,
  environment: Environment,
  content: Content,
  options: RolloutOptions,
): Promise<Rollout> {
  refuseWhileCopying(environment)
  await refuseRestoring(context, environment)
  await resolveReferences(context, environment)
  await supersede(context, environment)
  const copies = copiesVolume(environment, environment.region, context.installation.regions())
  delete environment.volumeMove
  if (copies && options.settings.useVolume) environment.volumeMove = { step: 'prepare' }
  const rollout: Rollout = {
    rolloutId: newId('rol'),
    appEnvId: environment.appEnvId,
    contentId: content.contentId,
    region: environment.region,
    version: content.version,
    status: content.type === 'BUILD' && !(environment.region in content.images) ? 'BUILDING' : 'DEPLOYING',
    settings: options.settings,
    ...(options.savedBefore ? { savedBefore: options.savedBefore } : {}),
    failure: null,
    activity: options.activity,
    createdBy: userIdOrNull(context.caller),
    createdAt: context.now,
    deployedAt: null,
  }
  await insertRollout(context.tx, rollout)
  const serves = environment.status === 'RUNNING' || environment.status === 'UPDATING'
  environment.status = serves ? 'UPDATING' : 'PENDING'
  environment.desiredState = 'running'
  environment.wantedRolloutId = rollout.rolloutId
  environment.latestRolloutId = rollout.rolloutId
  await noteActivity(context, environment.appEnvId, {
    activity: options.activity,
    status: rollout.status,
    contentId: content.contentId,
    version: content.version,
    gitCommitId: content.gitCommitId,
    details: options.details ?? null,
  })
  return rollout
}

/**
 * Each rollout has its own snapshot of settings, which must include changes that take effect immediately: the unfinished
 * one for its containers, and the one that serves for a later rollback to it.
 */
export async function changeWantedSettings(
  context: Context,
  { wantedRolloutId, currentRolloutId, desiredState }: Environment,
  change: Partial<Settings> | ((settings: Settings) => Partial<Settings>),
): Promise<void> {
  const ids = desiredState === 'running' ? [wantedRolloutId, currentRolloutId] : [wantedRolloutId]
  for (const rolloutId of ids) {
    const rollout = rolloutId === null ? null : await findRollout(context.tx, rolloutId)
    if (!rollout) continue
    const changed = typeof change === 'function' ? change(rollout.settings) : change
    await saveRollout(context.tx, { ...rollout, settings: { ...rollout.settings, ...changed } })
  }
}

/** A container would find half of the files. */
async function refuseRestoring({ tx }: Context, environment: Environment): Promise<void> {
  const { appEnvId, applied, region, servedFrom } = environment
  if (!applied.useVolume || !(await isRestoring(tx, appEnvId, servedFrom ?? region))) return
  throw new AppError('conflict', 'A restore of its volume is under way', {
    details: 'Wait until it has ended, then send the call again.',
  })
}

async function supersede(context: Context, environment: Environment): Promise<void> {
  if (environment.wantedRolloutId === null) return
  const earlier = await findRollout(context.tx, environment.wantedRolloutId)
  if (!earlier || earlier.status === 'DEPLOYED' || earlier.status === 'FAILED') return
  if (earlier.stability && environment.status === 'PENDING') keepServing(environment, earlier)
  await giveUp(context, earlier, {
    reason: 'superseded',
    message: 'A newer change of this environment replaced it.',
  })
}

/** A first version in its stability window keeps serving until the newer one does, although it has no verdict. */
function keepServing(environment: Environment, rollout: Rollout): void {
  environment.currentRolloutId = rollout.rolloutId
  environment.currentVersion = rollout.version
  environment.applied = rollout.settings
  environment.status = 'UPDATING'
}

/** Cancels an unfinished rollout. Changes `environment`, whose caller decides whether it still runs. */
export async function cancelRollout(
  context: Context,
  environment: Environment,
  message: string,
): Promise<void> {
  if (environment.wantedRolloutId === null) return
  const rollout = await findRollout(context.tx, environment.wantedRolloutId)
  if (rollout) {
    giveUpRestored(environment, rollout)
    await giveUp(context, rollout, { reason: 'canceled', message })
  }
  environment.wantedRolloutId = null
}

/** Ends the rollout's entry in the history, attributed to the user who started it. */
async function giveUp(
  context: Context,
  rollout: Rollout,
  failure: { reason: string; message: string },
): Promise<void> {
  await saveRollout(context.tx, { ...rollout, status: 'FAILED', failure })
  const content = await findContent(context.tx, rollout.contentId)
  await insertActivity(context.tx, rollout.appEnvId, {
    activity: rollout.activity,
    contentId: rollout.contentId,
    version: rollout.version,
    status: 'FAILED',
    timestamp: context.now,
    userId: rollout.createdBy,
    gitCommitId: content?.gitCommitId ?? null,
    details: `${failure.reason}: ${failure.message}`,
  })
}
