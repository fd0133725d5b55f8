import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { updateAppEnvVariables } from '../../../src/contract/app-env-actions.ts'
import { newTraceparent } from '../../../src/trace.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const clock = new TestClock()
let platform: TestPlatform
let agent = ''
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false, clock })
  agent = await agentToken('agent')
})
afterAll(() => platform.close())

async function agentToken(label: string): Promise<string> {
  const made = await platform.request('POST', '/user/tokens', {
    token: platform.admin.token,
    input: { name: label, label, kind: 'agent' },
  })
  return made.json.token
}

const setBudgets = (...budgets: Record<string, unknown>[]) =>
  platform.request('PUT', '/policy', {
    token: platform.admin.token,
    input: { accountId: platform.accountId, mode: 'enforce', rules: [], freezes: [], budgets },
  })

let count = 0
const write = (token: string, appEnvId: string, headers: Record<string, string> = {}) => {
  count += 1
  const set = [{ name: 'A', value: String(count), isSecret: false }]
  return platform.request('PATCH', '/app-env/variables', { token, input: { appEnvId, set }, headers })
}

describe('budgets', () => {
  it('shows admins who used how much of each budget, the fullest first, until its window is over', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const own = await agentToken('Spender')
    const other = await agentToken('Saver')
    const [base, hard] = [{ of: 'agent', meter: 'writes', window: '1h', onHard: 'deny' }, 5]
    await setBudgets(
      { ...base, id: 'shown', hard, soft: 3 },
      { ...base, id: 'each', of: 'environment', hard },
    )
    for (const token of [own, own, other]) await write(token, appEnvId)
    const { accountId, admin } = platform
    const usageFor = async (token: string, withUsage = true) =>
      (await platform.request('GET', '/policy', { token, input: { accountId, withUsage } })).json.usage
    const usage = await usageFor(admin.token)
    expect(usage.filter(({ budgetId }: { budgetId: string }) => budgetId === 'shown')).toMatchObject([
      { agent: 'Spender', subjectId: admin.userId, used: 2, hard: 5, soft: 3, resetsAt: expect.any(String) },
      { agent: 'Saver', used: 1 },
    ])
    expect(usage[0]).toMatchObject({
      budgetId: 'each',
      subjectId: appEnvId,
      used: 3,
      name: expect.any(String),
    })
    expect(await usageFor((await platform.makeUser()).token)).toBeNull()
    expect(await usageFor(admin.token, false)).toBeNull()
    await clock.advance(2 * 3_600_000)
    expect(await usageFor(admin.token)).toEqual([])
  })

  it('50 calls at once on two runners over one store never exceed one, and a failed write takes none', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const hard = 7
    await setBudgets({ id: 'few', of: 'agent', meter: 'writes', window: '1h', hard, onHard: 'deny' })
    for (let tries = 0; tries < 2; tries += 1) {
      const failing = {
        appEnvId,
        set: [{ name: 'A', value: String(tries), isSecret: false }],
        expectedRevision: 999,
      }
      const failed = await platform.request('PATCH', '/app-env/variables', { token: agent, input: failing })
      expect(failed.status).toBe(409)
    }
    const runners = [platform.runner, platform.secondRunner()]
    const call = (index: number) =>
      runners[index % 2]!.run({
        operation: updateAppEnvVariables,
        input: { appEnvId, set: [{ name: `V${index}`, value: 'x', isSecret: false }] },
        token: agent,
        surface: 'rest',
        traceparent: newTraceparent(),
        idempotencyKey: null,
        dryRun: false,
      }).then(
        () => 'done',
        (error) => `${error.kind} ${error.message}`,
      )
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => call(index)))
    expect(answers.filter((one) => one === 'done')).toHaveLength(hard)
    expect(answers.filter((one) => one === 'rate-limited Budget used up')).toHaveLength(50 - hard)
  })

  it('counts an agent over its tokens and surfaces, and another agent of the same person apart', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const [one, same, other] = [await agentToken('One'), await agentToken('One'), await agentToken('Other')]
    await setBudgets({
      id: 'two',
      of: 'agent',
      meter: 'writes',
      window: '1h',
      soft: 1,
      hard: 2,
      onHard: 'deny',
    })
    expect((await write(one, appEnvId)).json.policyWarnings).toBeUndefined()
    const second = await write(same, appEnvId, { 'longshore-surface': 'mcp', 'longshore-agent': 'Me' })
    expect(second.json.policyWarnings[0]).toContain('two')
    const third = await write(one, appEnvId, { 'longshore-agent': 'Somebody' })
    expect([third.status, third.json.error]).toEqual([429, 'Budget used up'])
    expect(third.json.details).toMatch(/two allows 2 writes in 1h .* 2 are used/)
    expect((await write(other, appEnvId)).status).toBe(200)
    expect((await write(platform.admin.token, appEnvId)).status).toBe(200)
    const dry = await write(one, appEnvId, { 'dry-run': 'true' })
    expect(dry.json.policy).toMatchObject({
      effect: 'deny',
      ruleId: 'two',
      budgets: [{ id: 'two', used: 2, limit: 2 }],
    })
  })

  it('units come back after the window; a clock that is set back gives none back', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const token = await agentToken('Clock')
    await setBudgets({ id: 'one', of: 'agent', meter: 'writes', window: '1h', hard: 1, onHard: 'deny' })
    expect((await write(token, appEnvId)).status).toBe(200)
    clock.stepWall(-3_600_000)
    expect((await write(token, appEnvId)).status).toBe(429)
    clock.stepWall(3_600_000)
    await clock.advance(59 * 60_000)
    expect((await write(token, appEnvId)).status).toBe(429)
    await clock.advance(3 * 60_000)
    expect((await write(token, appEnvId)).status).toBe(200)
  })
})
