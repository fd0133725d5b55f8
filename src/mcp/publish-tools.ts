import { z } from 'zod'
import { factsOf, type Tool, type ToolHints } from './define-tool.ts'
import { portableInput, portableOutput, type SchemaNode } from './portable-schema.ts'
import type { ListedTool, PublishedTool } from './published-tool.ts'
import { inputSchemaOf, outputSchemaOf } from './tool-schema.ts'

/** Converts every schema once. A schema that cannot be published names its tool. */
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
      title: tool.title,
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
    portableInput(listedInput(tool)),
    tool.referredInputs ?? {},
  )
  const defaults = Object.entries(tool.defaults ?? {})
  const changed = defaults.map(([name, value]) => [name, { ...properties[name], default: value }])
  return { ...schema, properties: { ...properties, ...Object.fromEntries(changed) } }
}

/** Taken by every tool that has it, listed by none: what is waited for when it is left out suits the caller. */
const seldomGiven = ['waitSeconds']

function listedInput(tool: Tool): z.ZodObject {
  const shape = Object.entries(inputSchemaOf(tool).shape)
  const unlisted = new Set([...tool.unlistedInputs, ...seldomGiven])
  return z.strictObject(Object.fromEntries(shape.filter(([name]) => !unlisted.has(name))))
}

/** A list of values that stands in another tool already is not paid for twice; a wrong one is told at the call. */
function referring(schema: SchemaNode, words: Readonly<Record<string, string>>): SchemaNode {
  const properties = { ...schema.properties }
  for (const [name, description] of Object.entries(words)) {
    const { enum: _enum, ...plain } = properties[name]!
    properties[name] = description === '' ? plain : { ...plain, description }
  }
  return { ...schema, properties }
}

/**
 * The hints about what a write does mean nothing on a read, so reads go without them. `openWorldHint` stays out: true
 * is what a client assumes, and right, for what runs here and what it logs comes from outside.
 */
function annotationsOf(hints: ToolHints): ListedTool['annotations'] {
  if (hints.readOnly) return { readOnlyHint: true }
  return {
    readOnlyHint: false,
    destructiveHint: hints.destructive,
    // False is what a client assumes.
    ...(hints.idempotent ? { idempotentHint: true } : {}),
  }
}
