import { z } from 'zod'
import { type Operation, operation } from '../../../src/contract/operation.ts'
import { type Check, defineTool, type Tool } from '../../../src/mcp/tools/define-tool.ts'

/**
 * The tools the conformance suite asks for by name, as tools of ours: rows of a contract, carried out by a REST
 * backend (fixture-backend.ts), run with checks, progress and questions as every tool is.
 */
function row(id: string, input: z.ZodRawShape = {}): Operation {
  return operation({
    id,
    method: 'POST',
    path: `/${id}`,
    summary: `Answers what the conformance suite expects of ${id}.`,
    policy: { on: 'installation' },
    input: z.strictObject(input),
    output: z.object({ message: z.string() }),
  })
}

function tool(id: string, options: { input?: z.ZodRawShape; checks?: Check[] } = {}): Tool {
  return defineTool({
    operation: row(id, options.input),
    group: 'apps',
    title: id,
    description: `Does what the conformance suite expects of ${id}.`,
    hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
    checks: options.checks ?? [],
  })
}

const tellsProgress: Check = (ctx) => {
  for (const done of [0, 50, 100]) ctx.progress(`${done} of 100`, done, 100)
  return undefined
}

const asksThePerson: Check = async (ctx, { message }) => {
  const answer = (await ctx.askPerson?.(String(message), 'Yes')) ?? null
  return `The person ${answer === null ? 'could not answer' : answer ? 'agreed' : 'did not agree'}`
}

export const fixtureTools: readonly Tool[] = [
  tool('test_simple_text'),
  tool('test_error_handling'),
  tool('test_tool_with_progress', { checks: [tellsProgress] }),
  tool('test_elicitation', { input: { message: z.string() }, checks: [asksThePerson] }),
]
