import { afterAll, beforeAll, expect, it } from 'vitest'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
let mine: string
let other: { user: TestUser; appEnvId: string }
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  mine = (await platform.makeEnvironment()).appEnvId
  const accountId = await platform.makeAccount('Other')
  const user = await platform.makeUser({ accountId, admin: true })
  const { appEnvId } = await platform.makeEnvironment({ by: user.client, accountId })
  other = { user, appEnvId }
})
afterAll(() => platform.close())

const connections = 30

/** Reads whose work goes on after their transaction. */
const busy: [name: string, path: string, input: () => Record<string, unknown>][] = [
  ['what-changed', '/app-env/changes', () => ({ appEnvId: mine })],
  ['get-incident', '/app-env/incident', () => ({ appEnvId: mine })],
  ['diagnose-app-env', '/app-env/diagnosis', () => ({ appEnvId: mine })],
  ['get-account-health', '/account/health', () => ({ accountId: platform.accountId })],
  ['get-app-env-status', '/app-env/status', () => ({ appEnvId: mine })],
  ['get-logs', '/logs', () => ({ appEnvId: mine, type: 'RUNTIME' })],
]

it.each(busy)(
  '%s on many connections of an account holds up no read of another one',
  async (_name, path, input) => {
    let done = 0
    let isOver = false
    const { token } = platform.admin
    const connection = async () => {
      while (!isOver) {
        const answer = await platform.request('GET', path, { token, input: input() })
        expect(answer.status).toBe(200)
        done += 1
      }
    }
    const load = Array.from({ length: connections }, connection)
    const between: number[] = []
    for (let read = 0; read < 9; read += 1) {
      const before = done
      const one = { token: other.user.token, input: { appEnvId: other.appEnvId } }
      expect((await platform.request('GET', '/app-env', one)).status).toBe(200)
      between.push(done - before)
    }
    isOver = true
    await Promise.all(load)
    // One in each turn that the other read waits for, instead of one of each connection.
    expect(between.sort((a, b) => a - b)[4]).toBeLessThan(connections / 3)
  },
)
