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
    openWorldHint: boolean
  }
}

/** A listed tool, and which of its inputs are there only with secrets allowed. Made once, when building. */
export interface PublishedTool {
  listed: ListedTool
  secretInputs: readonly string[]
}

/** What a person chose when starting the server; it wins over everything. */
export interface Exposure {
  /** Inputs that show secrets exist. */
  allowSecrets: boolean
  /** Tools that change anything do not exist, and are refused by name. */
  readOnly: boolean
}

/** The list under these choices, always in the same order. */
export function listedTools(published: readonly PublishedTool[], exposure: Exposure): ListedTool[] {
  return published
    .filter(({ listed }) => !exposure.readOnly || listed.annotations.readOnlyHint)
    .map((tool) => (exposure.allowSecrets ? tool.listed : withoutInputs(tool.listed, tool.secretInputs)))
}

function withoutInputs(tool: ListedTool, names: readonly string[]): ListedTool {
  if (names.length === 0) return tool
  const properties = Object.entries(tool.inputSchema.properties ?? {}).filter(
    ([name]) => !names.includes(name),
  )
  return { ...tool, inputSchema: { ...tool.inputSchema, properties: Object.fromEntries(properties) } }
}
