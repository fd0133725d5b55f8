import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { describe, expect, it } from 'vitest'
import { mcpHosts } from '../../../src/client/mcp-hosts.ts'
import { leftWords } from '../../../src/console/components/words.ts'
import { type Entry, entryWords } from '../../../src/console/pages/activity/entries.ts'
import { callersOf, operationsOf, sessionsOf } from '../../../src/console/pages/agents/callers.ts'
import {
  type Access,
  accessOf,
  changesOf,
  closesEverything,
  type Member,
  opened,
  toggled,
} from '../../../src/console/pages/members/access-draft.ts'
import { packFiles } from '../../../src/console/pages/start/archive.ts'
import { operationCounts, parseMetrics } from '../../../src/console/pages/system/metrics-text.ts'
import { impactFacts, totalImpact } from '../../../src/console/words/approvals.ts'
import { changeWords } from '../../../src/console/words/changes.ts'
import { aboutInput, inWords } from '../../../src/console/words/text.ts'

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

  it('names first what the other version lacks, so that two versions of equal length differ', () => {
    const ids = (one: Access, other: Access) => opened(one, other, all).map(({ appEnvId }) => appEnvId)
    const [mine, theirs] = [
      ['a', 'b'],
      ['a', 'c'],
    ].map((list) => ({ full: false as const, ids: list }))
    expect(ids(mine!, theirs!)).toEqual(['b', 'a'])
    expect(ids(theirs!, mine!)).toEqual(['c', 'a'])
    expect(ids({ full: true }, mine!)).toEqual(['c', 'a', 'b'])
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
        agent: surface === 'mcp' ? 'claude-code' : null,
      }) as Entry
    const entries = [
      entry('mcp', 'stop-app-env', 'refused'),
      entry('mcp', 'stop-app-env', 'done'),
      entry('cli', 'create-app', 'done'),
    ]
    expect(callersOf(entries)).toMatchObject([
      { surface: 'mcp', done: 1, refused: 1, name: 'Claude Code for Ann', isAgent: true, denied: 0 },
      { surface: 'cli', done: 1, refused: 0, name: 'Ann', isAgent: false },
    ])
    const decided = (index: number, effect: string, mode: string) =>
      ({ ...entries[index]!, callerKind: 'agent', policy: { effect, mode } }) as Entry
    const [agent] = callersOf([decided(0, 'deny', 'enforce'), decided(1, 'ask', 'observe')])
    expect(agent).toMatchObject({ isAgent: true, done: 1, refused: 1, denied: 1, observed: 1 })
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

