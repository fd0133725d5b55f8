import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const clock = new TestClock()
let platform: TestPlatform
const tokens: string[] = []
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false, clock })
  for (const label of ['One', 'Two']) {
    const made = await platform.request('POST', '/user/tokens', {
      token: platform.admin.token,
      input: { name: label, label, kind: 'agent' },
    })
    tokens.push(made.json.token)
  }
})
afterAll(() => platform.close())

const ask = (token: string, method: string, pathname: string, input: Record<string, unknown>) =>
  platform.request(method, pathname, { token, input })
let count = 0
const write = (token: string, appEnvId: string) => {
  count += 1
  const set = [{ name: 'A', value: String(count), isSecret: false }]
  return ask(token, 'PATCH', '/app-env/variables', { appEnvId, set })
}

describe('claims', () => {
  it('claimed-environment: other agents are refused, people go on and hear of it, and it ends by itself', async () => {
    const [one, two] = tokens as [string, string]
    const { appEnvId } = await platform.makeEnvironment()
    const claimed = await ask(one, 'POST', '/app-env/claim', {
      appEnvId,
      intent: 'a migration',
      seconds: 600,
    })
    expect([claimed.status, claimed.json.claim]).toMatchObject([200, { agent: 'One', intent: 'a migration' }])
    const read = await ask(two, 'GET', '/app-env', { appEnvId })
    expect(read.json.claim).toEqual(claimed.json.claim)
    expect((await write(one, appEnvId)).status).toBe(200)
    const refused = await write(two, appEnvId)
    expect([refused.status, refused.json.error]).toEqual([409, 'Environment is claimed'])
    expect(refused.json.details).toContain(claimed.json.claim.until)
    expect((await ask(two, 'POST', '/app-env/claim', { appEnvId, intent: 'x' })).status).toBe(409)
    expect((await ask(two, 'POST', '/app-env/release', { appEnvId })).status).toBe(409)
    const person = await write(platform.admin.token, appEnvId)
    expect([person.status, person.json.policyWarnings[0]]).toEqual([200, expect.stringContaining('One')])
    await clock.advance(601_000)
    expect((await write(two, appEnvId)).status).toBe(200)
    expect((await ask(two, 'GET', '/app-env', { appEnvId })).json.claim).toBeNull()
  })

  it('a person takes it over, and releases it', async () => {
    const [one] = tokens as [string, string]
    const { appEnvId } = await platform.makeEnvironment()
    const { token } = platform.admin
    await ask(one, 'POST', '/app-env/claim', { appEnvId, intent: 'a migration' })
    expect((await ask(token, 'POST', '/app-env/claim', { appEnvId, intent: 'an incident' })).status).toBe(200)
    expect((await write(one, appEnvId)).json.error).toBe('Environment is claimed')
    expect((await ask(token, 'POST', '/app-env/release', { appEnvId })).status).toBe(200)
    expect((await write(one, appEnvId)).status).toBe(200)
    expect((await ask(one, 'POST', '/app-env/claim', { appEnvId, intent: 'x', seconds: 3_601 })).status).toBe(
      400,
    )
  })
})
