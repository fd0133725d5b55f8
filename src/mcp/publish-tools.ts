import { z } from 'zod'
import { factsOf, type Tool, type ToolHints } from './define-tool.ts'
import { portableInput, portableOutput } from './portable-schema.ts'
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
      inputSchema: portableInput(listedInput(tool)),
      outputSchema: portableOutput(outputSchemaOf(tool)),
      annotations: annotationsOf(tool.hints),
    },
    facts: factsOf(tool),
    secretInputs: tool.secretInputs,
    needs: 'needs' in policy ? (policy.needs ?? null) : null,
    environmentToken: 'environmentToken' in policy && policy.environmentToken === true,
  }
}

function listedInput(tool: Tool): z.ZodObject {
  const shape = Object.entries(inputSchemaOf(tool).shape)
  return z.strictObject(Object.fromEntries(shape.filter(([name]) => !tool.unlistedInputs.includes(name))))
}

/** The hints about what a write does mean nothing on a read, so reads go without them. */
function annotationsOf(hints: ToolHints): ListedTool['annotations'] {
  if (hints.readOnly) return { readOnlyHint: true, openWorldHint: hints.openWorld }
  return {
    readOnlyHint: false,
    destructiveHint: hints.destructive,
    idempotentHint: hints.idempotent,
    openWorldHint: hints.openWorld,
  }
}
