import { AsyncLocalStorage } from 'node:async_hooks'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Db } from '../../../src/store/db.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

/** Whether the code that runs was called from within a transaction. */
const transaction = new AsyncLocalStorage<boolean>()
const seen: { source: string; inTransaction: boolean }[] = []
const note = (source: string) => seen.push({ source, inTransaction: transaction.getStore() === true })

let platform: TestPlatform

beforeAll(async () => {
  const metrics = {
    periodMs: 10_000,
    series: async () => {
      note('metrics')
      return []
    },
  }
  platform = await TestPlatform.start({ reconciles: false, metrics })
  for (const method of ['read', 'write', 'rehearse'] as const) {
    const { db } = platform
    const inner = db[method].bind(db) as Db['read']
    db[method] = <T>(work: Parameters<typeof inner<T>>[0]) => transaction.run(true, () => inner(work))
  }
  const { logs } = platform
  const read = logs.read.bind(logs)
  logs.read = (...query: Parameters<typeof read>) => {
    note('logs')
    return read(...query)
  }
})
afterAll(() => platform.close())

it('reads log files and samples, which may be on another machine, outside of transactions', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  const token = platform.admin.token
  const alert = {
    appEnvId,
    name: 'a',
    contactPointIds: [],
    metric: 'cpu_percent',
    operator: 'gt',
    threshold: 90,
  }
  const made = await platform.request('POST', '/app-env/alert', {
    token,
    input: { ...alert, duration: '1m' },
  })
  const { alertId } = made.json.alert
  const paths = [
    ['GET', '/app-env/diagnosis', { appEnvId }],
    ['GET', '/app-env/changes', { appEnvId }],
    ['GET', '/app-env/metrics', { appEnvId }],
    ['GET', '/app-env/metrics-series', { appEnvId, metric: 'cpu_percent' }],
    ['GET', '/logs', { appEnvId }],
    ['GET', '/alert', { alertId }],
    ['POST', '/alert/refresh', { alertId }],
  ] as const
  for (const [method, path, input] of paths) {
    seen.length = 0
    const answer = await platform.request(method, path, { token, input })
    expect([answer.status, seen.length > 0], `${path} ${answer.text}`).toEqual([200, true])
    expect(
      seen.filter(({ inTransaction }) => inTransaction),
      path,
    ).toEqual([])
  }
})
