import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterEach, describe, expect, it } from 'vitest'
import { modelAgent } from '../../../evals/model-agent.ts'
import { ToolError } from '../../../evals/task.ts'

interface Received {
  url: string | undefined
  headers: Record<string, unknown>
  // biome-ignore lint/suspicious/noExplicitAny: the body of either format
  body: any
}

/** An endpoint that gives the scripted replies, one a request, and keeps what it received. */
async function endpoint(replies: object[]) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    received.push({ url: request.url, headers: request.headers, body: await json(request) })
    const reply = replies.shift()
    response.writeHead(reply ? 200 : 500, { 'content-type': 'application/json' })
    response.end(JSON.stringify(reply ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return { received, url, close: () => new Promise((resolve) => server.close(resolve)) }
}

describe('the agent of the evals that asks a model', () => {
  let close: () => Promise<unknown> = async () => null
  afterEach(() => close())

  async function play(api: string, replies: object[]) {
    const { received, url, close: end } = await endpoint(replies)
    close = end
    const called: unknown[] = []
    const agent = modelAgent({ EVAL_MODEL: 'm', EVAL_API_URL: url, EVAL_API_KEY: 'k', EVAL_API: api })
    const answer = await agent({
      task: null as never,
      named: {},
      prompt: 'Scale it.',
      tools: [{ name: 'scale', description: 'Scales.', inputSchema: { type: 'object' } }],
      call: async (tool, args): Promise<never> => {
        called.push([tool, args])
        throw new ToolError('Functions scale by maxScale (F8)')
      },
    })
    return { answer, received, called }
  }

  it('speaks the format of OpenAI, and shows the model what a tool refused', async () => {
    const tool = { id: 'c1', type: 'function', function: { name: 'scale', arguments: '{"containers":3}' } }
    const { answer, received, called } = await play('openai', [
      { choices: [{ message: { role: 'assistant', content: null, tool_calls: [tool] } }] },
      { choices: [{ message: { role: 'assistant', content: 'It cannot be scaled.' } }] },
    ])
    expect(answer).toBe('It cannot be scaled.')
    expect(called).toEqual([['scale', { containers: 3 }]])
    expect(received[0]).toMatchObject({ url: '/v1/chat/completions', headers: { authorization: 'Bearer k' } })
    expect(received[0]!.body.tools[0].function.name).toBe('scale')
    expect(received[1]!.body.messages.slice(2)).toMatchObject([
      { tool_calls: [{ id: 'c1' }] },
      { role: 'tool', tool_call_id: 'c1', content: 'Functions scale by maxScale (F8)' },
    ])
  })

  it('speaks the format of Anthropic', async () => {
    const { answer, received, called } = await play('anthropic', [
      { content: [{ type: 'tool_use', id: 't1', name: 'scale', input: { containers: 3 } }] },
      { content: [{ type: 'text', text: 'It cannot be scaled.' }] },
    ])
    expect(answer).toBe('It cannot be scaled.')
    expect(called).toEqual([['scale', { containers: 3 }]])
    expect(received[0]).toMatchObject({ url: '/v1/messages', headers: { 'x-api-key': 'k' } })
    expect(received[1]!.body.messages.at(-1).content).toEqual([
      { type: 'tool_result', tool_use_id: 't1', content: 'Functions scale by maxScale (F8)' },
    ])
  })

  it('ends with the status of an endpoint that fails, and never repeats its body', async () => {
    await expect(play('openai', [])).rejects.toThrow('the model endpoint answered 500')
  })
})
