import { describe, expect, it } from 'vitest'
import { HttpFixture } from '../../../testkit/mcp/http-fixture.ts'
import { rpc2026 } from '../../../testkit/mcp/rpc-2026.ts'

const fixture = new HttpFixture()
const canAsk = { capabilities: { elicitation: {} } }
const yes = { confirm: { action: 'accept', content: { agree: true } } }

describe('a body of 2026-07-28 that is not as it should be', () => {
  const claim = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
  const whole = { ...claim, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`

  it.each([
    ['no method', { jsonrpc: '2.0', id: 1, params: { _meta: whole } }],
    ['a list', [{ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: whole } }]],
    ['an empty list', []],
    ['null', null],
    ['a text', 'tools/list'],
    [
      'a claim that is no text',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/list',
        params: { _meta: { ...whole, ...{ 'io.modelcontextprotocol/protocolVersion': 7 } } },
      },
    ],
    ['no name', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { _meta: whole } }],
    [
      'arguments that are a list',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { _meta: whole, name: 'list-accounts', arguments: [] },
      },
    ],
    ['no filter', { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: { _meta: whole } }],
    [
      'a state that is no text',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          _meta: whole,
          name: 'delete-app-env',
          arguments: {},
          requestState: {},
          inputResponses: yes,
        },
      },
    ],
  ])('%s gets an error', async (_name, message) => {
    const { method, params } = (message ?? {}) as { method?: string; params?: { name?: string } }
    const headers = rpc2026(
      method ?? 'tools/list',
      params?.name === undefined ? {} : { name: params.name },
    ).headers
    const raw = await fixture.raw({ headers, body: JSON.stringify(message) })
    expect(raw.status).toBeLessThan(500)
    expect(JSON.parse(raw.body)).toHaveProperty('error.code')
    expect((await fixture.raw(rpc2026('server/discover'))).status).toBe(200)
  })

  it('arguments that are nested too deeply are refused, with and without an answer to a question', async () => {
    for (const more of [{}, { requestState: 'x', inputResponses: yes }]) {
      const params = { name: 'delete-app-env', arguments: { envName: 'shop-prod', confirm: 'deep' }, ...more }
      const { headers, body } = rpc2026('tools/call', params, canAsk)
      const raw = await fixture.raw({ headers, body: body.replace('"deep"', deep) })
      const { error, result } = JSON.parse(raw.body)
      expect(error ?? result.isError).toBeTruthy()
    }
    expect(fixture.backend.state.envs.size).toBe(1)
  })
})
