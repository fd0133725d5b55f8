import fc from 'fast-check'
import { Agent, request } from 'undici'
import { apiPrefix, isRead, type Operation } from '../../src/contract/operation.ts'
import type { CallRecord } from './example-scenario.ts'
import type { Json } from './scenario-call.ts'

/** Results of the calls of one row: responses by status, and violations. */
interface JunkResult {
  id: string
  statuses: Record<number, number>
  broken: string[]
}

interface JunkTarget {
  apiUrl: string
  token: string
}

const inFlight = 4
const limitMs = 60_000

/**
 * Calls one operation with `runs` generated inputs: valid ones of the scenario with up to four things wrong,
 * and plain junk. Every call must get a response, never 5xx, and errors must be exactly `{error, details?}`.
 */
export async function junkCalls(
  target: JunkTarget,
  row: Operation,
  played: readonly CallRecord[],
  runs: number,
  seed: number,
): Promise<JunkResult> {
  const agent = new Agent({ headersTimeout: limitMs, bodyTimeout: limitMs, connections: inFlight })
  const result: JunkResult = { id: row.id, statuses: {}, broken: [] }
  const valid = played.filter((one) => one.row === row).map((one) => one.input)
  const inputs = fc.sample(junkCall(row, valid, played), { numRuns: runs, seed })
  let next = 0
  const worker = async () => {
    for (let call = inputs[next++]; call; call = inputs[next++]) {
      const problem = await callOnce(agent, target, row, call, result.statuses)
      if (problem) result.broken.push(`${problem}: ${show(call)}`)
    }
  }
  try {
    await Promise.all(Array.from({ length: inFlight }, worker))
  } finally {
    await agent.destroy()
  }
  return result
}

interface JunkCall {
  /** The text of a body or of a query. */
  text: string | Buffer
  headers: Record<string, string>
}

async function callOnce(
  agent: Agent,
  target: JunkTarget,
  row: Operation,
  call: JunkCall,
  statuses: Record<number, number>,
): Promise<string | null> {
  const inQuery = row.method === 'GET' || row.method === 'DELETE'
  const path = `${apiPrefix}${row.path}${inQuery ? `?${call.text}` : ''}`
  try {
    const answer = await request(target.apiUrl + path, {
      method: row.method,
      dispatcher: agent,
      headers: { authorization: target.token, 'content-type': 'application/json', ...call.headers },
      ...(inQuery ? {} : { body: call.text }),
    })
    const text = await answer.body.text()
    statuses[answer.statusCode] = (statuses[answer.statusCode] ?? 0) + 1
    if (answer.statusCode >= 500) return `${answer.statusCode} ${text}`
    const json = JSON.parse(text) as Json
    if (answer.statusCode === 200) return null
    const others = Object.keys(json).filter((key) => key !== 'error' && key !== 'details')
    const isOurs = typeof json.error === 'string' && json.error !== '' && others.length === 0
    const details = json.details === undefined || typeof json.details === 'string'
    return isOurs && details && text.length < 5_000 ? null : `not our shape: ${answer.statusCode} ${text}`
  } catch (error) {
    return `no answer: ${error}`
  }
}

function junkCall(
  row: Operation,
  valid: readonly Json[],
  played: readonly CallRecord[],
): fc.Arbitrary<JunkCall> {
  const inQuery = row.method === 'GET' || row.method === 'DELETE'
  const input = junkInput(row, valid, played)
  const text = inQuery
    ? input.map(queryOf)
    : fc.oneof(
        { weight: 12, arbitrary: input.map(asJson) },
        { weight: 1, arbitrary: fc.jsonValue().map(asJson) },
        { weight: 1, arbitrary: input.map((each) => asJson(each).slice(0, -1)) },
        { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((each) => Buffer.from(each)) },
      )
  // Destructive calls and calls that create tokens are dry runs, because later calls need the objects.
  const always = row.method === 'DELETE' || row.answersSecret === true || row.id === 'update-account'
  const dryRun = always ? fc.constant('true') : fc.constantFrom('true', 'true', 'false', 'x')
  const headers = isRead(row)
    ? fc.constant({})
    : fc.record(
        { 'dry-run': dryRun, 'idempotency-key': fc.stringMatching(/^[\x20-\x7e]{0,260}$/) },
        { requiredKeys: ['dry-run'] },
      )
  return fc.record({ text, headers }) as fc.Arbitrary<JunkCall>
}

