import type { PinLevel } from '../../contract/resources.ts'
import type { Scope } from '../../contract/scopes.ts'
import type { ToolGroup } from '../../contract/tool-groups.ts'

/** What an agent may reach; all null: everything that its person can reach. */
export interface AgentReach {
  account: string | null
  app: string | null
  /** One environment, which its calls need not name. */
  env: string | null
  /** Several environments. Absent in grants of an earlier version. */
  environments?: readonly string[] | null
}

/** The environments that the reach names; null: it names none. */
export function environmentsIn({ env, environments = null }: AgentReach): readonly string[] | null {
  return environments ?? (env === null ? null : [env])
}

/** The narrowest thing that the reach names; null: it names nothing. */
export function levelOf(reach: AgentReach): PinLevel | null {
  if (environmentsIn(reach) !== null) return 'env'
  if (reach.app !== null) return 'app'
  return reach.account === null ? null : 'account'
}

/** What the person narrowed on the consent page; the same limits as the options of `longshore mcp`. */
export interface AgentLimits {
  readOnly: boolean
  /** Groups of tools; null: all. */
  groups: readonly ToolGroup[] | null
  pin: AgentReach
}

/** The scopes that remain for an agent that may only read: secrets could allow writes elsewhere (X1). */
export function scopesWithin(scopes: readonly Scope[], { readOnly }: Pick<AgentLimits, 'readOnly'>): Scope[] {
  return scopes.filter((scope) => !readOnly || scope === 'environments:read')
}
