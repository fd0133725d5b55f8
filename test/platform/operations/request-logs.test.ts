import { afterAll, beforeAll, expect, it } from 'vitest'
import { updateAppEnvVariables } from '../../../src/contract/app-env-actions.ts'
import type { LogLine } from '../../../src/contract/app-env-reads.ts'
import { secretMask } from '../../../src/contract/fields.ts'
import type { RequestRecord } from '../../../src/gateway/control/request-record.ts'
import { LogMasks } from '../../../src/regions/logs/masks.ts'
import { RequestRecorder } from '../../../src/regions/machine/request-recorder.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
let recorder: RequestRecorder
let appEnvId: string
const secret = 'sk_live_51Hq0Zx9'

const record = (change: Partial<RequestRecord>): RequestRecord => ({
  endedMs: Date.now(),
  method: 'GET',
  path: '/',
  status: 200,
  durationMs: 12.345,
  firstByteMs: 11,
  container: 'box',
  coldStart: false,
  bytesIn: 0,
  bytesOut: 10,
  refused: null,
  stream: false,
  cut: null,
  clientAddress: '192.0.2.1',
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: null,
  parentSpanId: null,
  oneIn: 1,
  ...change,
})

async function take(...records: RequestRecord[]): Promise<void> {
  recorder.take([{ appEnvId, records }])
  await recorder.settled()
}

beforeAll(async () => {
  platform = await TestPlatform.start()
  const { db, logs, log, secrets } = platform
  recorder = new RequestRecorder({ db, logs, log, masks: new LogMasks(db, secrets) })
  ;({ appEnvId } = await platform.makeEnvironment())
  const set = [{ name: 'KEY', value: secret, isSecret: true }]
  await platform.admin.client.call(updateAppEnvVariables, { appEnvId, set })
  await take(
    record({ path: '/orders/1', oneIn: 40 }),
    record({ path: '/orders/2', status: 404, durationMs: 1_500, coldStart: true }),
    record({
      path: '/pay',
      status: 504,
      refused: 'Request timed out',
      firstByteMs: null,
      durationMs: 60_000,
    }),
    record({ path: '/gone', status: 0 }),
    record({ path: `/hooks/${secret}`, method: 'POST', bytesIn: 7 }),
    record({ path: `/${'x'.repeat(500)}${secret.slice(0, 10)}…` }),
  )
})
afterAll(() => platform.close())

async function read(filters: Record<string, string | number> = {}, token = platform.admin.token) {
  const input = { appEnvId, type: 'REQUEST', ...filters }
  const { status, json } = await platform.request('GET', '/logs', { token, input })
  return { status, json, paths: (json.logs ?? []).map((line: LogLine) => line.request?.path) }
}

it('answers requests with their facts, as lines and as fields', async () => {
  const { json } = await read({ path: '/pay' })
  expect(json.logs).toMatchObject([
    {
      type: 'REQUEST',
      podName: 'box',
      message:
        '504 GET /pay 60000 ms, out 10 B, gateway: Request timed out, trace 4bf92f3577b34da6a3ce929d0e0e4736',
      request: { method: 'GET', path: '/pay', status: 504, durationMs: 60_000, firstByteMs: null, oneIn: 1 },
    },
  ])
})

it('filters by status, class of status, path and duration', async () => {
  expect((await read({ status: '404' })).paths).toEqual(['/orders/2'])
  expect((await read({ status: '5xx' })).paths).toEqual(['/pay'])
  expect((await read({ path: '/orders' })).paths).toEqual(['/orders/1', '/orders/2'])
  expect((await read({ slowerThanMs: 1_000 })).paths).toEqual(['/orders/2', '/pay'])
  expect((await read({ path: '/gone' })).json.logs[0].request.status).toBeNull()
  expect((await read({ status: '6xx' })).status).toBe(400)
  expect(await read({ type: 'RUNTIME', status: '404' })).toMatchObject({
    status: 400,
    json: { error: 'This filter is for requests only' },
  })
})

it('states the rate of a sample', async () => {
  expect((await read({ path: '/orders' })).json.sampling).toEqual({ shown: 2, requests: 41, rate: 0.0488 })
  expect((await read({ path: '/none' })).json.sampling).toEqual({ shown: 0, requests: 0, rate: 1 })
})

