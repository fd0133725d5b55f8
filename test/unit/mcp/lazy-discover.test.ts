import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { processQuestionStates } from '../../../src/mcp/policy/questions.ts'
import { defaultToolPolicy } from '../../../src/mcp/policy/tool-policy.ts'
import { prebuild } from '../../../src/mcp/tools/prebuild.ts'
import { listedTools } from '../../../src/mcp/tools/published-tool.ts'
import type { RpcMessage } from '../../../src/mcp/transport/json-rpc.ts'
import { LazyDiscover } from '../../../src/mcp/transport/lazy-discover.ts'
import type { McpServer, Transport } from '../../../src/mcp/transport/server.ts'
import { createStdioServer2026 } from '../../../src/mcp/transport/stdio-2026.ts'
import { rpc2026 } from '../../../testkit/mcp/rpc-2026.ts'
import { tools } from '../../../tools/index.ts'

const prebuilt = await prebuild(tools)
const list = listedTools(prebuilt.tools, defaultToolPolicy)

function server(): McpServer {
  const options = {
    tools: () => list,
    callTool: async () => ({ isError: false, text: 'done', structured: {} }),
    questions: processQuestionStates(systemClock),
  }
  return createStdioServer2026(options, systemClock)
}

function desk() {
  const written: RpcMessage[] = []
  let opened = 0
  const front = new LazyDiscover({
    prebuilt,
    tools: list,
    write: (message) => written.push(message as RpcMessage),
    async openServer() {
      opened += 1
      return server()
    },
  })
  const answerTo = async (id: number) => {
    while (!written.some((message) => message.id === id))
      await new Promise((resolve) => setImmediate(resolve))
    return written.find((message) => message.id === id)!
  }
  return { front, written, answerTo, opened: () => opened }
}

const request = (
  id: number,
  method: string,
  params: Record<string, unknown> = {},
  options: Parameters<typeof rpc2026>[2] = {},
): RpcMessage => JSON.parse(rpc2026(method, params, { id, ...options }).body)

/** What the library itself answers. */
async function libraryAnswer(message: RpcMessage): Promise<unknown> {
  const own = server()
  return new Promise((resolve) => {
    const transport: Transport = {
      start: async () => {},
      close: async () => {},
      send: async (answer) => resolve(JSON.parse(JSON.stringify(answer))),
    }
    void own.connect(transport).then(() => transport.onmessage?.(message as never))
  })
}

describe('the first requests of 2026-07-28 on stdio', () => {
  it.each(['server/discover', 'tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'])(
    'answers %s as the library does, without loading it',
    async (method) => {
      const { front, written, opened } = desk()
      front.accept(request(1, method))
      expect(JSON.parse(JSON.stringify(written))).toEqual([await libraryAnswer(request(1, method))])
      expect(written[0]).toMatchObject({ result: { resultType: 'complete' } })
      expect(opened()).toBe(0)
    },
  )

  it.each([
    ['an unknown revision', { version: '2099-01-01' }, -32022],
    ['no capabilities', { capabilities: null }, -32602],
  ] as const)('leaves %s to the library to refuse', async (_name, options, code) => {
    const { front, answerTo } = desk()
    front.accept(request(1, 'server/discover', {}, options))
    expect(await answerTo(1)).toMatchObject({ error: { code } })
  })

  it('loads the library once for calls, in order', async () => {
    const { front, written, answerTo, opened } = desk()
    front.accept(request(1, 'server/discover'))
    front.accept(request(2, 'tools/call', { name: 'list-accounts', arguments: {} }))
    front.accept(request(3, 'tools/call', { name: 'list-accounts', arguments: {} }))
    await answerTo(3)
    front.accept(request(4, 'tools/list'))
    await answerTo(4)
    expect(written.map(({ id }) => id)).toEqual([1, 2, 3, 4])
    expect(opened()).toBe(1)
  })

  it('answers a call without a name with a sentence', async () => {
    const { front, answerTo } = desk()
    front.accept(request(1, 'tools/call'))
    expect(await answerTo(1)).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('params.name: expected string') },
    })
  })

  it('is idle while only a subscription is open', async () => {
    const { front, written } = desk()
    const notifications = { resourceSubscriptions: ['longshore://guides/deploy'] }
    front.accept(request(1, 'subscriptions/listen', { notifications }))
    while (written.length === 0) await new Promise((resolve) => setImmediate(resolve))
    expect(written[0]).toMatchObject({ method: 'notifications/subscriptions/acknowledged' })
    await front.server.idle()
    await front.server.close()
  })
})
