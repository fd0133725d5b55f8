import { describe, expect, it } from 'vitest'
import { defaultToolPolicy } from '../../../src/mcp/policy/tool-policy.ts'
import { prebuild } from '../../../src/mcp/tools/prebuild.ts'
import { listedTools } from '../../../src/mcp/tools/published-tool.ts'
import type { ToolResult } from '../../../src/mcp/tools/result.ts'
import type { RpcMessage } from '../../../src/mcp/transport/json-rpc.ts'
import { LazyInitialize } from '../../../src/mcp/transport/lazy-initialize.ts'
import type { IncomingCall } from '../../../src/mcp/transport/responses.ts'
import { createMcpServer, type McpServer, type Transport } from '../../../src/mcp/transport/server.ts'
import { tools } from '../../../tools/index.ts'

const prebuilt = await prebuild(tools)
const list = listedTools(prebuilt.tools, defaultToolPolicy)
const done: ToolResult = { isError: false, text: 'done', structured: {} }

function serverWith(callTool: (call: IncomingCall) => Promise<ToolResult>): McpServer {
  return createMcpServer({ tools: () => list, callTool })
}

function desk(callTool: (call: IncomingCall) => Promise<ToolResult> = async () => done) {
  const said: Record<string, unknown>[] = []
  let opened = 0
  const front = new LazyInitialize({
    prebuilt,
    tools: list,
    write: (message) => said.push(message as Record<string, unknown>),
    async openServer() {
      opened += 1
      return serverWith(callTool)
    },
  })
  const answerTo = async (id: unknown) => {
    while (!said.some((message) => message.id === id)) await new Promise((resolve) => setImmediate(resolve))
    return said.find((message) => message.id === id)!
  }
  return { front, said, answerTo, opened: () => opened }
}

const initialize = (protocolVersion: unknown, capabilities: unknown = {}) =>
  ({
    jsonrpc: '2.0',
    id: 'hello',
    method: 'initialize',
    params: { protocolVersion, capabilities, clientInfo: { name: 'test', version: '1' } },
  }) as RpcMessage
const request = (id: number, method: string, params: Record<string, unknown> = {}): RpcMessage => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})
const call = (id: number) => request(id, 'tools/call', { name: 'list-accounts', arguments: {} })

/** What the library itself answers. */
function libraryAnswer(message: RpcMessage): Promise<unknown> {
  return new Promise((resolve) => {
    const transport: Transport = {
      start: async () => {},
      close: async () => {},
      send: async (answer) => resolve(JSON.parse(JSON.stringify(answer))),
    }
    void serverWith(async () => done).connect(transport)
    transport.onmessage?.(message as never)
  })
}

describe('the front desk', () => {
  it.each([...prebuilt.versions, '1999-01-01', '2099-01-01'])(
    'answers initialize of %s as the library does',
    async (version) => {
      const { front, said, opened } = desk()
      front.accept(initialize(version))
      expect(said).toEqual([await libraryAnswer(initialize(version))])
      expect(opened()).toBe(0)
    },
  )

  it.each(['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list', 'ping'])(
    'answers %s as the library does, without opening the server',
    async (method) => {
      const { front, said, opened } = desk()
      front.accept(initialize('2025-11-25'))
      front.accept({ jsonrpc: '2.0', method: 'notifications/initialized' })
      front.accept(request(2, method))
      expect(said[1]).toEqual(await libraryAnswer(request(2, method)))
      expect(said[1]).toHaveProperty('result')
      expect(opened()).toBe(0)
    },
  )

  it('tells a newer client that its protocol is not spoken here, as the library does', async () => {
    const { front, said, opened } = desk()
    front.accept(request(1, 'server/discover'))
    expect(said).toEqual([await libraryAnswer(request(1, 'server/discover'))])
    expect(said[0]).toMatchObject({ error: { code: -32601 } })
    front.accept(initialize('2025-11-25'))
    expect(said[1]).toHaveProperty('result.serverInfo')
    expect(opened()).toBe(0)
  })

  it('opens the server once for calls, in order, and greets the client once', async () => {
    const { front, said, answerTo, opened } = desk()
    front.accept(initialize('2025-11-25'))
    front.accept(call(2))
    front.accept(call(3))
    await answerTo(3)
    front.accept(request(4, 'tools/list'))
    await answerTo(4)
    expect(said.map((message) => message.id)).toEqual(['hello', 2, 3, 4])
    expect(opened()).toBe(1)
  })

  it('tells the server what the client can do', async () => {
    const canAsk: boolean[] = []
    const { front, answerTo } = desk(async ({ askPerson }) => {
      canAsk.push(askPerson !== null)
      return done
    })
    front.accept(initialize('2025-11-25', { elicitation: {} }))
    front.accept(call(2))
    await answerTo(2)
    expect(canAsk).toEqual([true])
  })

  it.each([
    ['2024-11-05', false],
    ['2025-03-26', false],
    ['2025-06-18', true],
    ['2025-11-25', true],
  ])('sends links to logs to a client of %s: %s', async (version, linked) => {
    const link = { uri: 'longshore://environments/shop-prod/logs/BUILD', name: 'log', mimeType: 'text/plain' }
    const { front, answerTo } = desk(async () => ({ ...done, links: [link] }))
    front.accept(initialize(version))
    front.accept(call(2))
    const { content } = (await answerTo(2)).result as { content: unknown[] }
    expect(content.slice(1)).toEqual(linked ? [{ type: 'resource_link', ...link }] : [])
  })

  it('answers a call without a name with a sentence', async () => {
    const { front, answerTo } = desk()
    front.accept(initialize('2025-11-25'))
    front.accept(request(2, 'tools/call'))
    expect(await answerTo(2)).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('params') },
    })
  })

  it('leaves an odd initialize to the library to refuse', async () => {
    const { front, answerTo } = desk()
    front.accept(initialize(7))
    expect(await answerTo('hello')).toHaveProperty('error')
  })

  it('is idle when every call is answered, and when one was called off', async () => {
    const { front, answerTo } = desk(
      ({ signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    )
    front.accept(initialize('2025-11-25'))
    front.accept(call(2))
    let isIdle = false
    const idle = front.server.idle().then(() => {
      isIdle = true
    })
    front.accept(request(3, 'ping'))
    await answerTo(3)
    expect(isIdle).toBe(false)
    front.accept({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } })
    await idle
  })
})
