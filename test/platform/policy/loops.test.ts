import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const clock = new TestClock()
let platform: TestPlatform
let agent = ''
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false, clock })
  const made = await platform.request('POST', '/user/tokens', {
    token: platform.admin.token,
    input: { name: 'agent', kind: 'agent' },
  })
  agent = made.json.token
})
afterAll(() => platform.close())

const set = (token: string, appEnvId: string, value: string) =>
  platform.request('PATCH', '/app-env/variables', {
    token,
    input: { appEnvId, set: [{ name: 'A', value, isSecret: false }] },
  })

describe('the loop breaker', () => {
  it('loop-breaker: the third identical failing write of an agent answers 429 with the three reasons', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const undo = (token: string) =>
      platform.request('PATCH', '/app-env/variables', {
        token,
        input: { appEnvId, unset: ['B'], expectedRevision: 999 },
      })
    const first = await undo(agent)
    expect(first.status).toBe(409)
    expect((await undo(agent)).text).toBe(first.text)
    const third = await undo(agent)
    expect([third.status, third.json.error]).toEqual([429, 'Repeated failure'])
    expect(third.json.details.split(first.json.error)).toHaveLength(4)
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0)
    // People may try as often as they like, and another call is another call.
    for (let tries = 0; tries < 4; tries += 1) expect((await undo(platform.admin.token)).status).toBe(409)
    expect((await set(agent, appEnvId, '1')).status).toBe(200)
    await clock.advance(10 * 60_000 + 1_000)
    expect((await undo(agent)).status).toBe(409)
  })

  it('one field set back and forth three times within an hour asks', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    expect((await set(agent, appEnvId, 'one')).status).toBe(200)
    expect((await set(agent, appEnvId, 'two')).status).toBe(200)
    expect((await set(agent, appEnvId, 'one')).status).toBe(200)
    const third = await set(agent, appEnvId, 'two')
    expect([third.status, third.json]).toMatchObject([202, { ruleId: 'loop-breaker' }])
    expect((await set(agent, appEnvId, 'three')).status).toBe(200)
    expect((await set(platform.admin.token, appEnvId, 'two')).status).toBe(200)
    await clock.advance(3_600_000 + 1_000)
    expect((await set(agent, appEnvId, 'three')).status).toBe(200)
  })
})
