import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import type { jsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/types.js'
import { createClient } from '../../src/client/client.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import { defaultToolPolicy, type ToolPolicy } from '../../src/mcp/policy/tool-policy.ts'
import { publishTools } from '../../src/mcp/tools/publish.ts'
import { listedTools } from '../../src/mcp/tools/published-tool.ts'
import { createReadCache } from '../../src/mcp/tools/read-cache.ts'
import { RetriedCalls } from '../../src/mcp/tools/retried-calls.ts'
import { runTool } from '../../src/mcp/tools/run-tool.ts'
import { createMcpServer } from '../../src/mcp/transport/server.ts'
import { tools } from '../../tools/index.ts'
import { fakeToken } from '../fakes/backend.ts'

export interface ToolReply {
  isError: boolean
  text: string
  structured: Record<string, unknown>
}

export interface ToolSession {
  client: Client
  call(name: string, args: Record<string, unknown>, options?: CallOptions): Promise<ToolReply>
  faults: unknown[]
  close(): Promise<void>
}

interface CallOptions {
  onprogress?: (progress: { progress: number; total?: number; message?: string }) => void
  signal?: AbortSignal
}

const published = publishTools(tools)

export interface SessionOptions {
  toolPolicy?: Partial<ToolPolicy>
  /** Answers questions to the person; absent = the client cannot ask. */
  person?: (question: string) => {
    action: 'accept' | 'decline' | 'cancel'
    content?: Record<string, boolean>
  }
  clock?: Clock
  /** Default: a token of the fake platform. */
  token?: string
}

/** A clock on which waiting is forty times shorter. */
export const hurriedClock: Clock = {
  ...systemClock,
  after: (delayMs, task) => systemClock.after(delayMs / 40, task),
}

/** Every client compiles the output schemas of all tools, which takes longer than most calls: here once for a file. */
class CompiledOnce implements jsonSchemaValidator {
  readonly #ajv = new AjvJsonSchemaValidator()
  // biome-ignore lint/suspicious/noExplicitAny: validators of different types
  readonly #known = new Map<string, any>()

  getValidator: jsonSchemaValidator['getValidator'] = (schema) => {
    const key = JSON.stringify(schema)
    if (!this.#known.has(key)) this.#known.set(key, this.#ajv.getValidator(schema))
    return this.#known.get(key)
  }
}

const validators = new CompiledOnce()

/** The real client of the MCP library, joined in memory to our server over a platform at `url`. */
export async function openToolSession(url: string, options: SessionOptions = {}): Promise<ToolSession> {
  const toolPolicy: ToolPolicy = { ...defaultToolPolicy, ...options.toolPolicy }
  const clock = options.clock ?? hurriedClock
  const rest = createClient({ url, token: options.token ?? fakeToken, surface: 'mcp' })
  const reads = createReadCache(rest, clock)
  const faults: unknown[] = []
  const retries = new RetriedCalls(clock)
  const registry = new Map(tools.map((tool) => [tool.name, tool]))
  const list = listedTools(published, toolPolicy)
  const server = createMcpServer({
    tools: () => list,
    callTool: (call) =>
      runTool(
        {
          tools: registry,
          toolPolicy,
          client: rest,
          reads,
          retries,
          caller: '',
          clock,
          signal: call.signal,
          progress: call.progress,
          askPerson: call.askPerson,
          onFault: (error) => faults.push(error),
        },
        call.name,
        call.args,
      ),
  })
  const { person } = options
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: person === undefined ? {} : { elicitation: {} }, jsonSchemaValidator: validators },
  )
  if (person !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, (request) => person(request.params.message))
  }
  const [near, far] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(far), client.connect(near)])
  // The library's client checks results against output schemas only once it has listed the tools.
  await client.listTools()
  return {
    client,
    faults,
    async call(name, args, callOptions) {
      return replyOf(await client.callTool({ name, arguments: args }, undefined, callOptions))
    },
    close: () => client.close(),
  }
}

export function replyOf(result: unknown): ToolReply {
  const { content, structuredContent, isError } = result as {
    content: { text: string }[]
    structuredContent: Record<string, unknown>
    isError?: boolean
  }
  return { isError: isError === true, text: content[0]!.text, structured: structuredContent }
}
