import { operations } from '../../contract/index.ts'
import { isRead } from '../../contract/operation.ts'
import { factsOf, type ResourceType, resourceTypes } from '../../contract/resources.ts'
import { AppError } from '../../errors.ts'
import type { ToolContext, ToolInput } from '../tools/define-tool.ts'
import { levelWords, type ServerScope, scopedInputs, scopeLevelOf } from './tool-policy.ts'

/** The ids that the scope implies; ids below its level are not limited. */
interface ScopeIds {
  accountId: string
  appId?: string
  appEnvId?: string
  envName?: string
}

/**
 * Arguments with the ids of the scope filled in. Throws `forbidden` for a call that names an object outside the scope, or
 * acts on one. Without a limit, `args` are returned unchanged.
 */
export async function withinScope(ctx: ToolContext, scope: ServerScope, args: ToolInput): Promise<ToolInput> {
  const level = scopeLevelOf(scope)
  if (level === null) return args
  const ids = await idsOf(ctx, scope)
  const shape = ctx.operation.input.shape
  const outside = (what: string) =>
    new AppError('forbidden', `${what} is outside the ${levelWords[level]} of this server`, {
      details: `This server is limited to ${scope[level]}. Leave ${scopedInputs(scope).join(', ')} out: they are filled in.`,
    })
  for (const name of scopedInputs(scope)) {
    if (args[name] !== undefined && args[name] !== ids[name as keyof ScopeIds]) throw outside(name)
  }
  await checkOwners(ctx, ids, args, outside)
  await checkSources(ctx, ids, args, outside)
  const filled: Record<string, unknown> = { ...args }
  for (const name of ['accountId', 'appId', 'appEnvId'] as const) {
    if (ids[name] !== undefined && name in shape) filled[name] = ids[name]
  }
  // The operation takes one of the two: use the narrower one.
  if (ctx.operation.policy.on === 'account-or-app' && filled.appId !== undefined) delete filled.accountId
  return filled
}

async function idsOf(ctx: ToolContext, scope: ServerScope): Promise<ScopeIds> {
  const ids = await narrowestIds(ctx, scope)
  const agrees =
    (scope.account === null || scope.account === ids.accountId) &&
    (scope.app === null || scope.app === ids.appId)
  if (agrees) return ids
  throw new AppError('forbidden', 'The account, app and environment of this server do not belong together', {
    details: 'Every call is refused. A person must start this server with ids of one account and app.',
  })
}

async function narrowestIds(ctx: ToolContext, scope: ServerScope): Promise<ScopeIds> {
  if (scope.env !== null) {
    const ref = /^env_/.test(scope.env) ? { appEnvId: scope.env } : { envName: scope.env }
    const { accountId, appId, appEnvId, cliEnvName } = await ctx.reads.environment(ref, ctx.signal)
    return { accountId, appId, appEnvId, ...(cliEnvName === null ? {} : { envName: cliEnvName }) }
  }
  if (scope.app !== null) {
    const { accountId, appId } = await ctx.reads.app(scope.app, ctx.signal)
    return { accountId, appId }
  }
  return { accountId: scope.account! }
}

/** Objects with their own id must belong to the scope. */
async function checkOwners(
  ctx: ToolContext,
  ids: ScopeIds,
  args: ToolInput,
  outside: (what: string) => AppError,
): Promise<void> {
  if (ids.appEnvId === undefined && (args.appEnvId !== undefined || args.envName !== undefined)) {
    const env = await ctx.reads.environment(args, ctx.signal)
    if (!isInside(ids, env)) throw outside('This environment')
  }
  if (ids.appId === undefined && typeof args.appId === 'string') {
    if (!isInside(ids, await ctx.reads.app(args.appId, ctx.signal))) throw outside('This app')
  }
  for (const type of resourceTypes) {
    const {
      readBy,
      key,
      idFields: [input = ''],
    } = factsOf(type)
    if (readBy === undefined || args[input] === undefined || !(input in ctx.operation.input.shape)) continue
    const owner = await ownerOf(ctx, ids, type, args[input])
    if (!isInside(ids, owner)) throw outside(`This ${key}`)
  }
}

