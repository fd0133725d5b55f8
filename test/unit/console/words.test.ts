import { describe, expect, it } from 'vitest'
import { axisLabel, readoutAt, timeAround } from '../../../src/console/components/Chart.tsx'
import { problemOf } from '../../../src/console/components/Field.tsx'
import { ago, counted, exactTime, megabytes, quantity } from '../../../src/console/components/words.ts'
import { byDay, type Entry, queryOf, withOperation } from '../../../src/console/pages/activity/entries.ts'
import { movedByKey, scaleOf, valueAt } from '../../../src/console/pages/alerts/scale.ts'
import {
  byUrgency,
  conditionWords,
  newestWords,
  stateSpans,
} from '../../../src/console/pages/alerts/words.ts'
import { gapsOf, spansOf, spanTimes } from '../../../src/console/pages/environments/ContainerTimeline.tsx'
import { statusWords } from '../../../src/console/pages/environments/status-words.ts'
import { matching } from '../../../src/console/pages/overview/matching.ts'
import { insideConsole } from '../../../src/console/pages/sign-in/inside-console.ts'
import type { Pod } from '../../../src/contract/app-env-reads.ts'
import { AppError } from '../../../src/errors.ts'

type Status = Parameters<typeof statusWords>[0]
const status = (change: Partial<Status>): Status => ({
  appEnvId: 'env_1',
  cliEnvName: 'shop-prod',
  claim: null,
  status: 'RUNNING',
  currentContentId: 'dep_1',
  currentVersion: 3,
  currentDeployment: null,
  containers: { desired: 2, running: 2, ready: 1 },
  health: null,
  pendingChanges: { hasBuildChanges: false, hasDeployChanges: false, deployPendingChanges: [] },
  hosts: [],
  ...change,
})
const deployment = (change: object): Status['currentDeployment'] => ({
  contentId: 'dep_2',
  version: 4,
  status: 'FAILED',
  type: 'BUILD',
  containerImage: null,
  createdAt: '2026-03-01T12:00:00.000Z',
  deployedAt: null,
  failure: null,
  ...change,
})
const app = { isFunction: false, isJob: false }

it('notifications are the newest of all alerts, or of the most urgent ones if there are many', () => {
  expect(newestWords(20, 1, 1)).toBe('The newest 20 of all alerts with a contact point')
  expect(newestWords(20, 10, 11)).toBe('The newest 20 of the 10 most urgent alerts with a contact point')
})

describe('status in words', () => {
  it('shows the serving version, and why a deployment failed', () => {
    expect(statusWords(status({}), app).sentence).toBe('Version 3 is serving: 1 of 2 containers ready.')
    const failure = { reason: 'start-timeout', message: 'nothing listens on port 8080' }
    expect(statusWords(status({ currentDeployment: deployment({ failure }) }), app)).toEqual({
      tone: 'bad',
      sentence: 'The deployment of version 4 failed. Version 3 keeps serving.',
      cause: 'Start timeout: nothing listens on port 8080',
    })
    const none = status({
      status: 'STOPPED',
      currentVersion: null,
      currentDeployment: deployment({ failure }),
    })
    expect(statusWords(none, app).sentence).toBe(
      'The deployment of version 4 failed, and no version is serving.',
    )
  })

  it('says how ill the containers are, and that a first version serves in its window', () => {
    const lastExit = { code: 3, reason: 'Error', at: '2026-03-01T12:00:00.000Z' }
    const health = {
      verdict: 'CRASH_LOOP',
      since: lastExit.at,
      restarts: 4,
      lastExit,
      path: null,
      failedPercent: null,
      logTail: [],
    } as const
    expect(statusWords(status({ health: { ...health, logTail: [] } }), app)).toMatchObject({
      tone: 'bad',
      sentence: 'Crash loop: Its containers keep exiting: 4 exits, the last with code 3.',
    })
    const proving = {
      status: 'PENDING',
      currentVersion: null,
      currentDeployment: deployment({ version: 1, status: 'DEPLOYING' }),
    } as const
    expect(statusWords(status(proving), app).sentence).toBe(
      'Version 1 serves, and is in its stability window.',
    )
    const starting = status({ ...proving, containers: { desired: 1, running: 1, ready: 0 } })
    expect(statusWords(starting, app).sentence).toBe('Deploying version 1, the first one.')
  })

  it('F1: a function at zero is not a failure', () => {
    const zero = status({ containers: { desired: 0, running: 0, ready: 0 } })
    expect(statusWords(zero, { ...app, isFunction: true })).toMatchObject({
      tone: 'ok',
      sentence: 'Version 3 is scaled to zero. The next request starts a container.',
    })
  })
})

