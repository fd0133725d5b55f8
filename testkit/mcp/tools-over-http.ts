import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { replyOf, type ToolReply } from './tool-session.ts'

/** An agent: the MCP library's own client on the platform's /mcp, with one token. */
export interface Agent {
  /** Calls a tool and fails when it refuses. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read parts of responses
  does(name: string, args?: Record<string, unknown>): Promise<any>
  /** Calls a tool and accepts any result. */
  says(name: string, args?: Record<string, unknown>): Promise<ToolReply>
  /** Names of the listed tools. */
  names(): Promise<string[]>
  /** Text of a resource. */
  reads(uri: string): Promise<string>
  close(): Promise<void>
}

export async function openAgent(url: string, token: string): Promise<Agent> {
  const client = new Client({ name: 'agent', version: '1' })
  const headers = { authorization: `Bearer ${token}` }
  // The library's types do not allow for exactOptionalPropertyTypes.
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }) as never)
  return agentOf(client)
}

/** The agent of a client that is connected. */
export function agentOf(client: Client): Agent {
  const says = async (name: string, args: Record<string, unknown> = {}) =>
    replyOf(await client.callTool({ name, arguments: args }, undefined, { timeout: 120_000 }))
  return {
    says,
    async does(name, args) {
      const reply = await says(name, args)
      if (reply.isError) throw new Error(`${name}: ${reply.text}`)
      return reply.structured
    },
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    reads: async (uri) =>
      (await client.readResource({ uri })).contents.map((one) => ('text' in one ? one.text : '')).join(''),
    close: () => client.close(),
  }
}
