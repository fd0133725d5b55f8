import type { IncomingMessage } from 'node:http'
import { type Scope, scopesOfCall } from '../../../contract/scopes.ts'
import { AppError, httpStatusOf } from '../../../errors.ts'
import { refusalOf, type ToolPolicy } from '../../policy/tool-policy.ts'
import { factsOf, type Tool, type ToolInput } from '../../tools/define-tool.ts'
import { type Refusal, unauthenticated } from './guards.ts'

/** The OAuth functions that `/mcp` uses. */
export interface McpOAuth {
  /** Null for a token that is not of OAuth. The API gets `token` in place of the access token, which ends here. */
  admit(token: string, host: string | undefined): Promise<AdmittedAgent | null>
  /** Notes that an agent was answered `insufficient_scope` for `scopes`; `token` is the one of `admit`. */
  needsMore(token: string, scopes: readonly Scope[]): Promise<void>
  /** The value of `WWW-Authenticate`. */
  challenge(host: string | undefined, scope: readonly string[], error?: 'insufficient_scope'): string
}

interface AdmittedAgent {
  token: string
  /** The limits that the person set; the address and the headers of a request can only narrow them. */
  limits: Partial<ToolPolicy>
  /** Scopes that the person left out: a call that needs one is refused, and does not ask again. */
  declined?: readonly Scope[]
}

/** The agent of a valid access token; any other token as it is, without limits of its own. */
export async function admittedAgent(
  oauth: McpOAuth | undefined,
  { headers }: IncomingMessage,
  token: string,
): Promise<AdmittedAgent | Refusal> {
  try {
    return (await oauth?.admit(token, headers.host)) ?? { token, limits: {} }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const refusal = { status: httpStatusOf[error.kind], error: error.message, details: error.details ?? '' }
    return error.kind === 'unavailable' ? { ...refusal, headers: { 'retry-after': '1' } } : refusal
  }
}

/** The scopes of a first sign-in: enough to read and deploy. A host requests more when a call needs more. */
const firstScopes: readonly Scope[] = ['environments:read', 'environments:write']

/** The 401 of this server; with OAuth it names where to sign in. */
export function unauthenticatedBy(oauth: McpOAuth | undefined, { headers }: IncomingMessage): Refusal {
  if (oauth === undefined) return unauthenticated
  return {
    ...unauthenticated,
    details:
      'Sign in as WWW-Authenticate says, or send the header Authorization: Bearer <token> with a token.',
    headers: { 'www-authenticate': oauth.challenge(headers.host, firstScopes) },
  }
}

interface ScopeRefusal {
  tool: Tool
  args: ToolInput
  refusal: Refusal
  wanted: Scope[] | null
}

/**
 * The 403 for calls beyond the scopes of the agent; null if there is none. With `wanted`, a host asks the person for these
 * scopes; the old ones are among them, because a new sign-in replaces the old one. Without, the person's own choice at the
 * sign-in rules the call out, and asking again would not help.
 */
export function scopeRefusal(
  oauth: McpOAuth,
  { headers }: IncomingMessage,
  body: unknown,
  agent: ScopesOfAgent,
): ScopeRefusal | null {
  for (const message of Array.isArray(body) ? body : [body]) {
    const tool = toolCalled(Object(message), agent.tools)
    const missing = tool ? missingScopes(tool, Object(message), agent) : []
    if (tool === null || missing.length === 0) continue
    const chosen = refusalOf(factsOf(tool), agent.toolPolicy) ?? refusalOfDeclined(missing, agent)
    if (chosen !== null) {
      const refusal = { status: 403, error: chosen.message, details: chosen.details ?? '' }
      return { ...callOf(tool, Object(message)), refusal, wanted: null }
    }
    const wanted = [...new Set([...agent.scopes, ...missing])]
    const refusal = {
      status: 403,
      error: 'insufficient_scope',
      details: `This call needs ${missing.join(' ')}. Ask the person for it: sign in again with the scopes of WWW-Authenticate.`,
      headers: { 'www-authenticate': oauth.challenge(headers.host, wanted, 'insufficient_scope') },
    }
    return { ...callOf(tool, Object(message)), refusal, wanted }
  }
  return null
}

function refusalOfDeclined(missing: readonly Scope[], { declined }: ScopesOfAgent): AppError | null {
  const left = missing.filter((scope) => declined.includes(scope))
  if (left.length === 0) return null
  return new AppError('forbidden', `The person left ${left.join(' ')} out`, {
    details: 'They chose so when this agent signed in. They can connect it again with more.',
  })
}

interface ScopesOfAgent {
  /** The scopes that the person allowed. */
  scopes: readonly Scope[]
  declined: readonly Scope[]
  toolPolicy: ToolPolicy
  tools: ReadonlyMap<string, Tool>
  /** Whether this server shows secrets; if not, no scope would help. */
  allowSecrets: boolean
}

function toolCalled(
  { method, params }: { method?: unknown; params?: unknown },
  tools: ReadonlyMap<string, Tool>,
): Tool | null {
  const { name } = Object(params) as { name?: unknown }
  return (method === 'tools/call' && typeof name === 'string' && tools.get(name)) || null
}

function callOf(tool: Tool, { params }: { params?: unknown }): Pick<ScopeRefusal, 'tool' | 'args'> {
  return { tool, args: argumentsOf(params) }
}

function argumentsOf(params: unknown): ToolInput {
  return Object((Object(params) as { arguments?: unknown }).arguments)
}

function missingScopes(
  { operation }: Tool,
  { params }: { params?: unknown },
  { scopes, allowSecrets }: ScopesOfAgent,
): Scope[] {
  const needed = scopesOfCall(operation, argumentsOf(params)) ?? []
  return needed.filter((scope) => !scopes.includes(scope) && (allowSecrets || scope !== 'secrets:read'))
}
