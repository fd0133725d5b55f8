import {
  createMcpServer,
  type JSONRPCMessage,
  protocolVersions,
  type Transport,
} from '../transport/server.ts'
import type { Tool } from './define-tool.ts'
import type { Prebuilt } from './prebuilt.ts'
import { publishTools } from './publish.ts'

/** Records the response of the library's own server, so that both always match. */
export async function prebuild(tools: readonly Tool[]): Promise<Prebuilt> {
  return { hello: await askHello(), versions: [...protocolVersions], tools: publishTools(tools) }
}

async function askHello(): Promise<Prebuilt['hello']> {
  const server = createMcpServer({
    tools: () => [],
    callTool: () => Promise.reject(new Error('prebuild only sends initialize')),
  })
  const answer = await new Promise<JSONRPCMessage>((resolve) => {
    const transport: Transport = {
      start: async () => {},
      close: async () => {},
      send: async (message) => resolve(message),
    }
    void server.connect(transport)
    transport.onmessage?.({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: 'none',
        capabilities: {},
        clientInfo: { name: 'build', version: '1' },
      },
    })
  })
  if (!('result' in answer)) throw new Error(`unexpected response to initialize: ${JSON.stringify(answer)}`)
  return answer.result as Prebuilt['hello']
}