describe('containers over time', () => {
  const at = (second: number) => new Date(second * 1000).toISOString()
  const pod = (name: string, start: number, end: number | null) =>
    ({ name, startedAt: at(start), finishedAt: end === null ? null : at(end), status: 'Running' }) as Pod

  it('F10: shows overlaps of containers and the times at zero between them', () => {
    const spans = spansOf([pod('c', 50, null), pod('b', 5, 20), pod('a', 0, 10)], 60_000)
    expect(spans.map(({ name, running }) => [name, running])).toEqual([
      ['a', false],
      ['b', false],
      ['c', true],
    ])
    expect(gapsOf(spans, 60_000)).toEqual([{ start: 20_000, end: 50_000 }])
    expect(gapsOf(spansOf([pod('a', 0, 10)], 60_000), 30_000)).toEqual([{ start: 10_000, end: 30_000 }])
    expect(spanTimes({ start: 0, end: 10_000 })).toBe(`${exactTime(at(0))} to ${exactTime(at(10))}`)
    expect(spanTimes({ start: 0, end: 10_000, running: true })).toBe(`${exactTime(at(0))} to now`)
  })
})

describe('alerts', () => {
  it('puts firing alerts first and paused ones last, then goes by name', () => {
    const alert = (name: string, lastKnownState: 'Normal' | 'Firing' | 'NoData', enabled = true) => ({
      name,
      lastKnownState,
      enabled,
    })
    const alerts = [
      alert('b', 'Normal'),
      alert('a', 'Normal'),
      alert('c', 'Firing', false),
      alert('e', 'NoData'),
      alert('d', 'Firing'),
    ]
    expect(byUrgency(alerts).map(({ name }) => name)).toEqual(['d', 'e', 'a', 'b', 'c'])
  })

  it('writes a condition with its unit', () => {
    const rule = { operator: 'gt', duration: '1h', aggregation: 'max', queryRange: '10m' } as const
    expect(conditionWords({ ...rule, metric: 'ingress_p95_latency', threshold: 0.5 })).toBe(
      'Maximum of 95th percentile of latency over 10 minutes stays above 500 ms for 1 hour',
    )
  })

  it('shows states over time, with the state before the first known change', () => {
    const at = (ms: number) => new Date(ms).toISOString()
    const history = [
      { from: 'Pending', to: 'Firing', at: at(30) },
      { from: 'Normal', to: 'Pending', at: at(20) },
    ] as const
    expect(stateSpans(history, 'Firing', { fromMs: 10, toMs: 50 })).toEqual([
      { state: 'Normal', fromMs: 10, toMs: 20 },
      { state: 'Pending', fromMs: 20, toMs: 30 },
      { state: 'Firing', fromMs: 30, toMs: 50 },
    ])
    expect(stateSpans(history, 'Firing', { fromMs: 40, toMs: 50 })).toEqual([
      { state: 'Firing', fromMs: 40, toMs: 50 },
    ])
  })

  it('moves a threshold in steps inside the scale, by pointer and by keys', () => {
    const scale = scaleOf([12, 80])
    expect(scale).toEqual({ bottom: 0, top: 100, step: 1 })
    expect([valueAt(scale, 0.333), valueAt(scale, 2), valueAt(scale, -1)]).toEqual([33, 100, 0])
    expect(movedByKey(scale, 33, 'ArrowUp')).toBe(34)
    expect(movedByKey(scale, 95, 'PageUp')).toBe(100)
    expect(movedByKey(scale, 33, 'Tab')).toBeNull()
    expect(valueAt(scaleOf([0.4]), 0.5)).toBe(0.25)
    expect(scaleOf([-5]).bottom).toBeLessThan(-5)
    expect(scaleOf([])).toMatchObject({ bottom: 0, top: 1 })
  })
})

