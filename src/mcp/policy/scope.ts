import { operations } from '../../contract/index.ts'
import { isRead } from '../../contract/operation.ts'
import { factsOf, type ResourceType, resourceTypes } from '../../contract/resources.ts'
import { AppError } from '../../errors.ts'
import type { ToolContext, ToolInput } from '../tools/define-tool.ts'
import { type PinnedScope, pinLevelOf, pinnedInputs, pinWords } from './tool-policy.ts'

/** The ids that the pin implies; ids below its level are not limited. */
interface Scope {
  accountId: string
  appId?: string
  appEnvId?: string
  envName?: string
}

/**
 * Arguments with the pinned ids filled in. Throws `forbidden` for a call that names, or acts on an object that
 * belongs to, anything else. `args` are returned as they are where nothing is pinned.
 */
export async function withinPin(ctx: ToolContext, pin: PinnedScope, args: ToolInput): Promise<ToolInput> {
  const level = pinLevelOf(pin)
  if (level === null) return args
  const scope = await scopeOf(ctx, pin)
  const shape = ctx.operation.input.shape
  const outside = (what: string) =>
    new AppError('forbidden', `${what} is outside the pinned ${pinWords[level]}`, {
      details: `This server is pinned to ${pin[level]}. Leave ${pinnedInputs(pin).join(', ')} out: they are filled in.`,
    })
  for (const name of pinnedInputs(pin)) {
    if (args[name] !== undefined && args[name] !== scope[name as keyof Scope]) throw outside(name)
  }
  await checkOwners(ctx, scope, args, outside)
  await checkSources(ctx, scope, args, outside)
  const filled: Record<string, unknown> = { ...args }
  for (const name of ['accountId', 'appId', 'appEnvId'] as const) {
    if (scope[name] !== undefined && name in shape) filled[name] = scope[name]
  }
  // The operation takes one of the two: use the narrower one.
  if (ctx.operation.policy.on === 'account-or-app' && filled.appId !== undefined) delete filled.accountId
  return filled
}

async function scopeOf(ctx: ToolContext, pin: PinnedScope): Promise<Scope> {
  const scope = await narrowestScope(ctx, pin)
  const agrees =
    (pin.account === null || pin.account === scope.accountId) && (pin.app === null || pin.app === scope.appId)
  if (agrees) return scope
  throw new AppError('forbidden', 'The pinned account, app and environment do not belong together', {
    details: 'Every call is refused. A person must start this server with ids of one account and app.',
  })
}

async function narrowestScope(ctx: ToolContext, pin: PinnedScope): Promise<Scope> {
  if (pin.env !== null) {
    const ref = /^env_/.test(pin.env) ? { appEnvId: pin.env } : { envName: pin.env }
    const { accountId, appId, appEnvId, cliEnvName } = await ctx.reads.environment(ref, ctx.signal)
    return { accountId, appId, appEnvId, ...(cliEnvName === null ? {} : { envName: cliEnvName }) }
  }
  if (pin.app !== null) {
    const { accountId, appId } = await ctx.reads.app(pin.app, ctx.signal)
    return { accountId, appId }
  }
  return { accountId: pin.account! }
}

/** Objects with their own id must belong to the pinned scope. */
async function checkOwners(
  ctx: ToolContext,
  scope: Scope,
  args: ToolInput,
  outside: (what: string) => AppError,
): Promise<void> {
  if (scope.appEnvId === undefined && (args.appEnvId !== undefined || args.envName !== undefined)) {
    const env = await ctx.reads.environment(args, ctx.signal)
    if (!isInside(scope, env)) throw outside('This environment')
  }
  if (scope.appId === undefined && typeof args.appId === 'string') {
    if (!isInside(scope, await ctx.reads.app(args.appId, ctx.signal))) throw outside('This app')
  }
  for (const type of resourceTypes) {
    const {
      readBy,
      key,
      idFields: [input = ''],
    } = factsOf(type)
    if (readBy === undefined || args[input] === undefined || !(input in ctx.operation.input.shape)) continue
    const owner = await ownerOf(ctx, scope, type, args[input])
    if (!isInside(scope, owner)) throw outside(`This ${key}`)
  }
}

interface Reference {
  name?: unknown
  from?: { envName?: unknown; field?: unknown }
}

/** A reference brings the value of another environment inside. One that is there may stay, so that a read can be written back. */
async function checkSources(
  ctx: ToolContext,
  scope: Scope,
  args: ToolInput,
  outside: (what: string) => AppError,
): Promise<void> {
  // Unchecked input: anything may be in the lists.
  const lists = [args.set, args.envVars].filter(Array.isArray)
  for (const { name, from } of lists.flat().map((one) => Object(one) as Reference)) {
    if (typeof from?.envName !== 'string') continue
    const { envName, field } = from
    const source = await ctx.reads.environment({ envName }, ctx.signal)
    if (isInside(scope, source)) continue
    const own = scope.appEnvId ?? args.appEnvId
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

async function ownerOf(ctx: ToolContext, scope: Scope, type: ResourceType, id: unknown): Promise<Owner> {
  const { readBy, idFields, key } = factsOf(type)
  const row = operations.find((one) => one.id === readBy)
  if (row === undefined) throw new Error(`no operation reads a ${type}`)
  const answer = await ctx.client.call(row, { [idFields[0]!]: id }, { signal: ctx.signal })
  const owner = ((answer as Record<string, unknown>)[key!] ?? answer) as Owner
  // The environment of a backup may be gone; for a pinned account its account is enough.
  if (owner.appEnvId === undefined || (scope.appId === undefined && owner.accountId !== undefined))
    return owner
  return ctx.reads.environment({ appEnvId: owner.appEnvId }, ctx.signal)
}

/** Whether every id that both sides state is the same. Contact points belong to the account alone. */
function isInside(scope: Scope, owner: Owner): boolean {
  return (['accountId', 'appId', 'appEnvId'] as const).every(
    (name) => scope[name] === undefined || owner[name] === undefined || scope[name] === owner[name],
  )
}

/** An answer without the items of its lists that belong to something else. */
export async function answerWithinPin<Answer extends Record<string, unknown>>(
  ctx: ToolContext,
  pin: PinnedScope,
  answer: Answer,
): Promise<Answer> {
  if (pinLevelOf(pin) === null || !isRead(ctx.operation)) return answer
  const scope = await scopeOf(ctx, pin)
  const cut: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(answer)) {
    cut[key] = Array.isArray(value) ? await itemsInside(ctx, scope, value) : value
  }
  return cut as Answer
}

async function itemsInside(ctx: ToolContext, scope: Scope, items: readonly unknown[]): Promise<unknown[]> {
  const kept: unknown[] = []
  for (const item of items) {
    const owner = await wholeOwner(ctx, scope, Object(item) as Owner)
    if (owner !== null && isInside(scope, owner)) kept.push(item)
  }
  return kept
}

/** An item that names its environment only belongs to the app of that; null when the environment is gone. */
async function wholeOwner(ctx: ToolContext, scope: Scope, owner: Owner): Promise<Owner | null> {
  if (scope.appId === undefined || owner.appId !== undefined || owner.appEnvId === undefined) return owner
  if (scope.appEnvId !== undefined) return owner
  try {
    return await ctx.reads.environment({ appEnvId: owner.appEnvId }, ctx.signal)
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}
