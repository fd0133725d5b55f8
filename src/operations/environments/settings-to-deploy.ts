import { listed } from '../../amounts.ts'
import { type HeldChange, usersToInclude } from '../../contract/held-changes.ts'
import type { Environment, Settings } from '../../domain/environments/environment.ts'
import { pendingPaths, withoutPaths } from '../../domain/environments/pending-changes.ts'
import { checkVolumeContainers } from '../../domain/environments/volume.ts'
import { checkFunctionConfig } from '../../domain/functions/config.ts'
import { AppError } from '../../errors.ts'
import { listAuthors } from '../../store/repositories/pending-authors.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Context } from '../core/handler.ts'
import { userIdOrNull } from '../core/user-of.ts'
import { settingsInForce } from './responses.ts'

/** Whose pending changes an agent puts in force beside its own; a list may name `all` too. */
type IncludeChangesOf = 'all' | readonly string[] | undefined

interface ToDeploy {
  settings: Settings
  /** Pending changes of other users, which stay pending. */
  held: HeldChange[]
}

/**
 * The settings of a new deployment: all saved ones. The changes of other people stay pending when an agent or a
 * remediation deploys and does not name them, and job settings when an environment token does (E4).
 */
export async function settingsToDeploy(
  context: Context,
  { environment }: EnvironmentTarget,
  draft: Environment,
  include: IncludeChangesOf,
): Promise<ToDeploy> {
  const { saved } = draft
  const inForce = await settingsInForce(context, environment)
  if (context.caller.kind === 'environment')
    return { settings: { ...saved, jobConfig: inForce.jobConfig }, held: [] }
  const { actor } = context.caller
  if ((actor !== 'agent' && actor !== 'remediation') || include?.includes('all'))
    return { settings: saved, held: [] }
  // A remediation acts for a user, but what that person left pending is not its own.
  const own = [actor === 'agent' ? userIdOrNull(context.caller) : null, ...(include ?? [])]
  const authors = await listAuthors(context.tx, environment.appEnvId)
  const held = pendingPaths(saved, inForce)
    .map((path) => ({ path, by: authors.get(path)?.by ?? null }))
    .filter(({ by }) => by === null || !own.includes(by))
  if (held.length === 0) return { settings: saved, held: [] }
  const settings = withoutPaths(
    saved,
    inForce,
    held.map(({ path }) => path),
  )
  return { settings, held }
}

/** One person's part of what belongs together, such as a volume and its number of containers, may not be valid. */
export function requireComplete(
  { app, account }: EnvironmentTarget,
  draft: Environment,
  { settings, held }: ToDeploy,
): void {
  if (held.length === 0) return
  try {
    checkVolumeContainers({ ...draft, saved: settings })
    if (app.isFunction) checkFunctionConfig(settings.functionConfig, account.settings)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new AppError('conflict', 'Your changes need those of other people', {
      details: `${error.message}. ${howToInclude(held)}`,
    })
  }
}

function howToInclude(held: readonly HeldChange[]): string {
  return `To put them in force too, send includeChangesOf: ${JSON.stringify(usersToInclude(held))}.`
}

/** The same as data. */
export function heldResponse({ held }: Pick<ToDeploy, 'held'>): { heldChanges?: HeldChange[] } {
  return held.length === 0 ? {} : { heldChanges: held }
}

/** Whose changes stay pending, for an answer. get-app-env has their names, which tenants choose. */
export function heldText({ held }: Pick<ToDeploy, 'held'>): string[] {
  if (held.length === 0) return []
  const users = [...new Set(held.map(({ by }) => by ?? 'an unknown user'))]
  const changes = held.length === 1 ? 'change stays' : 'changes stay'
  return [`${held.length} ${changes} pending, saved by ${listed(users)}. ${howToInclude(held)}`]
}
