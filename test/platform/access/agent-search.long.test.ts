import { mkdtempSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import { isRead } from '../../../src/contract/operation.ts'
import type { StoredApproval } from '../../../src/domain/approvals/approval.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { calls, type World } from '../../../testkit/impact/calls.ts'
import { worldOf } from '../../../testkit/impact/world.ts'
import type { RawAnswer } from '../../../testkit/platform/raw-request.ts'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'
import { randomOf } from '../../../testkit/random.ts'
import { removeFolder } from '../../../testkit/remove-folder.ts'

type Input = Record<string, unknown>
/** One call of the agent. */
interface Attempt {
  method: string
  path: string
  input: Input
  headers?: Record<string, string>
}

const steps = Number(process.env.SEARCH_STEPS ?? 6_000)
const seed = Number(process.env.SEARCH_SEED ?? 1)
const random = randomOf(seed)
const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)]
const writes = operations.filter((row) => !isRead(row))
const reads = operations.filter(isRead)
const quarterMs = 900_000
const surfaces = ['rest', 'mcp', 'cli', 'console', 'chat', 'link']
/** No answer may show it to an agent: it is a secret of an environment outside the limits of its token. */
const canary = 'canary-7f3a91c2e5'

const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-search-'))
const clock = new TestClock()
let platform: TestPlatform
let other: TestUser
let guest: TestUser
let spare: TestUser
/** What the agent has in its hands: tokens and cookies, also those that it makes. */
const tokens: string[] = []
const cookies: string[] = []
let hidden: string
let before: Record<string, unknown>

const admin = (method: string, pathname: string, input: Input) =>
  platform.request(method, pathname, { token: platform.admin.token, input })

beforeAll(async () => {
  writeFileSync(path.join(dir, 'index.html'), '<!doctype html>')
  platform = await TestPlatform.start({ reconciles: false, consoleDir: dir, clock })
  other = await platform.makeUser()
  guest = await platform.makeUser({ accountId: await platform.makeAccount('Elsewhere') })
  spare = guest
  const { accountId } = platform
  const open = [await platform.makeEnvironment(), await platform.makeEnvironment()]
  hidden = (await platform.makeEnvironment({ environment: { protected: true } })).appEnvId
  await admin('PATCH', '/app-env/variables', {
    appEnvId: hidden,
    set: [{ name: 'SECRET', value: canary, isSecret: true }],
  })
  const appEnvIds = open.map(({ appEnvId }) => appEnvId)
  for (const limits of [
    {},
    { readOnly: true },
    { appEnvIds },
    { scopes: ['environments:read', 'environments:write'] },
  ]) {
    const made = await admin('POST', '/user/tokens', { name: 'agent', kind: 'agent', ...limits })
    expect(made.status, made.text).toBe(200)
    tokens.push(made.json.token)
  }
  const set = await admin('PUT', '/policy', { accountId, start: 'careful', mode: 'enforce' })
  expect(set.status, set.text).toBe(200)
  before = await granted()
})
afterAll(async () => {
  await platform?.close()
  removeFolder(dir)
})

/** Everything that says what agents may do; the members and the settings are those of its account. */
async function granted(): Promise<Record<string, unknown>> {
  const { accountId } = platform
  return platform.db.read(async (tx) => {
    const records = await tx.selectFrom('approvals').select('record').execute()
    const approvals = records.map(({ record }) => JSON.parse(record) as StoredApproval)
    const userTokens = await tx.selectFrom('tokens').selectAll().where('kind', '=', 'user').execute()
    return {
      policies: await tx
        .selectFrom('policies')
        .select('record')
        .where('account_id', '=', accountId)
        .execute(),
      account: limitsOf(
        await tx
          .selectFrom('accounts')
          .select('settings')
          .where('account_id', '=', accountId)
          .executeTakeFirstOrThrow(),
      ),
      members: await tx.selectFrom('memberships').selectAll().where('account_id', '=', accountId).execute(),
      tokensOfPeople: userTokens.flatMap(({ token_id, access }) => (isOfAgent(access) ? [] : token_id)),
      sessions: (await tx.selectFrom('console_sessions').select('user_id').execute()).length,
      decided: approvals.filter(({ status, decisions }) => decisions.length > 0 || status === 'executed'),
    }
  })
}

function limitsOf({ settings }: { settings: string }) {
  const { memberEnvAccessEnabled, zCloudLimit, agentsPaused } = JSON.parse(settings)
  return { memberEnvAccessEnabled, zCloudLimit, agentsPaused }
}

const isOfAgent = (access: string | null) => access !== null && JSON.parse(access).kind === 'agent'

