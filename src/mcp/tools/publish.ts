import { factsOf, type Tool, type ToolHints } from './define-tool.ts'
import { listedInput, portableOutput, type SchemaNode } from './portable-schema.ts'
import type { ListedTool, PublishedTool } from './published-tool.ts'
import { inputSchemaOf, outputSchemaOf } from './schema.ts'

/** Converts every schema. Throws with the name of the tool if its schema cannot be published. */
export function publishTools(tools: readonly Tool[]): PublishedTool[] {
  return tools.map((tool) => {
    try {
      return publishTool(tool)
    } catch (error) {
      throw new Error(`tool ${tool.name}: ${(error as Error).message}`, { cause: error })
    }
  })
}

function publishTool(tool: Tool): PublishedTool {
  const { policy } = tool.operation
  return {
    listed: {
      name: tool.name,
      description: tool.description,
      inputSchema: inputOf(tool),
      outputSchema: portableOutput(outputSchemaOf(tool)),
      annotations: annotationsOf(tool.hints),
    },
    facts: factsOf(tool),
    secretInputs: tool.secretInputs,
    needs: 'needs' in policy ? (policy.needs ?? null) : null,
    environmentToken: 'environmentToken' in policy && policy.environmentToken === true,
  }
}

function inputOf(tool: Tool): SchemaNode {
  const { properties = {}, ...schema } = referring(
    listedInput(inputSchemaOf(tool)),
    tool.referredInputs ?? {},
  )
  const defaults = Object.entries(tool.defaults ?? {})
  // The description of the row may state the platform's own default, which this one replaces.
  const changed = defaults.map(([name, value]) => {
    const { description: _description, ...property } = properties[name] ?? {}
    // A number is how many a list shows; the list says so itself.
    return [name, typeof value === 'number' ? property : { ...property, default: value }]
  })
  return { ...schema, properties: { ...properties, ...Object.fromEntries(changed) } }
}

/** Replaces values and fields that another tool already lists, to save tokens; the call still checks them. */
function referring(schema: SchemaNode, words: Readonly<Record<string, string>>): SchemaNode {
  const properties = { ...schema.properties }
  for (const [name, description] of Object.entries(words)) {
    const { type, default: byDefault, items } = properties[name]!
    properties[name] = {
      ...{ type },
      ...(byDefault !== undefined && { default: byDefault }),
      ...(items && { items: { type: items.type } }),
      ...(description !== '' && { description }),
    }
  }
  return { ...schema, properties }
}

function annotationsOf({
  readOnly,
  destructive,
  idempotent,
  openWorld,
}: ToolHints): ListedTool['annotations'] {
  return {
    readOnlyHint: readOnly,
    destructiveHint: destructive,
    idempotentHint: idempotent,
    openWorldHint: openWorld,
  }
}