interface Reference {
  name?: unknown
  from?: { envName?: unknown; field?: unknown }
}

/**
 * A reference brings the value of another environment into the scope. An existing one may stay, so that a read can be
 * written back.
 */
async function checkSources(
  ctx: ToolContext,
  ids: ScopeIds,
  args: ToolInput,
  outside: (what: string) => AppError,
): Promise<void> {
  // Unchecked input: anything may be in the lists.
  const lists = [args.set, args.envVars].filter(Array.isArray)
  for (const { name, from } of lists.flat().map((one) => Object(one) as Reference)) {
    if (typeof from?.envName !== 'string') continue
    const { envName, field } = from
    const source = await ctx.reads.environment({ envName }, ctx.signal)
    if (isInside(ids, source)) continue
    const own = ids.appEnvId ?? args.appEnvId
    const target = own === undefined && args.envName === undefined ? null : { ...args, appEnvId: own }
    const { envVars = [] } = target ? await ctx.reads.environment(target, ctx.signal) : {}
    const isKept = envVars.some(
      (one) => one.name === name && one.from?.envName === envName && one.from.field === field,
    )
    if (!isKept) throw outside('The environment in from.envName')
  }
}

interface Owner {
  accountId?: string
  appId?: string
  appEnvId?: string
}

async function ownerOf(ctx: ToolContext, ids: ScopeIds, type: ResourceType, id: unknown): Promise<Owner> {
  const { readBy, idFields, key } = factsOf(type)
  const row = operations.find((one) => one.id === readBy)
  if (row === undefined) throw new Error(`no operation reads a ${type}`)
  const answer = await ctx.client.call(row, { [idFields[0]!]: id }, { signal: ctx.signal })
  const owner = ((answer as Record<string, unknown>)[key!] ?? answer) as Owner
  // The environment of a backup may be gone; for a server limited to an account, its account is enough.
  if (owner.appEnvId === undefined || (ids.appId === undefined && owner.accountId !== undefined)) return owner
  return ctx.reads.environment({ appEnvId: owner.appEnvId }, ctx.signal)
}

/** Whether every id that both sides state is the same. Contact points belong to the account alone. */
function isInside(ids: ScopeIds, owner: Owner): boolean {
  return (['accountId', 'appId', 'appEnvId'] as const).every(
    (name) => ids[name] === undefined || owner[name] === undefined || ids[name] === owner[name],
  )
}

/** An answer without the items of its lists that belong to something else. */
export async function answerWithinScope<Answer extends Record<string, unknown>>(
  ctx: ToolContext,
  scope: ServerScope,
  answer: Answer,
): Promise<Answer> {
  if (scopeLevelOf(scope) === null || !isRead(ctx.operation)) return answer
  const ids = await idsOf(ctx, scope)
  const cut: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(answer)) {
    cut[key] = Array.isArray(value) ? await itemsInside(ctx, ids, value) : value
  }
  return cut as Answer
}

async function itemsInside(ctx: ToolContext, ids: ScopeIds, items: readonly unknown[]): Promise<unknown[]> {
  const kept: unknown[] = []
  for (const item of items) {
    const owner = await wholeOwner(ctx, ids, Object(item) as Owner)
    if (owner !== null && isInside(ids, owner)) kept.push(item)
  }
  return kept
}

/** An item that names its environment only belongs to the app of that; null when the environment is gone. */
async function wholeOwner(ctx: ToolContext, ids: ScopeIds, owner: Owner): Promise<Owner | null> {
  if (ids.appId === undefined || owner.appId !== undefined || owner.appEnvId === undefined) return owner
  if (ids.appEnvId !== undefined) return owner
  try {
    return await ctx.reads.environment({ appEnvId: owner.appEnvId }, ctx.signal)
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}