const attacks: ((world: World) => Attempt | null)[] = [
  ({ approvals }) => {
    const approval = pick(approvals)
    return approval
      ? { method: 'POST', path: '/approval/decide', input: { ...approval, decision: 'approve' } }
      : null
  },
  ({ platform: { accountId } }) => ({
    method: 'PUT',
    path: '/policy',
    input: {
      accountId,
      ...pick<Input>([{ mode: 'observe' }, { rules: [] }, { start: 'open' }, { budgets: [] }]),
    },
  }),
  () => ({
    method: 'POST',
    path: '/user/tokens',
    input: { name: 'mine', ...pick<Input>([{}, { kind: 'person' }, { kind: 'agent' }]) },
  }),
  ({ platform: { accountId } }) => ({
    method: 'PATCH',
    path: '/account',
    input: {
      accountId,
      ...pick<Input>([{ agentsPaused: false }, { memberEnvAccessEnabled: true }, { zCloudLimit: 500 }]),
    },
  }),
  () => ({
    method: 'PUT',
    path: '/app-env',
    input: { appEnvId: hidden, ...pick<Input>([{ protected: false }, { labels: [] }, { containers: 2 }]) },
  }),
  () => ({ method: 'GET', path: '/app-env', input: { appEnvId: hidden } }),
  () => ({ method: 'POST', path: '/../../../console/sign-in-link', input: {} }),
  (world) => {
    const inner = attempt(world)
    const row = operations.find(({ method, path: at }) => method === inner?.method && at === inner.path)
    return inner && row
      ? {
          method: 'POST',
          path: '/plan',
          input: {
            accountId: platform.accountId,
            title: 'plan',
            steps: [{ operation: row.id, input: inner.input }],
          },
        }
      : null
  },
]

function attempt(world: World): Attempt | null {
  if (random() < 0.35) return pick(attacks)!(world)
  if (random() < 0.25) {
    const { method, path: at } = pick(reads)!
    const appEnvId = pick([hidden, ...world.environments.map((one) => one.appEnvId)])!
    const names: Input[] = [
      { appEnvId },
      { accountId: platform.accountId },
      { approvalId: pick(world.approvals)?.approvalId },
      {},
    ]
    return { method, path: at, input: pick(names)! }
  }
  const row = pick(writes)!
  const made = calls[row.id]!(world)
  if (made === null) return null
  return { method: row.method, path: row.path, input: ('input' in made ? made.input : made) as Input }
}

/** Some calls wait for a time of the clock, such as a probe. */
async function answered(answer: Promise<RawAnswer>): Promise<RawAnswer> {
  for (;;) {
    const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), 500))
    const first = await Promise.race([answer, late])
    if (first !== null) return first
    await clock.advance(1_000)
  }
}

/** Tokens in an answer are in the hands of the agent from then on. */
function keep({ json, headers }: RawAnswer): void {
  const { token, signInUrl } = (json ?? {}) as { token?: unknown; signInUrl?: unknown }
  if (typeof token === 'string' && tokens.length < 40) tokens.push(token)
  if (typeof signInUrl === 'string') cookies.push(signInUrl)
  const cookie = headers.get('set-cookie')
  if (cookie) cookies.push(cookie)
}

it(`${steps} random steps of an agent that knows the whole interface widen nothing, approve nothing and show no secret`, {
  timeout: 3_600_000,
}, async () => {
  let world = await worldOf({ platform, other, guest, spare }, 0, random)
  const statuses = new Map<number, number>()
  for (let count = 0; count < steps; count++) {
    if (count % 20 === 0) {
      // Budgets and the loop breaker would soon refuse everything.
      await clock.advance(quarterMs)
      world = await worldOf({ platform, other, guest, spare }, count, random)
      const now = await granted()
      expect(now, `seed ${seed}, step ${count}`).toEqual(before)
    }
    const made = attempt(world)
    if (made === null) continue
    const { method, path: at, input, headers } = made
    const dry: Record<string, string> = random() < 0.1 ? { 'dry-run': 'true' } : {}
    const answer = await answered(
      platform.request(method, at, {
        token: pick(tokens)!,
        input: Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)),
        headers: { 'longshore-surface': pick(surfaces)!, ...headers, ...dry },
      }),
    )
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    expect(answer.status, `${method} ${at} ${answer.text}`).toBeLessThan(500)
    expect(answer.text, `seed ${seed}, step ${count}: ${method} ${at}`).not.toContain(canary)
    keep(answer)
  }
  expect(cookies).toEqual([])
  expect(await granted()).toEqual(before)
  const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, times]) => `${times} x ${status}`)
  console.log(`${steps} steps (seed ${seed}): ${counts.join(', ')}; nothing widened, approved or shown`)
})
