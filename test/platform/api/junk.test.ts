import fc from 'fast-check'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import type { Operation } from '../../../src/contract/operation.ts'
import { base, goodToken, type ScriptedServer, startScripted } from '../../../testkit/api/scripted-server.ts'

const runsPerRow = Number(process.env.JUNK_RUNS ?? 8)

let on: ScriptedServer
const agent = new Agent({ bodyTimeout: 60_000, headersTimeout: 60_000 })
beforeAll(async () => {
  on = await startScripted()
})
afterAll(async () => {
  await agent.close()
  await on.server.close()
})

/** Values of every kind under known and unknown keys of the row. */
function junkObject(row: Operation): fc.Arbitrary<Record<string, unknown>> {
  const key = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('nothing', ...Object.keys(row.input.shape)) },
    { weight: 1, arbitrary: fc.constantFrom('__proto__', 'constructor', 'toString', '', '_id', goodToken) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
  )
  const value = fc.oneof(
    fc.anything({ withNullPrototype: false }).map((each) => each ?? null),
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.constantFrom(
      0,
      -1,
      1e308,
      '',
      'a',
      true,
      [],
      {},
      [[]],
      [{}],
      '\0',
      '\ud800',
      '../..',
      '$(id)',
      `'; --`,
    ),
    fc.array(
      fc.dictionary(fc.constantFrom('name', 'value', '_id', 'type', 'isSecret', '__proto__'), fc.jsonValue()),
    ),
  )
  return fc.array(fc.tuple(key, value), { maxLength: 8 }).map((entries) => Object.fromEntries(entries))
}

const asJson = (value: unknown): string => {
  const text = JSON.stringify(value, (_key, each) => (typeof each === 'bigint' ? String(each) : each))
  return text ?? 'null'
}

function junkBody(row: Operation): fc.Arbitrary<string | Buffer> {
  return fc.oneof(
    { weight: 8, arbitrary: junkObject(row).map(asJson) },
    { weight: 1, arbitrary: fc.jsonValue().map(asJson) },
    { weight: 1, arbitrary: junkObject(row).map((each) => asJson(each).slice(0, -1)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((each) => Buffer.from(each)) },
  )
}

const junkHeaders = fc.record(
  {
    'content-type': fc.constantFrom('application/json', 'application/json', 'text/plain', 'x'),
    'idempotency-key': fc.string({ maxLength: 300 }).filter((each) => /^[\x20-\x7e]*$/.test(each)),
    'dry-run': fc.constantFrom('true', 'false', 'x'),
    'longshore-surface': fc.constantFrom('mcp', 'cli', 'x'),
  },
  { requiredKeys: ['content-type'] },
)

/** Every call gets a response, never 5xx, and every error is `{error, details?}`. */
async function expectProperAnswer(path: string, init: Parameters<typeof request>[1]): Promise<number> {
  const response = await request(on.url + path, { ...init, dispatcher: agent })
  const json = (await response.body.json()) as Record<string, unknown>
  expect(response.statusCode).toBeLessThan(500)
  if (response.statusCode !== 200) {
    expect(typeof json.error).toBe('string')
    expect(Object.keys(json).filter((key) => key !== 'error' && key !== 'details')).toEqual([])
    expect(JSON.stringify(json).length).toBeLessThan(4000)
  }
  return response.statusCode
}

it.each(operations.map((row) => [row.id, row] as const))(
  '%s: junk input is never a 5xx',
  async (_id, row) => {
    const fromQuery = row.method === 'GET' || row.method === 'DELETE'
    const body = fc.property
    expect(body).toBeDefined()
    await fc.assert(
      fc.asyncProperty(junkBody(row), junkHeaders, junkObject(row), async (bytes, extra, query) => {
        const headers = { authorization: goodToken, ...extra }
        const pairs = Object.entries(query).flatMap(([key, value]) =>
          (Array.isArray(value) ? value : [value]).map(
            (each) => `${queryText(key)}=${queryText(asJson(each))}`,
          ),
        )
        const path = base + row.path + (fromQuery ? `?${pairs.join('&')}`.slice(0, 8000) : '')
        await expectProperAnswer(path, { method: row.method, headers, ...(fromQuery ? {} : { body: bytes }) })
      }),
      { numRuns: runsPerRow },
    )
    expect(on.logged()).not.toContain(goodToken)
    expect(on.logged()).not.toContain('"level":50')
  },
)

function queryText(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, ''))
}
