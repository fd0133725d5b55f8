import type { IncomingMessage } from 'node:http'
import { type Scope, scopesOfCall } from '../../../contract/scopes.ts'
import { AppError, httpStatusOf } from '../../../errors.ts'
import type { ToolPolicy } from '../../policy/tool-policy.ts'
import type { Tool } from '../../tools/define-tool.ts'
import { type Refusal, unauthenticated } from './guards.ts'

/** The OAuth functions that `/mcp` uses. */
export interface McpOAuth {
  /** Null for a token that is not of OAuth. The API gets `token` in place of the access token, which ends here. */
  admit(token: string, host: string | undefined): Promise<AdmittedAgent | null>
  /** Notes that an agent was answered `insufficient_scope`; `token` is the one of `admit`. */
  needsMore(token: string): Promise<void>
  /** The value of `WWW-Authenticate`. */
  challenge(host: string | undefined, scope: readonly string[], error?: 'insufficient_scope'): string
}

interface AdmittedAgent {
  token: string
  /** The limits that the person set; the address and the headers of a request can only narrow them. */
  limits: Partial<ToolPolicy>
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

/**
 * The 403 for calls beyond the scopes of the agent, after which a host asks the person for more; null if no call is beyond
 * them. `scope` also names the scopes that the agent has, because a new sign-in replaces the old one.
 */
export function scopeRefusal(
  oauth: McpOAuth,
  { headers }: IncomingMessage,
  body: unknown,
  { scopes, tools, allowSecrets }: ScopesOfAgent,
): Refusal | null {
  for (const message of Array.isArray(body) ? body : [body]) {
    const needed = scopesNeeded(Object(message), tools)
    const missing = needed.filter(
      (scope) => !scopes.includes(scope) && (allowSecrets || scope !== 'secrets:read'),
    )
    if (missing.length === 0) continue
    const wanted = [...new Set([...scopes, ...needed])]
    return {
      status: 403,
      error: 'insufficient_scope',
      details: `This call needs ${missing.join(' ')}. Ask the person for it: sign in again with the scopes of WWW-Authenticate.`,
      headers: { 'www-authenticate': oauth.challenge(headers.host, wanted, 'insufficient_scope') },
    }
  }
  return null
}

interface ScopesOfAgent {
  /** The scopes that the person allowed. */
  scopes: readonly Scope[]
  tools: ReadonlyMap<string, Tool>
  /** Whether this server shows secrets; if not, no scope would help. */
  allowSecrets: boolean
}

/** Empty for anything but the call of a known tool. */
function scopesNeeded(
  message: { method?: unknown; params?: unknown },
  tools: ReadonlyMap<string, Tool>,
): Scope[] {
  if (message.method !== 'tools/call') return []
  const { name, arguments: args } = Object(message.params) as { name?: unknown; arguments?: unknown }
  const tool = typeof name === 'string' ? tools.get(name) : undefined
  return tool ? (scopesOfCall(tool.operation, Object(args)) ?? []) : []
}
