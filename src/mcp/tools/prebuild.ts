import { systemClock } from '../../clock.ts'
import { processQuestionStates } from '../policy/questions.ts'
import { capabilitiesKey, claimKey, revision2026 } from '../transport/era.ts'
import type { RpcMessage } from '../transport/json-rpc.ts'
import type { McpServerOptions } from '../transport/responses.ts'
import { createMcpServer, type McpServer, protocolVersions, type Transport } from '../transport/server.ts'
import { createStdioServer2026 } from '../transport/stdio-2026.ts'
import type { Tool } from './define-tool.ts'
import type { Prebuilt } from './prebuilt.ts'
import { publishTools } from './publish.ts'

/** Records the responses of the libraries' own servers, so that they always match. */
export async function prebuild(tools: readonly Tool[]): Promise<Prebuilt> {
  const options: McpServerOptions = {
    tools: () => [],
    callTool: () => Promise.reject(new Error('prebuild calls no tool')),
  }
  const hello = await ask(createMcpServer(options), 'initialize', {
    protocolVersion: 'none',
    capabilities: {},
    clientInfo: { name: 'build', version: '1' },
  })
  const ask2026 = (method: string) =>
    ask(
      createStdioServer2026({ ...options, questions: processQuestionStates(systemClock) }, systemClock),
      method,
      { _meta: { [claimKey]: revision2026, [capabilitiesKey]: {} } },
    )
  const { tools: _none, ...listEnvelope } = await ask2026('tools/list')
  return {
    hello: hello as Prebuilt['hello'],
    versions: [...protocolVersions],
    discover: await ask2026('server/discover'),
    listEnvelope,
    tools: publishTools(tools),
  }
}

async function ask(
  server: McpServer,
  method: string,
  params: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const answer = await new Promise<RpcMessage>((resolve) => {
    const transport: Transport = {
      start: async () => {},
      close: async () => {},
      send: async (message) => resolve(message as RpcMessage),
    }
    void server.connect(transport).then(() => {
      transport.onmessage?.({ jsonrpc: '2.0', id: 1, method, params })
    })
  })
  if (!('result' in answer)) throw new Error(`unexpected response to ${method}: ${JSON.stringify(answer)}`)
  return answer.result as Record<string, unknown>
}
