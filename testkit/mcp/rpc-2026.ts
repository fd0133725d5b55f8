interface Options {
  headers?: Record<string, string>
  version?: string
  /** Null leaves them out. */
  capabilities?: Record<string, unknown> | null
  id?: number
}

const prefix = 'io.modelcontextprotocol/'

/** A request of revision 2026-07-28 over HTTP: with its envelope, and the headers that repeat it. */
export function rpc2026(
  method: string,
  params: Record<string, unknown> = {},
  { headers = {}, version = '2026-07-28', capabilities = {}, id = 1 }: Options = {},
): { headers: Record<string, string>; body: string } {
  const envelope = {
    [`${prefix}protocolVersion`]: version,
    [`${prefix}clientInfo`]: { name: 'raw', version: '1' },
    ...(capabilities === null ? {} : { [`${prefix}clientCapabilities`]: capabilities }),
  }
  const _meta = { ...(params._meta as object | undefined), ...envelope }
  const name = params.name ?? params.uri ?? params.taskId
  return {
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
  }
}

/** The state of the question that a call is answered with. */
export async function state2026(
  ask: (method: string, params: Record<string, unknown>, options: Options) => Promise<{ result: unknown }>,
  name: string,
  args: Record<string, unknown>,
): Promise<string> {
  const { result } = await ask('tools/call', { name, arguments: args }, { capabilities: { elicitation: {} } })
  return (result as { requestState: string }).requestState
}

interface Message {
  method?: string
  params?: Record<string, unknown>
  result?: unknown
}

/** The messages of an event stream so far. */
export function messagesOfStream(text: string): Message[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)))
}
