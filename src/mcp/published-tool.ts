import { type Exposure, pinnedInputs, refusalOf, type ToolFacts } from './exposure.ts'
import type { SchemaNode } from './portable-schema.ts'

/** A tool as a client sees it in `tools/list`. */
export interface ListedTool {
  name: string
  title: string
  description: string
  inputSchema: SchemaNode
  outputSchema: SchemaNode
  annotations: {
    readOnlyHint: boolean
    destructiveHint?: boolean
    idempotentHint?: boolean
  }
}

/** A listed tool and what decides whether, and with which inputs, it is listed. Made once, when building. */
export interface PublishedTool {
  listed: ListedTool
  facts: ToolFacts
  /** Inputs that are there only with secrets allowed. */
  secretInputs: readonly string[]
  /** The permission without which every call is refused. */
  needs: 'admin' | 'manageMembers' | null
  /** Whether environment tokens may call it (A2). */
  environmentToken: boolean
}

/** What the caller may do at best, in any account; null where that is not known before a call. */
export interface Standing {
  kind: 'user' | 'environment'
  readOnly: boolean
  admin: boolean
  manageMembers: boolean
}

/** The list under these choices, always in the same order. */
export function listedTools(
  published: readonly PublishedTool[],
  exposure: Exposure,
  standing: Standing | null = null,
): ListedTool[] {
  const gone = pinnedInputs(exposure.pin)
  return published
    .filter((tool) => refusalOf(tool.facts, exposure) === null && mayCall(tool, standing))
    .map((tool) => withoutInputs(tool.listed, exposure.allowSecrets ? gone : [...gone, ...tool.secretInputs]))
}

/** False where every call of this caller would be refused. The platform decides at the call, not this. */
function mayCall(tool: PublishedTool, standing: Standing | null): boolean {
  if (standing === null) return true
  if (standing.readOnly && !tool.facts.readOnly) return false
  if (standing.kind === 'environment') return tool.environmentToken
  return tool.needs === null || standing[tool.needs] || standing.admin
}

function withoutInputs(tool: ListedTool, names: readonly string[]): ListedTool {
  const { properties = {}, required, ...schema } = tool.inputSchema
  const stays = (name: string) => !names.includes(name)
  if (Object.keys(properties).every(stays)) return tool
  const needed = required?.filter(stays) ?? []
  const inputSchema: SchemaNode = {
    ...schema,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => stays(name))),
    ...(needed.length === 0 ? {} : { required: needed }),
  }
  return { ...tool, inputSchema }
}
