/**
 * The cost of 100 rules on a write (goal: at most 1 ms and 5 % more), side by side, and of the decision alone.
 *
 *   npm run bench -- policy [writes with each policy]
 */
import { policyContent } from '../src/contract/policy.ts'
import type { PolicyCall } from '../src/domain/policy/call.ts'
import { compilePolicy, decide } from '../src/domain/policy/decide.ts'
import { policyImpact } from '../src/domain/policy/lock-out.ts'
import { TestPlatform } from '../testkit/platform/test-platform.ts'

const writes = Number(process.argv[2] ?? 400)
/** Short rounds: a busy machine slows all policies alike. */
const perRound = 10
const platform = await TestPlatform.start({ reconciles: false })
const { token } = platform.admin

/** Rules of every kind, none of which matches. */
const rules = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: `rule-${index}`,
    effect: 'deny',
    who: { kinds: ['agent', 'person'], surfaces: ['rest', 'mcp'] },
    on: {
      operations: ['update-*', 'delete-*'],
      environments: [`*-nowhere-${index}`],
      labels: { stage: 'prod' },
    },
    when: [{ impact: 'containersEnded', is: 'gt', value: index }],
  }))
const budget = { id: 'writes', of: 'account', meter: 'writes', window: '24h', hard: 1e9, onHard: 'deny' }
const call: PolicyCall = {
  at: '2030-01-01T00:00:00.000Z',
  accountId: 'acc_1',
  operation: 'update-app-env-variables',
  caller: {
    ...{ kind: 'agent', userId: 'usr_1', membershipId: 'mem_1', tokenId: 'tok_1' },
    ...{ agent: 'Agent', agentKey: 'usr_1 Agent', surface: 'mcp' },
  },
  environments: [
    { appEnvId: 'env_1', envName: 'shop-prod', app: 'Shop', labels: ['stage=prod'], protected: true },
  ],
  impact: policyImpact,
}
const policies = {
  'no rules': { rules: [], budgets: [] },
  '100 rules': { rules: rules(100), budgets: [] },
  '100 rules and a budget': { rules: rules(100), budgets: [budget] },
}

try {
  const { appEnvId } = await platform.makeEnvironment({ environment: { labels: ['stage=prod'] } })
  const took = new Map(Object.keys(policies).map((name) => [name, [] as number[]]))
  for (let round = 0; round <= writes / perRound; round += 1)
    for (const [name, policy] of Object.entries(policies)) {
      const input = { accountId: platform.accountId, mode: 'enforce', freezes: [], ...policy }
      await platform.request('PUT', '/policy', { token, input })
      for (let index = 0; index < perRound; index += 1) {
        const ms = await write(appEnvId, `${round} ${index}`)
        // The first rounds only let Node compile it.
        if (round > 2) took.get(name)!.push(ms)
      }
    }
  const medians = [...took].map(([name, all]) => [name, median(all)] as const)
  const [, base] = medians[0]!
  for (const [name, ms] of medians)
    console.log(
      `${name.padEnd(24)} p50 ${ms.toFixed(3)} ms (${ms >= base ? '+' : ''}${(ms - base).toFixed(3)} ms, ${((ms / base - 1) * 100).toFixed(1)} %)`,
    )
  decision()
} finally {
  await platform.close()
}

function decision(): void {
  const policy = compilePolicy(policyContent.parse({ rules: rules(100) }))
  const startMs = performance.now()
  for (let index = 0; index < 20_000; index += 1) decide(policy, call, () => ({}))
  const micros = ((performance.now() - startMs) / 20_000) * 1_000
  console.log(`one decision over 100 rules: ${micros.toFixed(1)} µs`)
}

async function write(appEnvId: string, value: string): Promise<number> {
  const set = [{ name: 'A', value, isSecret: false }]
  const startMs = performance.now()
  const { status, text } = await platform.request('PATCH', '/app-env/variables', {
    token,
    input: { appEnvId, set },
  })
  if (status !== 200) throw new Error(text)
  return performance.now() - startMs
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!
}
