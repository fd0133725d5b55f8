import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { AppError } from '../../../src/errors.ts'
import { HttpFixture, rpc } from '../../../testkit/mcp/http-fixture.ts'

const fixture = new HttpFixture()

describe('sessions', () => {
  const initialize = rpc('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: {} },
    clientInfo: { name: 'raw', version: '1' },
  })

  it('work only with the token that opened them', async () => {
    const id = (await fixture.raw({ body: initialize })).headers['mcp-session-id'] as string
    const list = { body: rpc('tools/list', {}), headers: { 'mcp-session-id': id } }
    expect((await fixture.raw(list)).status).toBe(200)
    const other = await fixture.raw({ ...list, headers: { ...list.headers, authorization: 'lsu_other' } })
    const unknown = await fixture.raw({ ...list, headers: { 'mcp-session-id': 'nothing' } })
    expect(other.status).toBe(404)
    expect(other.body).toBe(unknown.body)
  })

  it('end with DELETE', async () => {
    const id = (await fixture.raw({ body: initialize })).headers['mcp-session-id'] as string
    expect(
      (await fixture.raw({ method: 'DELETE', body: '', headers: { 'mcp-session-id': id } })).status,
    ).toBe(204)
    expect(fixture.handler.sessionCount).toBe(0)
    expect((await fixture.raw({ headers: { 'mcp-session-id': id } })).status).toBe(404)
  })

  it('are limited: the longest idle one is closed first', async () => {
    await fixture.stop()
    await fixture.serve({ limits: { sessions: 3 } })
    const ids: string[] = []
    for (let count = 0; count < 5; count += 1) {
      ids.push((await fixture.raw({ body: initialize })).headers['mcp-session-id'] as string)
    }
    expect(fixture.handler.sessionCount).toBe(3)
    const statuses = await Promise.all(
      ids.map(async (id) => (await fixture.raw({ headers: { 'mcp-session-id': id } })).status),
    )
    expect(statuses).toEqual([404, 404, 200, 200, 200])
  })

  it('are limited by principal: one with many tokens never closes a session of another principal', async () => {
    await fixture.stop()
    const authenticate = async (token: string) => (token.startsWith('lsu_greedy') ? 'usr_greedy' : token)
    await fixture.serve({ authenticate, limits: { sessions: 5, sessionsOfOne: 2 } })
    const open = async (authorization: string) =>
      (await fixture.raw({ body: initialize, headers: { authorization } })).headers['mcp-session-id']
    const mine = (await open('lsu_a')) as string
    for (let count = 0; count < 10; count += 1) expect(await open(`lsu_greedy${count}`)).toBeDefined()
    expect(fixture.handler.sessionCount).toBe(3)
    expect((await fixture.raw({ headers: { 'mcp-session-id': mine, authorization: 'lsu_a' } })).status).toBe(
      200,
    )
  })

  it('are at most 100 of one principal: one more closes its longest idle one', async () => {
    const open = async () => (await fixture.raw({ body: initialize })).headers['mcp-session-id'] as string
    const oldest = await open()
    const next = await open()
    for (let count = 2; count < 101; count += 1) await open()
    expect(fixture.handler.sessionCount).toBe(100)
    expect((await fixture.raw({ headers: { 'mcp-session-id': oldest } })).status).toBe(404)
    expect((await fixture.raw({ headers: { 'mcp-session-id': next } })).status).toBe(200)
  })

  it('are not opened when others use all places; the request itself is still answered', async () => {
    await fixture.stop()
    await fixture.serve({ limits: { sessions: 2 } })
    const open = async (authorization: string) =>
      fixture.raw({ body: initialize, headers: { authorization } })
    const mine = (await open('lsu_a')).headers['mcp-session-id'] as string
    await open('lsu_b')
    const late = await open('lsu_c')
    expect([late.status, late.headers['mcp-session-id']]).toEqual([200, undefined])
    expect((await fixture.raw({ headers: { 'mcp-session-id': mine, authorization: 'lsu_a' } })).status).toBe(
      200,
    )
  })

  it('are not kept while the principal is unknown because the store is unavailable', async () => {
    await fixture.stop()
    await fixture.serve({
      authenticate: async () => {
        throw new AppError('unavailable', 'The store is away')
      },
    })
    const answer = await fixture.raw({ body: initialize })
    expect([answer.status, answer.headers['mcp-session-id']]).toEqual([200, undefined])
  })

  it('expire when they are not used', async () => {
    await fixture.stop()
    let nowMs = 0
    const tasks: { at: number; task: () => void }[] = []
    const clock = {
      ...systemClock,
      monotonicMs: () => nowMs,
      after(delayMs: number, task: () => void) {
        const entry = { at: nowMs + delayMs, task }
        tasks.push(entry)
        return () => {
          if (tasks.includes(entry)) tasks.splice(tasks.indexOf(entry), 1)
        }
      },
    }
    await fixture.serve({ clock, limits: { sessionIdleMs: 1_000 } })
    await fixture.raw({ body: initialize })
    expect(fixture.handler.sessionCount).toBe(1)
    nowMs = 1_000
    for (const due of tasks.splice(0)) due.task()
    expect(fixture.handler.sessionCount).toBe(0)
  })
})