const odd = [
  ...[null, true, false, 0, -1, 1, 1.5, 1e308, -0, 2 ** 53, [], {}, [[]], [{}], [null], { a: { b: [1] } }],
  ...[
    '',
    ' ',
    'a',
    '\0',
    '\ud800',
    '\u202e',
    '../..',
    '/',
    '$(id)',
    "'; --",
    '%00',
    '__proto__',
    'constructor',
  ],
  ...[
    'x'.repeat(300),
    'x'.repeat(20_000),
    '-1',
    '1e9',
    '2026-11-01',
    '2026-13-41T99:99:99Z',
    '{"a":1}',
    '\r\nx: y',
  ],
]

/** A valid input with up to four mistakes, or one with just the names of the fields. */
function junkInput(
  row: Operation,
  valid: readonly Json[],
  played: readonly CallRecord[],
): fc.Arbitrary<Json> {
  const keys = Object.keys(row.input.shape)
  // Values from elsewhere in the scenario, including ids of other kinds.
  const elsewhere = played.flatMap((one) => Object.values(one.input))
  const value = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...odd) },
    { weight: 3, arbitrary: fc.constantFrom(...elsewhere) },
    { weight: 2, arbitrary: fc.jsonValue() },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
  )
  const key = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom('nothing', ...keys) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('__proto__', 'constructor', 'toString', '', '_id', 'expectedRevision'),
    },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  )
  const change = fc.record({ key, value, how: fc.constantFrom('set', 'set', 'set', 'inside', 'drop') })
  const seed = valid.length > 0 ? fc.constantFrom(...valid, {}) : fc.constant({})
  return fc
    .tuple(seed, fc.array(change, { maxLength: 4 }))
    .map(([base, changes]) => changes.reduce((input, one) => changed(input, one), base as Json))
}

function changed(input: Json, { key, value, how }: { key: string; value: unknown; how: string }): Json {
  const entries = Object.entries(input).filter(([name]) => name !== key)
  if (how === 'drop') return Object.fromEntries(entries)
  const present = Object.hasOwn(input, key) ? input[key] : undefined
  const isNested = how === 'inside' && present !== null && typeof present === 'object'
  return Object.fromEntries([...entries, [key, isNested ? changedInside(present, value) : value]])
}

/** One element or field of a nested value replaced. */
function changedInside(present: object, value: unknown): unknown {
  if (Array.isArray(present)) {
    const [first, ...rest] = present
    const isObject = first !== null && typeof first === 'object'
    return isObject ? [changedInside(first, value), ...rest] : [value, ...present]
  }
  const [name] = Object.keys(present)
  return { ...present, [name ?? 'nothing']: value, more: value }
}

function asJson(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}

function queryOf(input: Json): string {
  const clean = (text: string) => encodeURIComponent(text.replace(/\p{Surrogate}/gu, ''))
  const text = (value: unknown) => clean(typeof value === 'string' ? value : asJson(value))
  const pairs = Object.entries(input).flatMap(([key, value]) =>
    (Array.isArray(value) ? value : [value]).map((each) => `${clean(key)}=${text(each)}`),
  )
  return pairs.join('&').slice(0, 8_000)
}

function show({ text, headers }: JunkCall): string {
  const body = typeof text === 'string' ? text : text.toString('hex')
  return `${body.slice(0, 600)} ${JSON.stringify(headers)}`
}
