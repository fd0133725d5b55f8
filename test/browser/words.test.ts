import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { describe, expect, it } from 'vitest'
import { mcpHosts } from '../../src/client/mcp-hosts.ts'
import { problemOf } from '../../src/console/components/Field.tsx'
import { ago, counted, quantity } from '../../src/console/components/words.ts'
import { byDay, type Entry, queryOf, withOperation } from '../../src/console/pages/activity/entries.ts'
import { callersOf, operationsOf, sessionsOf } from '../../src/console/pages/agents/callers.ts'
import { movedByKey, scaleOf, valueAt } from '../../src/console/pages/alerts/scale.ts'
import { byUrgency, conditionWords, stateSpans } from '../../src/console/pages/alerts/words.ts'
import { gapsOf, spansOf } from '../../src/console/pages/environments/ContainerTimeline.tsx'
import { statusWords } from '../../src/console/pages/environments/status-words.ts'
import {
  accessOf,
  changesOf,
  closesEverything,
  type Member,
  toggled,
} from '../../src/console/pages/members/access-draft.ts'
import { matching } from '../../src/console/pages/overview/matching.ts'
import { insideConsole } from '../../src/console/pages/sign-in/inside-console.ts'
import { packFiles } from '../../src/console/pages/start/archive.ts'
import { operationCounts, parseMetrics } from '../../src/console/pages/system/metrics-text.ts'
import type { Pod } from '../../src/contract/app-env-reads.ts'
import { AppError } from '../../src/errors.ts'

