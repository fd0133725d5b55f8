import type { ScopeLevel } from '../../contract/resource-facts.ts'
import type { Scope } from '../../contract/scopes.ts'
import type { ToolGroup } from '../../contract/tool-groups.ts'

/** The objects that an agent is limited to; all null: everything that its person may use. */
export interface AgentScope {
  account: string | null
  app: string | null
  /** One environment, which its calls need not name. */
  env: string | null
  /** Several environments. Absent in grants of an earlier version. */
  environments?: readonly string[] | null
}

/** The environments in the scope; null if it has none. */
export function environmentsIn({ env, environments = null }: AgentScope): readonly string[] | null {
  return environments ?? (env === null ? null : [env])
}

/** The narrowest object in the scope; null if it is empty. */
export function levelOf(scope: AgentScope): ScopeLevel | null {
  if (environmentsIn(scope) !== null) return 'env'
  if (scope.app !== null) return 'app'
  return scope.account === null ? null : 'account'
}

/** Limits that the person set on the consent page; the same as the options of `longshore mcp`. */
export interface AgentLimits {
  readOnly: boolean
  /** Groups of tools; null: all. */
  groups: readonly ToolGroup[] | null
  pin: AgentScope
  /** Requested scopes that the person left out, so that no call asks again. Absent in grants of an earlier version. */
  declined?: readonly Scope[]
}

/** The scopes that remain for an agent that may only read: secrets could allow writes elsewhere (X1). */
export function scopesWithin(scopes: readonly Scope[], { readOnly }: Pick<AgentLimits, 'readOnly'>): Scope[] {
  return scopes.filter((scope) => !readOnly || scope === 'environments:read')
}

/** Who uses a token, and within which limits; the same limits as those of an agent that signs in with OAuth. */
export interface TokenAccess {
  kind: 'person' | 'agent'
  /** The name under which the person knows the agent. */
  label: string | null
  /** Null: all. */
  scopes: readonly Scope[] | null
  groups: readonly ToolGroup[] | null
  pin: AgentScope
  /** May dry-run and propose writes that the limits exclude. */
  mayPropose: boolean
  /** Made for an agent that a remediation calls: its writes belong to the run, and are limited to these operations. */
  remediation?: { runId: string; operations: readonly string[] | null }
}

const everything: AgentScope = Object.freeze({ account: null, app: null, env: null })

/** The access of a person's token without limits. */
export const personAccess: TokenAccess = Object.freeze({
  kind: 'person',
  label: null,
  scopes: null,
  groups: null,
  pin: everything,
  mayPropose: false,
})
