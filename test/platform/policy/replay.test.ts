import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type PolicyContent, policyContent } from '../../../src/contract/policy.ts'
import { compilePolicy, decide } from '../../../src/domain/policy/decide.ts'
import { listDecidedWrites } from '../../../src/store/repositories/audit.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const clock = new TestClock()
let platform: TestPlatform
const tokens: string[] = []
const environments: string[] = []
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false, clock })
  for (const label of ['One', 'Two']) {
    const made = await ask('POST', '/user/tokens', { name: label, label, kind: 'agent' })
    tokens.push(made.json.token)
  }
  tokens.push(platform.admin.token)
  for (const environment of [{ protected: true, labels: ['stage=prod'] }, { labels: ['stage:test'] }, {}])
    environments.push((await platform.makeEnvironment({ environment })).appEnvId)
})
afterAll(() => platform.close())

const ask = (
  method: string,
  pathname: string,
  input: Record<string, unknown>,
  { token = platform.admin.token, ...headers }: Record<string, string> = {},
) => platform.request(method, pathname, { token, input, headers })

const pick = <T>(...values: T[]) => fc.constantFrom(...values)
const optional = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined })

const rules = fc.array(
  fc.record({
    effect: pick('allow', 'ask', 'deny'),
    who: optional(
      fc.record({
        kinds: optional(pick(['agent'], ['person'], ['agent', 'environment'])),
        agents: optional(pick(['One'], ['T*'])),
        surfaces: optional(pick(['mcp'], ['rest', 'cli'])),
      }),
    ),
    on: optional(
      fc.record({
        operations: optional(pick(['update-*'], ['scale-app-env-containers'], ['*-app-env'])),
        protected: optional(fc.boolean()),
        labels: optional(pick({ stage: 'prod' }, { stage: '*' })),
      }),
    ),
    when: optional(
      pick(
        [{ impact: 'actions', is: 'contains', value: 'change-settings' }],
        [{ impact: 'variables.changed', is: 'contains', value: 'A' }],
        [{ impact: 'zCloudsDelta', is: 'gt', value: 0 }],
      ),
    ),
  }),
  { maxLength: 4 },
)
const writes = fc.array(
  fc.record({
    by: fc.nat(2),
    on: fc.nat(2),
    surface: pick('rest', 'mcp', 'cli'),
    what: pick('A', 'B', 'containers', 'name'),
  }),
  { minLength: 8, maxLength: 12 },
)

/** `undefined` values would be unknown keys with `strictObject`. */
const policyOf = (drawn: unknown[]): PolicyContent =>
  policyContent.parse(
    JSON.parse(
      JSON.stringify({
        mode: 'observe',
        rules: drawn.map((rule, index) => ({ id: `r${index}`, ...(rule as object) })),
      }),
    ),
  )

let serial = 0
function requestOf(appEnvId: string, what: string): [string, string, Record<string, unknown>] {
  serial += 1
  if (what === 'containers') return ['PUT', '/app-env', { appEnvId, containers: 1 + (serial % 90) }]
  if (what === 'name') return ['PUT', '/app-env', { appEnvId, name: `Name ${serial}` }]
  const set = [{ name: what, value: String(serial), isSecret: false }]
  return ['PATCH', '/app-env/variables', { appEnvId, set }]
}

describe('one decision', () => {
  it('online, offline and in a replay, for random writes on random policies', async () => {
    let compared = 0
    await fc.assert(
      fc.asyncProperty(rules, writes, async (drawn, calls) => {
        await clock.advance(1_000)
        const content = policyOf(drawn)
        const saved = await ask('PUT', '/policy', { accountId: platform.accountId, ...content })
        // One that would keep every admin from changing it.
        if (saved.status === 400) return
        const from = platform.now
        const previewed: unknown[] = []
        for (const { by, on, surface, what } of calls) {
          await clock.advance(1_000)
          const [method, pathname, input] = requestOf(environments[on]!, what)
          const headers = { token: tokens[by]!, 'longshore-surface': surface }
          const dry = await ask(method, pathname, input, { ...headers, 'dry-run': 'true' })
          const done = await ask(method, pathname, input, headers)
          if (done.status === 200) previewed.push([dry.json.policy.effect, dry.json.policy.ruleId])
        }
        const compiled = compilePolicy(content)
        const found = (
          await platform.db.read((tx) =>
            listDecidedWrites(tx, { accountId: platform.accountId, from, to: platform.now, limit: 100 }),
          )
        ).filter(({ operation }) => operation !== 'update-policy')
        const online = found.map(({ decision }) => [decision!.decision!.effect, decision!.decision!.ruleId])
        const offline = found.map(({ at, operation, tokenId, agent, surface, impact, decision }) => {
          const { kind, userId, membershipId, agentKey, environments: on } = decision!
          const caller = { kind, userId, membershipId, tokenId, agent, agentKey, surface }
          const call = {
            at,
            accountId: platform.accountId,
            operation,
            caller,
            environments: on,
            impact: impact!,
          }
          const { effect, ruleId } = decide(compiled, call, () => ({}))
          return [effect, ruleId]
        })
        expect(online).toEqual(previewed)
        expect(offline).toEqual(online)
        const replay = await ask('POST', '/policy/replay', {
          accountId: platform.accountId,
          policy: content,
          from,
        })
        const stopped = replay.json.entries
          .filter(({ operation }: { operation: string }) => operation !== 'update-policy')
          .map(({ effect, ruleId }: { effect: string; ruleId: string }) => [effect, ruleId])
        expect(stopped).toEqual(online.filter(([effect]) => effect !== 'allow'))
        compared += online.length
      }),
      { numRuns: 25 },
    )
    expect(compared).toBeGreaterThan(150)
  }, 120_000)

  it('a replay counts budgets from zero, and says what it could not decide', async () => {
    await ask('PUT', '/policy', {
      accountId: platform.accountId,
      mode: 'enforce',
      rules: [],
      freezes: [],
      budgets: [],
    })
    await clock.advance(1_000)
    const from = platform.now
    for (let index = 0; index < 4; index += 1) {
      const [method, pathname, input] = requestOf(environments[0]!, 'A')
      expect((await ask(method, pathname, input, { token: tokens[0]! })).status).toBe(200)
    }
    const budget = { id: 'two', of: 'agent', meter: 'writes', window: '1h', hard: 2, onHard: 'deny' }
    const { json } = await ask('POST', '/policy/replay', {
      accountId: platform.accountId,
      policy: { budgets: [budget] },
      from,
    })
    expect(json).toMatchObject({
      writes: 4,
      effects: { allow: 2, ask: 0, deny: 2 },
      skipped: 0,
      truncated: false,
    })
    const member = await platform.makeUser()
    const refused = await ask(
      'POST',
      '/policy/replay',
      { accountId: platform.accountId },
      { token: member.token },
    )
    expect(refused.status).toBe(403)
  })
})