describe('words and filters', () => {
  it('a chart of one sample is two minutes wide', () => {
    expect(timeAround(1_000)).toEqual([940, 1_060])
  })

  it('says under the pointer the exact time, and each value that there is with its unit', () => {
    const series = ['Requests', 'Errors'].map((label) => ({ label, color: '', points: [] }))
    const data: Parameters<typeof readoutAt>[1] = [
      [60, 120],
      [1.5, 2],
      [null, 4],
    ]
    const over = (index: number, isTime: boolean) => readoutAt(index, data, { series, unit: 'req/s', isTime })
    expect(over(0, true)).toBe(`${exactTime('1970-01-01T00:01:00Z')}\nRequests: ${quantity(1.5, 'req/s')}`)
    expect(over(1, false)).toBe(`120\nRequests: ${quantity(2, 'req/s')}\nErrors: ${quantity(4, 'req/s')}`)
    expect(over(9, true)).toBe('')
  })

  it('a small size is not zero', () => {
    const sizes = [0, 29 / 2 ** 20, 0.5, 20, 2048].map(megabytes)
    expect(sizes).toEqual(['0 MB', '29 B', '512 KB', '20 MB', '2 GB'])
  })

  it('writes numbers with units, and times relative to now', () => {
    expect([quantity(1, 'containers'), quantity(1, 'starts a minute'), quantity(2, 'containers')]).toEqual([
      '1 container',
      '1 start a minute',
      '2 containers',
    ])
    expect([quantity(0.25, 's'), quantity(2, 's'), quantity(12.345, '%')]).toEqual([
      '250 ms',
      '2 s',
      '12.3 %',
    ])
    expect([0, 0.0005, 1.5].map((seconds) => axisLabel(seconds, 's'))).toEqual(['0 s', '0.5 ms', '1.5 s'])
    expect(axisLabel(0.5, 'req/s')).toBe('0.5')
    expect([counted(1, 'container'), counted(2, 'container')]).toEqual(['1 container', '2 containers'])
    const now = Date.parse('2026-03-01T12:00:00.000Z')
    expect(ago('2026-03-01T11:59:30.000Z', now)).toBe('just now')
    expect(ago('2026-03-01T11:57:00.000Z', now)).toBe('3 minutes ago')
  })

  it('puts the message of the platform at the input that it names', () => {
    const error = new AppError('invalid', 'Invalid request', {
      details: 'set.0.name: must be letters; minScale: too big',
    })
    expect(problemOf(error, 'name')).toContain('must be letters')
    expect(problemOf(error, 'minScale')).toContain('too big')
    expect(problemOf(error, 'maxScale')).toBeNull()
    expect(problemOf(new AppError('conflict', 'name conflict'), 'name')).toBeNull()
  })

  it('finds environments by words in any order', () => {
    const row = { name: 'prod', cliEnvName: 'shop-prod', appName: 'Shop', region: 'eu', status: 'RUNNING' }
    expect(matching([row], 'PROD shop')).toEqual([row])
    expect(matching([row], 'prod us')).toEqual([])
    expect(matching([row], '', 'STOPPED')).toEqual([])
  })

  it('filters the activity and groups it by day', () => {
    const entry = (change: object) =>
      ({
        timestamp: '2026-03-01T12:00:00.000Z',
        operation: 'stop-app-env',
        surface: 'mcp',
        outcome: 'done',
        principal: { id: 'u' },
        ...change,
      }) as Entry
    const entries = [entry({ surface: 'cli' }), entry({}), entry({ timestamp: '2026-02-01T12:00:00.000Z' })]
    expect(withOperation([...entries, entry({ operation: 'create-app' })], 'Stop app')).toEqual(entries)
    expect(queryOf({ who: 'u', surface: 'mcp', operation: 'stop', session: 'ses_1' })).toEqual({
      principalId: 'u',
      surface: 'mcp',
      sessionId: 'ses_1',
    })
    expect(byDay(entries).map((day) => day.entries.length)).toEqual([2, 1])
  })

  it('returns only to addresses of the console (open redirect)', () => {
    const origin = 'http://127.0.0.1:4400'
    const home = '/console/'
    expect(insideConsole('/console/activity?who=a', origin)).toBe('/console/activity?who=a')
    for (const next of [
      undefined,
      '//evil/console/',
      'https://evil/console/',
      'javascript:1',
      '/docs',
      '/console/../docs',
      '/console/sign-in',
    ])
      expect(insideConsole(next, origin), String(next)).toBe(home)
  })
})
