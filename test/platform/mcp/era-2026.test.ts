import { describe, expect, it } from 'vitest'
import { untilReadsStop } from '../../../testkit/fakes/backend.ts'
import { HttpFixture } from '../../../testkit/mcp/http-fixture.ts'
import { messagesOfStream, rpc2026, state2026 } from '../../../testkit/mcp/rpc-2026.ts'
import { until } from '../../../testkit/until.ts'

const fixture = new HttpFixture()

/** Sends a request of 2026-07-28 and reads the one JSON answer. */
async function ask(
  method: string,
  params: Record<string, unknown> = {},
  more: Parameters<typeof rpc2026>[2] = {},
) {
  const { headers, body } = rpc2026(method, params, more)
  const raw = await fixture.raw({ headers, body })
  return { status: raw.status, ...JSON.parse(raw.body) }
}
const call = (name: string, args: unknown, more: Record<string, unknown> = {}, options = {}) =>
  ask('tools/call', { name, arguments: args, ...more }, options)

describe('a request of 2026-07-28', () => {
  it('discovers the server', async () => {
    const { status, result } = await ask('server/discover')
    expect(status).toBe(200)
    expect(result).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, resources: { subscribe: true }, prompts: {} },
      cacheScope: 'public',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'longshore' } },
    })
    expect(result.ttlMs).toBeGreaterThan(0)
  })

  it.each(['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'])(
    'gets %s with the time that it stays valid, for the caller only',
    async (method) => {
      const { result } = await ask(method)
      expect(result).toMatchObject({ resultType: 'complete', cacheScope: 'private' })
      expect(result.ttlMs).toBeGreaterThan(0)
    },
  )

  it('reads guides that every cache may keep, and environments that no cache may', async () => {
    expect((await ask('resources/read', { uri: 'longshore://guides/deploy' })).result).toMatchObject({
      resultType: 'complete',
      cacheScope: 'public',
    })
    const { result } = await ask('resources/read', { uri: 'longshore://environments/shop-prod' })
    expect(result).toMatchObject({ cacheScope: 'private', ttlMs: 0 })
    expect(JSON.parse(result.contents[0].text)).toMatchObject({ cliEnvName: 'shop-prod' })
  })

  it('calls tools as its own token, and gets errors of tools as results', async () => {
    const { result } = await call('list-accounts', {})
    expect(result).toMatchObject({ resultType: 'complete', structuredContent: { accounts: [{}] } })
    expect(fixture.backend.state.calls[0]).toMatchObject({ surface: 'mcp', token: 'lsu_a' })
    expect((await call('list-acounts', {})).result).toMatchObject({ isError: true })
  })

  it('gets the error codes of its revision', async () => {
    const missing = await ask('resources/read', { uri: 'longshore://guides/none' })
    expect(missing.error).toMatchObject({ code: -32602, data: { uri: 'longshore://guides/none' } })
    expect(await ask('ping')).toMatchObject({ status: 404, error: { code: -32601 } })
    const wrongMethod = await ask('tools/list', {}, { headers: { 'mcp-method': 'prompts/list' } })
    expect(wrongMethod).toMatchObject({ status: 400, error: { code: -32020 } })
    const wrongName = await call('list-accounts', {}, {}, { headers: { 'mcp-name': 'list-apps' } })
    expect(wrongName).toMatchObject({ status: 400, error: { code: -32020 } })
    const unknown = await ask('tools/list', {}, { version: '2099-01-01' })
    expect(unknown).toMatchObject({
      status: 400,
      error: { code: -32022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } },
    })
    const noCapabilities = await ask('tools/list', {}, { capabilities: null })
    expect(noCapabilities).toMatchObject({ status: 400, error: { code: -32602 } })
    expect(fixture.backend.state.calls).toEqual([])
  })

  it('is held to the options in the address and the headers', async () => {
    const readOnly = { headers: { 'longshore-read-only': '1' } }
    const { result } = await ask('tools/list', {}, readOnly)
    expect(result.tools.map(({ name }: { name: string }) => name)).not.toContain('delete-app-env')
    const refused = await call('delete-app-env', { envName: 'shop-prod' }, {}, readOnly)
    expect(refused.result.structuredContent.error).toContain('read-only')
  })

  it('needs a token, a known Host and no session', async () => {
    expect((await ask('tools/list', {}, { headers: { authorization: '' } })).status).toBe(401)
    expect((await ask('tools/list', {}, { headers: { host: 'evil.example' } })).status).toBe(403)
    expect((await ask('tools/list', {}, { headers: { 'mcp-session-id': 'gone' } })).status).toBe(200)
  })
})

describe('links to logs', () => {
  const line = (index: number) => ({ stream: 'stdout' as const, message: `line ${index}` })

  it('come with a log that has more lines, and read them inside the envelope', async () => {
    fixture.backend.state.logs = Array.from({ length: 120 }, (_, index) => line(index))
    const { result } = await call('get-logs', { envName: 'shop-prod' })
    const uri = 'longshore://environments/shop-prod/logs/RUNTIME'
    expect(result.content[1]).toMatchObject({ type: 'resource_link', uri, mimeType: 'text/plain' })
    const read = await ask('resources/read', { uri })
    const { text } = read.result.contents[0]
    for (const index of [0, 60, 119]) expect(text).toMatch(new RegExp(`<untrusted [^]*line ${index}\\b`))
    expect(fixture.backend.state.calls.at(-1)).toMatchObject({
      token: 'lsu_a',
      input: { type: 'RUNTIME', size: 300 },
    })
  })

  it('do not come with a whole log, and read no other address', async () => {
    fixture.backend.state.logs = [line(1)]
    expect((await call('get-logs', { envName: 'shop-prod' })).result.content).toHaveLength(1)
    for (const uri of [
      'shop-prod/logs/OTHER',
      'shop-prod/logs/',
      'shop-prod/logs/RUNTIME/x',
      '%80/logs/RUNTIME',
    ]) {
      const { error } = await ask('resources/read', { uri: `longshore://environments/${uri}` })
      expect(error, uri).toMatchObject({ code: -32602 })
    }
  })
})