describe('changes and messages in words', () => {
  const words = (path: string, before: unknown, after: unknown) =>
    changeWords([{ path, before, after }], (id) => (id === 'env_1' ? 'shop-prod' : undefined)).map(
      (row) => `${row.label}: ${row.before} > ${row.after}`,
    )

  it('names fields and values as the forms do, with units', () => {
    expect(words('functionConfig.idleTimeoutSeconds', null, '600')).toEqual(['Idle period: default > 10 min'])
    expect(words('jobConfig.timeoutSeconds', 3600, 5400)).toEqual(['Deadline: 1 h > 1 h 30 min'])
    expect(words('zClouds', '1', '2')).toEqual([
      'Size of a container: 1 zCloud (0.5 CPU, 512 MB) > 2 zClouds (1 CPU, 1 GB)',
    ])
    expect(words('settings.memberEnvAccessEnabled', 'false', 'true')).toEqual([
      'Access by environment: no > yes',
    ])
    expect(words('allowedAppEnvIds', '[]', '["env_1"]')).toEqual([
      'Environments with access: null > shop-prod',
    ])
    expect(words('operator', 'gt', 'lt')).toEqual(['Fires: above the threshold > below the threshold'])
    expect(words('source.type', 'BUILD', 'IMAGE')).toEqual(['Source: Built from source > Image'])
    expect(words('restoreMode', 'a', 'b')).toEqual(['Restore mode: a > b'])
    expect(words('wantedRolloutId', null, 'rol_1')).toEqual([])
    expect(words('constructor', null, 'x')).toEqual(['Constructor: null > x'])
  })

  it('leaves text of tenants as they wrote it, and shows of a variable its value', () => {
    expect(words('envVars.A.value', '007', 'true')).toEqual(['Variable A: 007 > true'])
    const variable = JSON.stringify({ _id: 'var_1', name: 'COLOR', value: 'green', isSecret: false })
    expect(words('envVars.COLOR', null, variable)).toEqual(['Variable COLOR: null > green'])
    expect(words('name', 'maxScale', '[1]')).toEqual(['Name: maxScale > [1]'])
  })

  it('shows what took effect at once in one row, and of a new object its facts without ids', () => {
    const both = ['functionConfig.maxScale', 'applied.functionConfig.maxScale'].map((path) => ({
      path,
      before: null,
      after: '3',
    }))
    expect(changeWords(both).map(({ label }) => label)).toEqual(['Most containers'])
    const other = { ...both[1]!, after: '4' }
    expect(changeWords([both[0]!, other]).map(({ label }) => label)).toEqual([
      'Most containers',
      'Most containers, in effect',
    ])
    const saved = { zClouds: 1, branch: '', envVars: [] }
    const made = {
      appEnvId: 'env_1',
      name: 'prod',
      createdAt: '2026-03-01T12:00:00.000Z',
      saved,
      applied: saved,
    }
    expect(words('', null, JSON.stringify(made))).toEqual([
      'Name: null > prod',
      'Size of a container: null > 1 zCloud (0.5 CPU, 512 MB)',
    ])
  })

  it('puts labels, buttons and pages in place of the names of the interface in a message', () => {
    expect(inWords('minScale 3 is above maxScale 2')).toBe(
      '“Fewest containers” 3 is above “Most containers” 2',
    )
    expect(inWords('Pending until apply-app-env-changes. get-logs shows more; see get-logs')).toBe(
      'Pending until “Apply pending changes”. The Logs tab shows more; see the Logs tab',
    )
    expect(inWords('M2: not on the list (M5, M6); send config.password, healthCheck.path')).toBe(
      'not on the list; send “Password”, “Health check path”',
    )
    expect(inWords('shop-prod and eMail stay')).toBe('shop-prod and eMail stay')
    expect(aboutInput('set.0.minScale: must be at most maxScale', 'minScale')).toBe(
      'must be at most “Most containers”',
    )
    expect(aboutInput('maxScale must be at most 10', 'maxScale')).toBe('Must be at most 10')
    expect(entryWords({ operation: 'undo-change', undid: { ...undone, operation: 'update-app-env' } })).toBe(
      'Undo: Change environment',
    )
  })
  const undone = { entryId: 'aud_1', timestamp: '2026-03-01T12:00:00.000Z' }
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

describe('approvals', () => {
  const impact: Parameters<typeof totalImpact>[0][number] = {
    ...{ actions: ['change-settings'], environments: ['env_1'], serving: true, containersEnded: 2 },
    ...{ containersStarted: 0, downtimeSeconds: 0, dataLost: false, undo: 'undo-change', zCloudsDelta: 1 },
    ...{ variables: { changed: ['A'], appliedOf: [] }, peopleNotified: 0 },
  }
  const titles = (one: typeof impact) => impactFacts(one, () => 'shop').map(({ title }) => title)

  it('the picture of a plan adds up its steps, with the worst of what cannot be added', () => {
    const worse = {
      ...impact,
      downtimeSeconds: null,
      dataLost: true,
      undo: 'none' as const,
      zCloudsDelta: -3,
    }
    expect(titles(totalImpact([impact, worse]))).toEqual([
      'Changes settings',
      'Ends 4 containers',
      'Downtime of unknown length',
      'Stored data is lost',
      'Reserves 2 zClouds less',
      'Cannot be undone',
      'Changes A',
    ])
  })

  it('the time that is left has two units', () => {
    expect([-1, 59_999, 3_600_000, 90_061_000].map(leftWords)).toEqual([
      '0 s',
      '59 s',
      '1 h 0 min',
      '1 d 1 h',
    ])
  })
})
