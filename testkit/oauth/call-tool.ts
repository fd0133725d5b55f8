/** Calls a tool with one request, without a library, so that a test sees status and headers. */
export function callTool(apiUrl: string, token: string, name: string, args: object = {}): Promise<Response> {
  return fetch(`${apiUrl}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  })
}
