import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import type { Installation } from '../testkit/platform/installation.ts'
import { type CallTool, type Named, type Task, ToolError } from './task.ts'
import { EvalWorld } from './world.ts'

export interface ListedTool {
  name: string
  description?: string
  inputSchema: object
}

/** Works on one task and returns its last message. */
export type Agent = (work: {
  task: Task
  named: Named
  prompt: string
  tools: readonly ListedTool[]
  call: CallTool
}) => Promise<string>

/** The agent that plays each task's script: what the tools themselves cost and whether they suffice. */
export const scriptedAgent: Agent = ({ task, named, call }) => task.script(call, named)

export interface Trial {
  taskId: string
  injects: boolean
  /** Null if solved without a wrong write. */
  problem: string | null
  wrongWrites: string[]
  calls: number
  /** o200k tokens of all arguments and results. */
  tokens: number
}

/** Seeds an account of its own, lets the agent work over MCP, and verifies the state through the REST API. */
export async function runTrial(
  installation: Installation,
  task: Task,
  agent: Agent,
  seed: number,
): Promise<Trial> {
  const world = await EvalWorld.make(installation, seed)
  const named = await task.setup(world)
  const client = new Client({ name: 'eval', version: '1' })
  const requestInit = { headers: { authorization: world.agentToken } }
  await client.connect(new StreamableHTTPClientTransport(world.mcpUrl, { requestInit }))
  const spent = { calls: 0, tokens: 0 }
  const call: CallTool = async (name, args = {}) => {
    const options = { timeout: 120_000, onprogress: () => {}, resetTimeoutOnProgress: true }
    const result = await client.callTool({ name, arguments: args }, undefined, options)
    const text = (result.content as { text?: string }[]).map((part) => part.text ?? '').join('\n')
    spent.calls += 1
    spent.tokens += encode(JSON.stringify(args)).length + encode(text).length
    if (result.isError) throw new ToolError(text)
    return { ...(result.structuredContent as object), text }
  }
  try {
    const { tools } = await client.listTools()
    const answer = await agent({ task, named, prompt: task.prompt(named), tools, call })
    const wrongWrites = await world.wrongWrites(task.writes)
    const problem = await task.problem(world, named, answer)
    const wrote = wrongWrites.length === 0 ? null : `wrong writes: ${wrongWrites.join(', ')}`
    return {
      taskId: task.id,
      injects: task.injects === true,
      problem: problem ?? wrote,
      wrongWrites,
      ...spent,
    }
  } catch (error) {
    const problem = `the agent stopped: ${(error as Error).message.slice(0, 300)}`
    return { taskId: task.id, injects: task.injects === true, problem, wrongWrites: [], ...spent }
  } finally {
    await client.close()
  }
}
