import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { type ScriptedServer, send, startScripted } from '../../../testkit/api/scripted-server.ts'
import { HttpFixture, rpc } from '../../../testkit/mcp/http-fixture.ts'

const fixture = new HttpFixture()
let on: ScriptedServer
beforeAll(async () => {
  on = await startScripted()
})
afterAll(() => on.server.close())
afterEach(() => vi.restoreAllMocks())

const text = 'x'.repeat(600_000)
const toApi = (): Promise<unknown> => send(on, 'POST', '/api/public/v1/app', { text })
const toMcp = (): Promise<unknown> =>
  fixture.raw({ body: rpc('tools/call', { name: 'list-accounts', arguments: { text } }) })

it.each([
  ['the API', toApi],
  ['/mcp', toMcp],
])('parses large bodies one at a time, and %s serves others between them', async (_name, sendLarge) => {
  let round = 0
  let timer = setImmediate(function count() {
    round += 1
    timer = setImmediate(count)
  })
  const parsedIn: number[] = []
  const { parse } = JSON
  vi.spyOn(JSON, 'parse').mockImplementation((json, ...more) => {
    if (json.length > text.length) parsedIn.push(round)
    return parse(json, ...more)
  })
  await Promise.all(Array.from({ length: 20 }, sendLarge))
  clearImmediate(timer)
  const gaps = parsedIn.slice(1).map((one, index) => one - parsedIn[index]!)
  expect(gaps.length).toBeGreaterThanOrEqual(19)
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(4)
})

it('refuses bodies that nest so deep that walking them would overflow the stack', async () => {
  const deep = `${'['.repeat(400_000)}${']'.repeat(400_000)}`
  const api = await send(on, 'POST', '/api/public/v1/app', `{"accountId":${deep}}`)
  expect([api.status, api.json.details]).toEqual([400, 'The body nests more than 100 levels deep.'])
  const body = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":${deep}}}`
  const mcp = await fixture.raw({ body })
  expect([mcp.status, JSON.parse(mcp.body).error.code]).toEqual([400, -32600])
})

it('answers a message with fields of its own, which the library of MCP would leave open', async () => {
  const mcp = await fixture.raw({ body: '{"jsonrpc":"2.0","id":1,"method":"ping","extra":1}' })
  expect([mcp.status, JSON.parse(mcp.body).error.code]).toEqual([400, -32600])
})