describe('progress and cancellation in 2026-07-28', () => {
  it('sends progress before the result, on a stream', async () => {
    fixture.backend.state.plans = [{ reads: 4 }]
    const { headers, body } = rpc2026('tools/call', {
      name: 'deploy-app-env-image',
      arguments: { envName: 'shop-prod', image: 'shop:2' },
      _meta: { progressToken: 'p1' },
    })
    const raw = await fixture.raw({ headers, body })
    expect(raw.headers['content-type']).toContain('text/event-stream')
    const messages = messagesOfStream(raw.body)
    const progress = messages.filter(({ method }) => method === 'notifications/progress')
    expect(progress.length).toBeGreaterThan(0)
    const values = progress.map(({ params }) => params?.progress as number)
    expect(values).toEqual([...new Set(values)].sort((one, other) => one - other))
    expect(messages.at(-1)).toMatchObject({
      result: { structuredContent: { deployment: { outcome: 'serves' } } },
    })
  })

  it('ends a call when its connection is closed', async () => {
    fixture.backend.state.plans = [{ reads: 1_000_000 }]
    const { headers, body } = rpc2026('tools/call', {
      name: 'deploy-app-env-image',
      arguments: { envName: 'shop-prod', image: 'shop:2' },
    })
    const left = new AbortController()
    const gone = fetch(fixture.url, {
      method: 'POST',
      headers: { authorization: 'lsu_a', ...headers },
      body,
      signal: left.signal,
    })
    const reads = () => fixture.backend.state.calls.length
    await until(() => reads() > 3)
    left.abort()
    await expect(gone).rejects.toThrow()
    await untilReadsStop(fixture.backend)
  })
})

const canAsk = { capabilities: { elicitation: {} } }
const yes = { confirm: { action: 'accept', content: { agree: true } } }
const remove = { envName: 'shop-prod' }
const isThere = () =>
  [...fixture.backend.state.envs.values()].some(({ cliEnvName }) => cliEnvName === 'shop-prod')

describe('a confirmation in 2026-07-28', () => {
  it('asks in the result, and does it once the person agreed', async () => {
    const asked = await call('delete-app-env', remove, {}, canAsk)
    expect(asked.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        confirm: { method: 'elicitation/create', params: { requestedSchema: { required: ['agree'] } } },
      },
    })
    expect(asked.result.inputRequests.confirm.params.message).toMatch(/^Delete /)
    expect(isThere()).toBe(true)
    const { requestState } = asked.result
    const done = await call('delete-app-env', remove, { requestState, inputResponses: yes }, canAsk)
    expect(done.result).toMatchObject({ resultType: 'complete' })
    expect(done.result.isError).toBeUndefined()
    expect(isThere()).toBe(false)
  })

  it.each([
    ['declined', { action: 'decline' }],
    ['closed the question', { action: 'cancel' }],
    ['left the box empty', { action: 'accept', content: { agree: false } }],
    ['answered something else', { action: 'accept', content: { agree: 'true' } }],
  ])('does nothing when the person %s', async (_name, confirm) => {
    const requestState = await state2026(ask, 'delete-app-env', remove)
    const { result } = await call(
      'delete-app-env',
      remove,
      { requestState, inputResponses: { confirm } },
      canAsk,
    )
    expect(result.structuredContent.error).toBe('The host declined')
    expect(isThere()).toBe(true)
  })

  it('takes an answer only with its state, once, from its caller, for its tool and its arguments', async () => {
    const requestState = await state2026(ask, 'delete-app-env', remove)
    const answered = { requestState, inputResponses: yes }
    const invalid = { error: { code: -32602, data: { reason: 'invalid_request_state' } } }
    const tampered = { ...answered, requestState: `${requestState.slice(0, -4)}AAAA` }
    expect(await call('delete-app-env', remove, tampered, canAsk)).toMatchObject(invalid)
    expect(
      await call('delete-app-env', remove, answered, { ...canAsk, headers: { authorization: 'lsu_b' } }),
    ).toMatchObject(invalid)
    expect(await call('delete-app-env', { envName: 'other' }, answered, canAsk)).toMatchObject(invalid)
    expect(await call('stop-app-env', remove, answered, canAsk)).toMatchObject(invalid)
    expect(await call('delete-app-env', remove, { inputResponses: yes }, canAsk)).toMatchObject({
      result: { resultType: 'input_required' },
    })
    expect(await call('delete-app-env', remove, { requestState }, canAsk)).toMatchObject({
      result: { resultType: 'input_required' },
    })
    const inherited = { requestState, inputResponses: JSON.parse(`{"__proto__":${JSON.stringify(yes)}}`) }
    expect(await call('delete-app-env', remove, inherited, canAsk)).toMatchObject({
      result: { resultType: 'input_required' },
    })
    expect(isThere()).toBe(true)
    expect((await call('delete-app-env', remove, answered, canAsk)).result.isError).toBeUndefined()
    fixture.backend.state.add({ name: 'prod' })
    expect(await call('delete-app-env', remove, answered, canAsk)).toMatchObject(invalid)
    expect(isThere()).toBe(true)
  })

  it('is typed by a client that cannot ask', async () => {
    const { result } = await call('delete-app-env', remove)
    expect(result.structuredContent.error).toBe('Confirmation needed')
    expect((await call('delete-app-env', { ...remove, confirm: 'shop-prod' })).result.isError).toBeUndefined()
  })
})
