import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ControlPlanes } from '../../../testkit/platform/control-planes.ts'
import { randomOf } from '../../../testkit/random.ts'
import { noPostgres, PostgresServer } from '../../../testkit/store/postgres-server.ts'

/** What the answers of these calls carry. */
interface Body {
  token: string
  approvalId: string
  reviewDigest: string
  status: string
  apps: { name: string }[]
}

const count = Number(process.env.STORM_APPROVALS ?? 500)
const decided = Math.floor(count * 0.4)
const nodes = ['alder', 'birch'] as const

describe.skipIf(noPostgres)(`a storm of approvals${noPostgres ? `: left out, ${noPostgres}` : ''}`, () => {
  let server: PostgresServer
  let planes: ControlPlanes
  let accountId: string
  let admin: string
  const random = randomOf(Number(process.env.STORM_SEED ?? 1))
  beforeAll(async () => {
    server = await PostgresServer.start()
    planes = await ControlPlanes.start(server, { alder: 'none', birch: 'none' })
    accountId = planes.at('alder').ready.accountId
    admin = planes.at('alder').token
  })
  afterAll(async () => {
    await planes?.dispose()
    await server?.stop()
  })

  /** Sent until it is answered: a killed control plane answers nothing, and its restart takes a moment. */
  async function call(method: string, path: string, input: Record<string, unknown>, token = admin) {
    for (;;) {
      const { api } = planes.at(nodes[Math.floor(random() * nodes.length)]!).ready
      const url = new URL(`/api/public/v1${path}`, api)
      if (method === 'GET')
        for (const [name, value] of Object.entries(input)) url.searchParams.set(name, String(value))
      try {
        const answer = await fetch(url, {
          method,
          headers: { authorization: token, 'content-type': 'application/json' },
          ...(method === 'GET' ? {} : { body: JSON.stringify(input) }),
        })
        if (answer.status < 500) return { status: answer.status, json: (await answer.json()) as Body }
      } catch {
        // Killed before or while it answered.
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /** Kills one of them after the other, until `work` is done. */
  async function underKills<T>(work: Promise<T>): Promise<{ result: T; kills: number }> {
    let isDone = false
    const ended = work.finally(() => {
      isDone = true
    })
    let kills = 0
    while (!isDone) {
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 400 + random() * 1_200))])
      if (isDone) break
      const plane = planes.at(nodes[kills % nodes.length]!)
      await plane.end('SIGKILL')
      kills += 1
      await plane.start()
    }
    return { result: await ended, kills }
  }

  async function eachOf<T, R>(items: readonly T[], lanes: number, work: (item: T) => Promise<R>) {
    const results = new Array<R>(items.length)
    let next = 0
    const lane = async () => {
      while (next < items.length) {
        const index = next++
        results[index] = await work(items[index]!)
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    return results
  }

  it(`${count} writes that ask and ${decided} decisions, each sent twice at once, with kill -9 of both control planes: each is done once or not at all, and none is lost`, {
    timeout: 600_000,
  }, async () => {
    const rule = { id: 'apps', effect: 'ask', on: { operations: ['create-app'] } }
    const set = await call('PUT', '/policy', { accountId, mode: 'enforce', rules: [rule] })
    expect(set.status, JSON.stringify(set.json)).toBe(200)
    const agent = (await call('POST', '/user/tokens', { name: 'storm', kind: 'agent' })).json.token
    const names = Array.from({ length: count }, (_, index) => `storm-${index}`)
    const proposed = await underKills(
      eachOf(names, 8, async (name) => {
        const { status, json } = await call(
          'POST',
          '/app',
          { accountId, name, dockerPreset: 'CUSTOM', port: 8080 },
          agent,
        )
        expect(status, JSON.stringify(json)).toBe(202)
        return json.approvalId as string
      }),
    )
    expect(new Set(proposed.result).size).toBe(count)
    const chosen = proposed.result.filter((_, index) => index % 5 < 2)
    expect(chosen).toHaveLength(decided)
    const decisions = await underKills(
      eachOf(chosen, 8, async (approvalId) => {
        const { reviewDigest } = (await call('GET', '/approval', { approvalId })).json
        const decide = () =>
          call('POST', '/approval/decide', { approvalId, reviewDigest, decision: 'approve' })
        return Promise.all([decide(), decide()])
      }),
    )
    const statuses = decisions.result.flat().map(({ status }) => status)
    expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([])
    // Each pair has at most one that did it; a killed one may have done it without an answer.
    for (const pair of decisions.result)
      expect(pair.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)

    const apps = (await call('GET', '/apps', { accountId })).json.apps
    const made = (name: string) => apps.filter((app) => app.name === name).length
    const wrong: string[] = []
    for (const [index, approvalId] of proposed.result.entries()) {
      const { status } = (await call('GET', '/approval', { approvalId })).json
      const isChosen = chosen.includes(approvalId)
      if (status !== (isChosen ? 'executed' : 'pending')) wrong.push(`${approvalId} is ${status}`)
      if (made(names[index]!) !== (isChosen ? 1 : 0)) wrong.push(`${approvalId} made ${made(names[index]!)}`)
    }
    expect(wrong).toEqual([])
    console.log(
      `${count} approvals, ${decided} decided, ${proposed.kills + decisions.kills} kills: ${statuses.filter((status) => status === 200).length} answered, 0 lost, 0 twice`,
    )
    expect(proposed.kills + decisions.kills).toBeGreaterThan(2)
  })
})
