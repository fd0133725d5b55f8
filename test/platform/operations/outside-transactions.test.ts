import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { MetricPoint, MetricValues } from '../../../src/metrics/source.ts'
import type { Db } from '../../../src/store/db.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

/** A source that answers on command. */
class HeldMetrics implements MetricValues {
  readonly periodMs = 10_000
  /** Resolves once a value was requested. */
  asked: Promise<void> = Promise.resolve()
  #onAsked = () => {}
  #answer: Promise<MetricPoint[]> = Promise.resolve([])
  release: (value: number) => void = () => {}

  series(): Promise<MetricPoint[]> {
    this.#onAsked()
    return this.#answer
  }

  hold(): void {
    this.asked = new Promise((resolve) => {
      this.#onAsked = resolve
    })
    this.#answer = new Promise((resolve) => {
      this.release = (value) => resolve([{ t: Date.now(), value, min: value, max: value, last: value }])
    })
  }
}

const metrics = new HeldMetrics()
/** Reads of the store that have not ended. */
let openReads = 0
function counted(db: Db): Db {
  const read = db.read.bind(db)
  const countedRead: Db['read'] = async (work) => {
    openReads += 1
    try {
      return await read(work)
    } finally {
      openReads -= 1
    }
  }
  return Object.assign(db, { read: countedRead })
}

let platform: TestPlatform
let appEnvId: string
let alertId: string
const rule = { metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '1m' }
const dry = { 'dry-run': 'true' }

async function call(
  method: string,
  path: string,
  input: Record<string, unknown>,
  headers: Record<string, string> = {},
) {
  const answer = await platform.request(method, path, { token: platform.admin.token, input, headers })
  expect(answer.status, answer.text).toBe(200)
  return answer.json
}
const makeAlert = (headers = {}) =>
  call('POST', '/app-env/alert', { appEnvId, name: 'Busy', contactPointIds: [], ...rule }, headers)
const containersOf = async () => (await call('GET', '/app-env', { appEnvId })).containers

beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false, metrics, wrapDb: counted })
  appEnvId = (await platform.makeEnvironment()).appEnvId
  alertId = (await makeAlert()).alert.alertId
})
afterAll(() => platform.close())
beforeEach(() => metrics.hold())

describe('while metrics are being read', () => {
  const previews: [string, () => Promise<unknown>, unknown][] = [
    ['a preview of a new alert', () => makeAlert(dry), { dryRun: true }],
    [
      'a preview of a changed alert',
      () => call('PATCH', '/alert', { alertId, threshold: 70 }, dry),
      { dryRun: true },
    ],
    [
      'a preview of a refresh',
      () => call('POST', '/alert/refresh', { alertId }, dry),
      { effects: ['The alert is evaluated now: Normal becomes Pending.'] },
    ],
    ['a refresh', () => call('POST', '/alert/refresh', { alertId }), { state: 'Pending' }],
  ]
  it.each(previews)('%s blocks neither a read nor a write', async (_what, begin, expected) => {
    const begun = begin()
    await metrics.asked
    const before = await containersOf()
    await call('PATCH', '/app-env/containers', { appEnvId, containers: before + 1 })
    expect(await containersOf()).toBe(before + 1)
    metrics.release(95)
    expect(await begun).toMatchObject(expected as object)
  })

  it('a refresh does not store its result for an alert that changed in the meantime', async () => {
    const name = { appEnvId, name: 'Other', contactPointIds: [], ...rule }
    const other = (await call('POST', '/app-env/alert', name)).alert.alertId
    const refreshed = call('POST', '/alert/refresh', { alertId: other })
    await metrics.asked
    await call('PATCH', '/alert', { alertId: other, threshold: 99 })
    metrics.release(95)
    expect(await refreshed).toMatchObject({ state: 'Normal', previousState: 'Normal' })
    expect((await call('GET', '/alert', { alertId: other })).lastKnownState).toBe('Normal')
  })

  it('a refresh of an alert that was deleted in the meantime gets 404', async () => {
    const name = { appEnvId, name: 'Third', contactPointIds: [], ...rule }
    const third = (await call('POST', '/app-env/alert', name)).alert.alertId
    const input = { alertId: third }
    const refreshed = platform.request('POST', '/alert/refresh', { token: platform.admin.token, input })
    await metrics.asked
    await call('DELETE', '/alert', input)
    metrics.release(95)
    expect((await refreshed).status).toBe(404)
  })
})

it('a search of logs holds no connection of the store', async () => {
  const line = {
    at: platform.now,
    stream: 'stdout',
    type: 'RUNTIME',
    podName: null,
    contentId: null,
  } as const
  platform.logs.append(appEnvId, [{ ...line, message: 'found' }])
  const read = platform.logs.read.bind(platform.logs)
  const openAtRead: number[] = []
  const reads = vi.spyOn(platform.logs, 'read').mockImplementation((...of) => {
    openAtRead.push(openReads)
    return read(...of)
  })
  const { logs } = await call('GET', '/logs', { appEnvId, search: 'found' })
  reads.mockRestore()
  expect(logs).toMatchObject([{ message: 'found' }])
  expect(openAtRead).toEqual([0])
})
