import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { createClient } from '../../src/client/client.ts'
import { type Clock, systemClock } from '../../src/clock.ts'
import { defaultExposure, type Exposure } from '../../src/mcp/exposure.ts'
import { publishTools } from '../../src/mcp/publish-tools.ts'
import { listedTools } from '../../src/mcp/published-tool.ts'
import { createReadCache } from '../../src/mcp/read-cache.ts'
import { runTool } from '../../src/mcp/run-tool.ts'
import { createMcpServer } from '../../src/mcp/server.ts'
import { tools } from '../../tools/index.ts'
import { fakeToken } from '../fakes/fake-backend.ts'

export interface Said {
  isError: boolean
  text: string
  structured: Record<string, unknown>
}

export interface ToolSession {
  client: Client
  call(name: string, args: Record<string, unknown>, options?: CallOptions): Promise<Said>
  faults: unknown[]
  close(): Promise<void>
}

interface CallOptions {
  onprogress?: (progress: { progress: number; total?: number; message?: string }) => void
  signal?: AbortSignal
}

const published = publishTools(tools)

export interface SessionOptions {
  exposure?: Partial<Exposure>
  /** Answers questions to the person; absent = the client cannot ask. */
  person?: (question: string) => {
    action: 'accept' | 'decline' | 'cancel'
    content?: Record<string, boolean>
  }
  clock?: Clock
  /** Of the fake platform unless given. */
  token?: string
}

/** A clock on which waiting is forty times shorter. */
export const hurriedClock: Clock = {
  ...systemClock,
  after: (delayMs, task) => systemClock.after(delayMs / 40, task),
}

/** The real client of the MCP library, joined in memory to our server over a platform at `url`. */
export async function openToolSession(url: string, options: SessionOptions = {}): Promise<ToolSession> {
  const exposure: Exposure = { ...defaultExposure, ...options.exposure }
  const clock = options.clock ?? hurriedClock
  const rest = createClient({ url, token: options.token ?? fakeToken, surface: 'mcp' })
  const reads = createReadCache(rest, clock)
  const faults: unknown[] = []
  const registry = new Map(tools.map((tool) => [tool.name, tool]))
  const list = listedTools(published, exposure)
  const server = createMcpServer({
    tools: () => list,
    callTool: (call) =>
      runTool(
        {
          tools: registry,
          exposure,
          client: rest,
          reads,
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
    { capabilities: person === undefined ? {} : { elicitation: {} } },
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
      return saidBy(await client.callTool({ name, arguments: args }, undefined, callOptions))
    },
    close: () => client.close(),
  }
}

export function saidBy(result: unknown): Said {
  const { content, structuredContent, isError } = result as {
    content: { text: string }[]
    structuredContent: Record<string, unknown>
    isError?: boolean
  }
  return { isError: isError === true, text: content[0]!.text, structured: structuredContent }
}