type Status = Parameters<typeof statusWords>[0]
const status = (change: Partial<Status>): Status => ({
  appEnvId: 'env_1',
  cliEnvName: 'shop-prod',
  status: 'RUNNING',
  currentContentId: 'dep_1',
  currentVersion: 3,
  currentDeployment: null,
  containers: { desired: 2, running: 2, ready: 1 },
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

describe('status in words', () => {
  it('shows the serving version, and why a deployment failed', () => {
    expect(statusWords(status({}), app).sentence).toBe('Version 3 is serving: 1 of 2 containers ready.')
    const failure = { reason: 'start-timeout', message: 'nothing listens on port 8080' }
    expect(statusWords(status({ currentDeployment: deployment({ failure }) }), app)).toEqual({
      tone: 'bad',
      sentence: 'The deployment of version 4 failed. Version 3 keeps serving.',
      cause: 'start-timeout: nothing listens on port 8080',
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
      'Maximum of 95th percentile of latency over 10 minutes above 500 ms for 1 hour',
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
  it('writes numbers with units, and times relative to now', () => {
    expect([quantity(0.25, 's'), quantity(2, 's'), quantity(12.345, '%')]).toEqual([
      '250 ms',
      '2 s',
      '12.3 %',
    ])
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

describe('members and access', () => {
  const all = ['a', 'b', 'c'].map((id) => ({ appEnvId: id, appId: id, name: id, cliEnvName: id }))
  const member = (allowedAppEnvIds: string[]): Member => ({
    membershipId: 'mem_1',
    invited: false,
    email: 'a@example.com',
    name: 'Ann',
    admin: false,
    manageMembers: false,
    access: allowedAppEnvIds.length === 0 ? 'full' : 'restricted',
    allowedAppEnvIds,
    revision: 1,
  })
  const change = (from: string[], to: Parameters<typeof closesEverything>[0]) => {
    const [found] = changesOf(new Map([['mem_1', to]]), [member(from)], all)
    return found && [found.opens, found.closes].map((list) => list.map(({ appEnvId }) => appEnvId).join(''))
  }

  it('M5: turns full access minus one into a list, and never an empty list into full access', () => {
    const minusB = toggled(accessOf(member([])), 'b', all)
    expect(minusB).toEqual({ full: false, ids: ['a', 'c'] })
    expect(change([], minusB)).toEqual(['', 'b'])
    expect(closesEverything(toggled(accessOf(member(['a'])), 'a', all))).toBe(true)
    expect(closesEverything({ full: true })).toBe(false)
  })

  it('lists what a change opens and closes, and omits unchanged access', () => {
    expect(change(['a'], { full: false, ids: ['b'] })).toEqual(['b', 'a'])
    expect(change(['a'], { full: true })).toEqual(['bc', ''])
    expect(change(['a'], { full: false, ids: ['a'] })).toBeUndefined()
    // The same environments, but future ones are no longer included.
    expect(change([], { full: false, ids: ['a', 'b', 'c'] })).toEqual(['', ''])
  })
})

describe('agents and platform metrics', () => {
  it('counts completed and rejected calls of each caller, by surface', () => {
    const entry = (surface: string, operation: string, outcome: string) =>
      ({
        timestamp: '2026-03-01T12:00:00.000Z',
        principal: { kind: 'user', id: 'usr_1', name: 'Ann', email: null },
        surface,
        operation,
        outcome,
      }) as Entry
    const entries = [
      entry('mcp', 'stop-app-env', 'refused'),
      entry('mcp', 'stop-app-env', 'done'),
      entry('cli', 'create-app', 'done'),
    ]
    expect(callersOf(entries)).toMatchObject([
      { surface: 'mcp', done: 1, refused: 1, name: 'Ann' },
      { surface: 'cli', done: 1, refused: 0 },
    ])
    const inSession = (timestamp: string) => ({ ...entries[0]!, sessionId: 'ses_1', timestamp })
    expect(sessionsOf([inSession('2'), { ...entries[1]!, sessionId: null }, inSession('1')])).toEqual([
      { sessionId: 'ses_1', done: 0, refused: 2, firstAt: '1', lastAt: '2' },
    ])
    expect(operationsOf(entries)[0]).toEqual({ operation: 'stop-app-env', done: 1, refused: 1 })
  })

  it('reads the metrics text and puts operations with own errors first', () => {
    const text = [
      '# HELP longshore_up It runs.',
      'longshore_up 1',
      'longshore_operations_total{operation="get-app",outcome="ok"} 7',
      'longshore_operations_total{operation="stop-app-env",outcome="bug"} 1',
      'longshore_operations_total{operation="get-app",outcome="not-found"} 2',
      'not a sample',
    ].join('\n')
    expect(parseMetrics(text)).toHaveLength(4)
    expect(operationCounts(parseMetrics(text))).toEqual([
      { operation: 'stop-app-env', ok: 0, refused: 0, faults: 1 },
      { operation: 'get-app', ok: 7, refused: 2, faults: 0 },
    ])
  })
})

describe('the first run', () => {
  it('packs files into an archive that other programs read', async () => {
    const files = { 'server.js': 'x'.repeat(1_000), Dockerfile: 'FROM node:20-alpine\n', 'empty.txt': '' }
    const found: Record<string, string> = {}
    const reader = extract()
    reader.on('entry', ({ name }, stream, next) => {
      const parts: Buffer[] = []
      stream.on('data', (part) => parts.push(part as Buffer))
      stream.on('end', () => {
        found[name] = Buffer.concat(parts).toString()
        next()
      })
    })
    const finished = new Promise<void>((resolve, reject) => reader.on('finish', resolve).on('error', reject))
    const unpack = createGunzip().on('error', (error) => reader.destroy(error))
    unpack.pipe(reader)
    unpack.end(Buffer.from(await (await packFiles(files)).arrayBuffer()))
    await finished
    expect(found).toEqual(files)
  })

  it('writes address, token and folder into the configuration of every host, quoted', () => {
    const to = { url: 'http://127.0.0.1:4400', token: 'lsu_1', folder: "/home/o'hara/longshore" }
    for (const { name, stdio, http } of Object.values(mcpHosts)) {
      expect(stdio(to), name).toContain(to.token)
      expect(stdio(to), name).toContain('/longshore/dist/longshore.js')
      if (http) expect(http(to), name).toContain('http://127.0.0.1:4400/mcp')
    }
    expect(mcpHosts['claude-code']?.stdio(to)).toContain(String.raw`'/home/o'\''hara/longshore/dist`)
    expect(JSON.parse(mcpHosts.vscode?.http?.(to) ?? '').servers.longshore).toEqual({
      type: 'http',
      url: 'http://127.0.0.1:4400/mcp',
      headers: { Authorization: 'Bearer lsu_1' },
    })
  })
})
