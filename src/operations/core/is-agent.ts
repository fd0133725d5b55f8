import type { Context } from './handler.ts'

/** Whether an agent makes the call: through MCP, or with a token that an agent signed in for. */
export function isAgent({ surface, caller }: Pick<Context, 'surface' | 'caller'>): boolean {
  return surface === 'mcp' || caller.token.scopes !== null
}