it('E2 masks secret variables in paths, also at the cut end of a long one', async () => {
  const { json, paths } = await read()
  expect(paths).toContain(`/hooks/${secretMask}`)
  expect(JSON.stringify(json)).not.toContain(secret.slice(0, 10))
})

it('keeps requests apart from what programs write, and forgets both with the environment', async () => {
  const at = new Date().toISOString()
  const line = { at, stream: 'stdout' as const, type: 'RUNTIME' as const, podName: 'box', contentId: null }
  platform.logs.append(appEnvId, [{ ...line, message: 'written by the program' }])
  const input = { appEnvId }
  const { json } = await platform.request('GET', '/logs', { token: platform.admin.token, input })
  expect(json.logs.map(({ message }: LogLine) => message)).toEqual(['written by the program'])
  expect(json).not.toHaveProperty('sampling')

  const other = await platform.makeEnvironment()
  recorder.take([{ appEnvId: other.appEnvId, records: [record({})] }])
  await recorder.settled()
  await platform.logs.forget(other.appEnvId)
  expect((await platform.logs.read(other.appEnvId, { type: 'REQUEST', size: 10 })).logs).toEqual([])
})

it('M2 shows requests to those who may read the environment only', async () => {
  await platform.request('PATCH', '/account', {
    token: platform.admin.token,
    input: { accountId: platform.accountId, memberEnvAccessEnabled: true },
  })
  const member = await platform.makeUser()
  const others = await platform.makeEnvironment()
  await platform.request('PATCH', '/member/env-access', {
    token: platform.admin.token,
    input: {
      accountId: platform.accountId,
      membershipId: member.membershipId,
      allowedAppEnvIds: [others.appEnvId],
    },
  })
  expect((await read({}, member.token)).status).toBe(403)
  const stranger = await platform.makeUser({ accountId: await platform.makeAccount('Other') })
  expect((await read({}, stranger.token)).status).toBe(404)
  expect((await read({}, await platform.makeEnvironmentToken(appEnvId))).status).toBe(200)
})

/** A recorder on the platform, with the number of secrets that it opened. */
function countingRecorder(onOpen: () => void) {
  const { db, logs, log, secrets } = platform
  const box = {
    seal: secrets.seal.bind(secrets),
    open: (...of: Parameters<typeof secrets.open>) => {
      onOpen()
      return secrets.open(...of)
    },
  }
  return new RequestRecorder({ db, logs, log, masks: new LogMasks(db, box) })
}

async function withSecret(value: string) {
  const { appEnvId: id } = await platform.makeEnvironment()
  const set = [{ name: 'KEY', value, isSecret: true }]
  await platform.admin.client.call(updateAppEnvVariables, { appEnvId: id, set })
  return id
}

it('makes the mask of an environment again only when its secrets have changed', async () => {
  let opened = 0
  const counting = countingRecorder(() => {
    opened += 1
  })
  const id = await withSecret('first-canary')
  const report = async (path: string) => {
    counting.take([{ appEnvId: id, records: [record({ path })] }])
    await counting.settled()
  }
  await report('/a/first-canary')
  await report('/b/first-canary')
  expect(opened).toBe(1)
  const set = [{ name: 'KEY', value: 'second-canary', isSecret: true }]
  await platform.admin.client.call(updateAppEnvVariables, { appEnvId: id, set })
  await report('/c/second-canary')
  expect(opened).toBe(2)
  const { logs } = await platform.logs.read(id, { type: 'REQUEST', size: 10 })
  expect(logs.map(({ request }) => request!.path)).toEqual(
    ['/a', '/b', '/c'].map((at) => `${at}/${secretMask}`),
  )
})

it('logs fewer environments while their masks take long, and all of them after some reports', async () => {
  const ids = [
    await withSecret('canary-one'),
    await withSecret('canary-two'),
    await withSecret('canary-three'),
  ]
  let opened = 0
  const slow = countingRecorder(() => {
    opened += 1
    const startMs = performance.now()
    while (performance.now() - startMs < 250);
  })
  for (let report = 1; report <= ids.length; report += 1) {
    slow.take(ids.map((id) => ({ appEnvId: id, records: [record({})] })))
    await slow.settled()
    expect(opened).toBe(report)
  }
})
