import type { Scope } from '../../contract/scopes.ts'
import type { ToolGroup } from '../../contract/tool-groups.ts'

/** What an agent may reach; all null: everything that its person can reach. */
interface AgentReach {
  account: string | null
  app: string | null
  /** An appEnvId. */
  env: string | null
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
