import { nearestEnvironments } from '../../client/nearest-environments.ts'
import { listAccounts } from '../../contract/accounts.ts'
import { listApps } from '../../contract/apps.ts'
import { resources } from '../../contract/resources.ts'
import { AppError } from '../../errors.ts'
import type { ServerScope } from '../policy/tool-policy.ts'
import type { Tool, ToolContext, ToolInput } from './define-tool.ts'

const mostAccounts = 5
/** Limit for names of accounts and apps. */
const longestName = 200

/** Names that were sent where an id belongs: the id of an account or app, and the tool that lists any other. */
export async function idCorrections(
  tool: Tool,
  ctx: ToolContext,
  scope: ServerScope,
  args: ToolInput,
): Promise<string[]> {
  const sentences: string[] = []
  const seen = new Set<string>()
  for (const { idPrefix, idFields, listedBy } of Object.values<Facts>(resources)) {
    for (const field of idFields) {
      // A policy is named by its account: the field is the id of the type that comes first.
      if (seen.has(field)) continue
      seen.add(field)
      const given = args[field]
      const isName = typeof given === 'string' && field !== 'envName' && !given.startsWith(`${idPrefix}_`)
      // `environmentCorrections` has those of environments.
      if (!isName || field === 'appEnvId' || !(field in tool.operation.input.shape)) continue
      const id = isLimited(scope) || given.length > longestName ? null : await idOf(ctx, field, given)
      const listed = listedBy === undefined ? '' : `; ${listedBy} shows ids`
      sentences.push(
        id === null
          ? `${field} is an id that begins with ${idPrefix}_, not a name${listed}.`
          : `Send ${field} ${id}: what you sent is the name of it.`,
      )
    }
  }
  return sentences
}

/** The environments that were probably meant by an `envName` that was not found, or a name in place of `appEnvId`. */
export async function environmentCorrections(
  error: AppError,
  ctx: ToolContext,
  scope: ServerScope,
  { appEnvId, envName, ...others }: ToolInput,
): Promise<string[]> {
  const source = sourceOf(others, error)
  if (source !== undefined) return await nearestTo(source, ctx, scope, 'from.envName: did')
  const given = appEnvId ?? envName
  const { noun, idPrefix } = resources.environment
  if (typeof given !== 'string' || given.startsWith(`${idPrefix}_`)) return []
  if (given === envName && error.message !== `${noun} not found`) return []
  return await nearestTo(given, ctx, scope, 'Did')
}

/** The name of the source that a reference of a variable could not find: the edited environment was found then. */
function sourceOf({ set, envVars }: ToolInput, { details = '' }: AppError): string | undefined {
  if (!details.startsWith('from.envName')) return undefined
  const names = [set, envVars].flat().flatMap((one) => (one as Variable | undefined)?.from?.envName ?? [])
  return new Set(names).size === 1 ? names[0] : undefined
}

interface Variable {
  from?: { envName?: string | null }
}

async function nearestTo(
  given: string,
  ctx: ToolContext,
  scope: ServerScope,
  start: string,
): Promise<string[]> {
  if (isLimited(scope)) return []
  try {
    const accountIds = await accountsOf(ctx)
    const near = await nearestEnvironments(ctx.client, given, accountIds, {
      signal: ctx.signal,
    })
    const shown = near.map((one) => `${one.cliEnvName} (appEnvId ${one.appEnvId})`)
    return shown.length === 0 ? [] : [`${start} you mean ${shown.join(' or ')}?`]
  } catch (failure) {
    // The token of an environment cannot list any.
    if (failure instanceof AppError) return []
    throw failure
  }
}

/** Names outside the scope of the server would not help. */
function isLimited({ account, app, env }: ServerScope): boolean {
  return account !== null || app !== null || env !== null
}

async function accountsOf({ client, signal }: ToolContext): Promise<string[]> {
  const { accounts } = await client.call(listAccounts, {}, { signal })
  return accounts.slice(0, mostAccounts).map(({ accountId }) => accountId)
}

interface Facts {
  idPrefix: string
  idFields: readonly string[]
  listedBy?: string
}

/** The id of the one account or app with this name; null if there is none or several. */
async function idOf(ctx: ToolContext, field: string, name: string): Promise<string | null> {
  if (field !== 'accountId' && field !== 'appId') return null
  try {
    const options = { signal: ctx.signal }
    const { accounts } = await ctx.client.call(listAccounts, {}, options)
    const lists = accounts.slice(0, mostAccounts)
    if (field === 'accountId')
      return only(lists.filter((one) => isNamed(one, name)).map((one) => one.accountId))
    const apps = await Promise.all(
      lists.map(({ accountId }) => ctx.client.call(listApps, { accountId }, options)),
    )
    return only(apps.flatMap((one) => one.apps.filter((app) => isNamed(app, name)).map((app) => app.appId)))
  } catch (error) {
    // The token of an environment lists neither.
    if (error instanceof AppError) return null
    throw error
  }
}

function isNamed({ name, slug }: { name: string; slug?: string }, wanted: string): boolean {
  const plain = wanted.toLowerCase()
  return name.toLowerCase() === plain || slug?.toLowerCase() === plain
}

function only(ids: readonly string[]): string | null {
  return ids.length === 1 ? ids[0]! : null
}
