import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { describe, expect, it } from 'vitest'
import { mcpHosts } from '../../src/client/mcp-hosts.ts'
import type { Entry } from '../../src/console/pages/activity/entries.ts'
import { callersOf, operationsOf, sessionsOf } from '../../src/console/pages/agents/callers.ts'
import {
  accessOf,
  changesOf,
  closesEverything,
  type Member,
  toggled,
} from '../../src/console/pages/members/access-draft.ts'
import { packFiles } from '../../src/console/pages/start/archive.ts'
import { operationCounts, parseMetrics } from '../../src/console/pages/system/metrics-text.ts'

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
        agent: surface === 'mcp' ? 'claude-code' : null,
      }) as Entry
    const entries = [
      entry('mcp', 'stop-app-env', 'refused'),
      entry('mcp', 'stop-app-env', 'done'),
      entry('cli', 'create-app', 'done'),
    ]
    expect(callersOf(entries)).toMatchObject([
      { surface: 'mcp', done: 1, refused: 1, name: 'Claude Code for Ann' },
      { surface: 'cli', done: 1, refused: 0, name: 'Ann' },
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
