import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, it } from 'vitest'
import { defaultTools } from '../../../src/mcp/policy/default-tools.ts'
import { untilReadsStop } from '../../../testkit/fakes/backend.ts'
import { HttpFixture, ping, rpc } from '../../../testkit/mcp/http-fixture.ts'
import { replyOf } from '../../../testkit/mcp/tool-session.ts'
import { until } from '../../../testkit/until.ts'

const fixture = new HttpFixture()

const clients: Client[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
})

async function connect(token = 'lsu_a', person?: () => boolean): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: person === undefined ? {} : { elicitation: {} } },
  )
  if (person !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { agree: person() } }))
  }
  clients.push(client)
  await client.connect(
    new StreamableHTTPClientTransport(new URL(fixture.url), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  )
  return client
}

describe('a client', () => {
  it('lists and calls tools as its own token', async () => {
    const client = await connect('lsu_me')
    expect((await client.listTools()).tools).toHaveLength(defaultTools.size)
    // By name, tools that are not listed are there too.
    expect((await client.callTool({ name: 'list-regions', arguments: {} })).isError).toBeUndefined()
    fixture.backend.state.calls.length = 0
    const said = replyOf(await client.callTool({ name: 'get-app-env', arguments: { envName: 'shop-prod' } }))
    expect(said.text).toMatch(/^shop-prod is RUNNING at version 3\./)
    const call = { id: 'get-app-env', token: 'lsu_me', surface: 'mcp' }
    expect(fixture.backend.state.calls).toMatchObject([call])
    expect(fixture.handler.sessionCount).toBe(0)
  })

  it('gets progress while a deployment is waited for', async () => {
    fixture.backend.state.plans = [{ reads: 4 }]
    const client = await connect()
    const messages: unknown[] = []
    const result = await client.callTool(
      { name: 'deploy-app-env-image', arguments: { envName: 'shop-prod', image: 'shop:2' } },
      undefined,
      { onprogress: ({ message }) => messages.push(message) },
    )
    expect(replyOf(result).structured).toMatchObject({ deployment: { outcome: 'serves' } })
    expect(messages.length).toBeGreaterThanOrEqual(3)
  })

  it('that supports elicitation gets a session, and its person confirms a deletion', async () => {
    let agrees = false
    const client = await connect('lsu_a', () => agrees)
    expect(fixture.handler.sessionCount).toBe(1)
    const remove = { name: 'delete-app-env', arguments: { envName: 'shop-prod', confirm: 'shop-prod' } }
    expect(replyOf(await client.callTool(remove)).structured.error).toBe('The host declined')
    expect(fixture.backend.state.envs.size).toBe(1)
    agrees = true
    expect(replyOf(await client.callTool(remove)).isError).toBe(false)
    expect(fixture.backend.state.envs.size).toBe(0)
  })

  it('without elicitation needs confirm', async () => {
    const client = await connect()
    const remove = { name: 'delete-app-env', arguments: { envName: 'shop-prod' } }
    expect(replyOf(await client.callTool(remove)).structured.error).toBe('Confirmation needed')
    expect(fixture.backend.state.envs.size).toBe(1)
  })

  it('that disconnects ends the wait of its call', async () => {
    fixture.backend.state.plans = [{ reads: 1_000_000 }]
    const controller = new AbortController()
    const body = rpc('tools/call', {
      name: 'deploy-app-env-image',
      arguments: { envName: 'shop-prod', image: 'shop:2' },
    })
    const call = fetch(fixture.url, {
      method: 'POST',
      body,
      signal: controller.signal,
      headers: { authorization: 'lsu_a', 'content-type': 'application/json', accept: '*/*' },
    }).catch((error) => error.name)
    await until(() => fixture.backend.state.countOf('get-app-env-status') > 3)
    controller.abort()
    expect(await call).toBe('AbortError')
    await untilReadsStop(fixture.backend)
  })
})

describe('one POST', () => {
  it('may carry several messages, answered together', async () => {
    const answer = await fixture.raw({ body: JSON.stringify([ping, { ...ping, id: 'b' }]) })
    const ids = (JSON.parse(answer.body) as { id: unknown }[]).map((one) => one.id)
    expect(ids.sort()).toEqual([1, 'b'])
  })

  it('of few bytes cannot ask for megabytes', async () => {
    const lists = Array.from({ length: 32 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'tools/list' }))
    const { body } = await fixture.raw({ body: JSON.stringify(lists) })
    const answers = JSON.parse(body) as { id: number; error?: { message: string } }[]
    expect(answers.map(({ id }) => id).sort((a, b) => a - b)).toEqual(lists.map(({ id }) => id))
    expect(body.length).toBeLessThan(600_000)
    expect(answers[0]).toHaveProperty('result.tools')
    expect(answers[31]!.error!.message).toContain('Send this request by itself.')
  })

  it('with notifications only is accepted', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expect((await fixture.raw({ body })).status).toBe(202)
  })

  it('is answered as a stream if the client accepts nothing else', async () => {
    const answer = await fixture.raw({ headers: { accept: 'text/event-stream' } })
    expect(answer.headers['content-type']).toBe('text/event-stream')
    expect(answer.body).toBe(
      `event: message\ndata: ${JSON.stringify({ result: {}, jsonrpc: '2.0', id: 1 })}\n\n`,
    )
  })
})

describe('links to logs', () => {
  it.each([
    ['2025-11-25', true],
    ['2025-06-18', true],
    ['2025-03-26', false],
    [null, false],
  ])('a request of %s: %s', async (version, linked) => {
    fixture.backend.state.logs = Array.from({ length: 120 }, (_, index) => ({
      stream: 'stdout' as const,
      message: `line ${index}`,
    }))
    const headers: Record<string, string> = version === null ? {} : { 'mcp-protocol-version': version }
    const body = rpc('tools/call', { name: 'get-logs', arguments: { envName: 'shop-prod' } })
    const { result } = JSON.parse((await fixture.raw({ headers, body })).body)
    const types = result.content.map(({ type }: { type: string }) => type)
    expect(types).toEqual(linked ? ['text', 'resource_link'] : ['text'])
  })
})

it('2,000 calls of 64 clients with the same request ids do not cross', async () => {
  const perClient = Math.ceil(2_000 / 64)
  // Each response contains the token of its request.
  const { state } = fixture.backend
  for (let index = 0; index < 64; index += 1) {
    state.envs.set(`mirror-lsu_c${index}`, state.env({ envName: 'shop-prod' }))
  }
  let answered = 0
  const crossed: string[] = []
  const one = async (index: number) => {
    for (let id = 0; id < perClient; id += 1) {
      const body = rpc('tools/call', { name: 'get-app-env', arguments: { envName: 'shop-prod' } }, id)
      const headers = { authorization: `lsu_c${index}` }
      const answer = JSON.parse((await fixture.raw({ body, headers })).body)
      const { name } = answer.result.structuredContent
      if (answer.id !== id || name !== `lsu_c${index}`)
        crossed.push(`${index}/${id} got ${name}/${answer.id}`)
      answered += 1
    }
  }
  await Promise.all(Array.from({ length: 64 }, (_, index) => one(index)))
  expect(crossed).toEqual([])
  expect(answered).toBe(perClient * 64)
})
