import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { policyContent } from '../../../src/contract/policy.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

type Ask = { token?: string; input?: Record<string, unknown>; headers?: Record<string, string> }
const ask = (method: string, pathname: string, { token = platform.admin.token, ...rest }: Ask = {}) =>
  platform.request(method, pathname, { token, ...rest })
const dry = { 'dry-run': 'true' }

async function agentToken(input: Record<string, unknown> = {}): Promise<string> {
  const made = await ask('POST', '/user/tokens', { input: { name: 'agent', kind: 'agent', ...input } })
  return made.json.token
}
const setPolicy = (policy: Record<string, unknown>) =>
  ask('PUT', '/policy', { input: { accountId: platform.accountId, ...empty, ...policy } })
const empty = { mode: 'enforce', rules: [], freezes: [], budgets: [] }
afterEach(() => setPolicy(empty))

const agents = { kinds: ['agent'] }
let count = 0
const setVariable = (token: string, appEnvId: string, headers: Record<string, string> = {}) => {
  count += 1
  const set = [{ name: 'A', value: String(count), isSecret: false }]
  return ask('PATCH', '/app-env/variables', { token, input: { appEnvId, set }, headers })
}
const revisionOf = async (appEnvId: string) =>
  (await ask('GET', '/app-env', { input: { appEnvId } })).json.revision

describe('a policy', () => {
  it('policy: denies by who, on and impact, changes nothing, and names the rule and its message', async () => {
    const { appEnvId } = await platform.makeEnvironment({
      environment: { protected: true, labels: ['stage=prod'] },
    })
    const other = await platform.makeEnvironment()
    const agent = await agentToken()
    await setPolicy({
      rules: [
        {
          id: 'no-settings',
          effect: 'deny',
          who: agents,
          on: { protected: true, labels: { stage: 'p*' }, operations: ['update-*'] },
          when: [{ impact: 'variables.changed', is: 'contains', value: 'A' }],
          message: 'Ask the team of production.',
        },
        { id: 'everything', effect: 'allow' },
      ],
    })
    const before = await revisionOf(appEnvId)
    const refused = await setVariable(agent, appEnvId)
    expect([refused.status, refused.json.error]).toEqual([403, 'Denied by policy'])
    expect(refused.json.details).toContain('no-settings: Ask the team of production.')
    expect(refused.headers.get('longshore-rule')).toBe('policy')
    expect(await revisionOf(appEnvId)).toBe(before)
    expect((await setVariable(agent, other.appEnvId)).status).toBe(200)
    expect((await setVariable(platform.admin.token, appEnvId)).status).toBe(200)
    const previewed = await setVariable(agent, appEnvId, dry)
    expect([previewed.status, previewed.json.policy]).toEqual([
      200,
      {
        effect: 'deny',
        ruleId: 'no-settings',
        message: 'Ask the team of production.',
        mode: 'enforce',
        budgets: [],
      },
    ])
    const { entries } = (
      await ask('GET', '/audit', { input: { accountId: platform.accountId, outcome: 'refused', limit: 1 } })
    ).json
    expect(entries[0]).toMatchObject({
      operation: 'update-app-env-variables',
      callerKind: 'agent',
      policy: { effect: 'deny', ruleId: 'no-settings', mode: 'enforce' },
    })
  })

  it('is the same for an agent over REST, the CLI, a second token, and MCP with a token of a person', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    await setPolicy({ rules: [{ id: 'none', effect: 'deny', who: agents }] })
    const calls = [
      setVariable(await agentToken(), appEnvId),
      setVariable(await agentToken(), appEnvId, { 'longshore-surface': 'cli' }),
      setVariable(await agentToken({ label: 'Other' }), appEnvId),
      setVariable(platform.admin.token, appEnvId, { 'longshore-surface': 'mcp' }),
      setVariable(await platform.makeEnvironmentToken(appEnvId), appEnvId, { 'longshore-surface': 'mcp' }),
    ]
    const answers = (await Promise.all(calls)).map(({ status, json }) => [status, json.error])
    const denied = [403, 'Denied by policy']
    // Environment tokens may not change variables at all.
    expect(answers).toEqual([denied, denied, denied, denied, [403, 'This operation needs a user token']])
  })

  it('asks: the write waits, changes nothing, and a dry run needs no approval', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const agent = await agentToken()
    await setPolicy({ rules: [{ id: 'review', effect: 'ask', who: agents }] })
    const asked = await setVariable(agent, appEnvId)
    expect([asked.status, asked.json]).toMatchObject([202, { status: 'pending', ruleId: 'review' }])
    expect((await setVariable(agent, appEnvId, dry)).json.policy).toMatchObject({
      effect: 'ask',
      ruleId: 'review',
    })
  })

  it('observe stops nothing, and the audit log says what would have been', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const agent = await agentToken()
    await setPolicy({ mode: 'observe', rules: [{ id: 'none', effect: 'deny', who: agents }] })
    expect((await setVariable(agent, appEnvId)).status).toBe(200)
    const { entries } = (
      await ask('GET', '/audit', { input: { accountId: platform.accountId, objectId: appEnvId, limit: 1 } })
    ).json
    expect(entries[0].policy).toMatchObject({ effect: 'deny', ruleId: 'none', mode: 'observe' })
  })

  it('an environment that a write unprotects is still protected for that write', async () => {
    const { appEnvId } = await platform.makeEnvironment({ environment: { protected: true } })
    const agent = await agentToken()
    await setPolicy({ rules: [{ id: 'guard', effect: 'deny', who: agents, on: { protected: true } }] })
    const unprotect = await ask('PUT', '/app-env', { token: agent, input: { appEnvId, protected: false } })
    expect(unprotect.json.error).toBe('Denied by policy')
    const deleted = await ask('DELETE', '/app-env', { token: agent, input: { appEnvId } })
    expect(deleted.json.error).toBe('Denied by policy')
    const person = await ask('PUT', '/app-env', {
      input: { appEnvId, protected: false, labels: ['a', 'a', 'b:c'] },
    })
    expect(person.status, person.text).toBe(200)
    expect((await ask('GET', '/app-env', { input: { appEnvId } })).json).toMatchObject({
      protected: false,
      labels: ['a', 'b:c'],
    })
    expect((await ask('DELETE', '/app-env', { token: agent, input: { appEnvId } })).status).toBe(200)
  })

  it('a read that shows secrets is decided and counted', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const agent = await agentToken()
    const read = () => ask('GET', '/app-env', { token: agent, input: { appEnvId, decrypt: true } })
    await setPolicy({
      budgets: [{ id: 'secrets', of: 'user', meter: 'secretReads', window: '1h', hard: 1, onHard: 'deny' }],
    })
    expect((await read()).status).toBe(200)
    expect([(await read()).status, (await read()).json.error]).toEqual([429, 'Budget used up'])
    await setPolicy({
      rules: [
        {
          id: 'blind',
          effect: 'deny',
          when: [{ impact: 'actions', is: 'contains', value: 'reveal-secret' }],
        },
      ],
    })
    const refused = await read()
    expect([refused.status, refused.json.error]).toEqual([403, 'Denied by policy'])
  })

  it('only people change it: not an agent, nor an undo by one', async () => {
    const agent = await agentToken()
    const put = (extra: Ask) =>
      ask('PUT', '/policy', { input: { accountId: platform.accountId, mode: 'observe' }, ...extra })
    expect((await put({ token: agent })).status).toBe(403)
    expect((await put({ headers: { 'longshore-surface': 'mcp' } })).status).toBe(403)
    const member = await platform.makeUser()
    expect((await put({ token: member.token })).status).toBe(403)
    expect(
      (await ask('GET', '/policy', { token: member.token, input: { accountId: platform.accountId } })).status,
    ).toBe(200)
    await setPolicy({ rules: [{ id: 'x', effect: 'deny', who: agents }] })
    const { entries } = (await ask('GET', '/audit', { input: { accountId: platform.accountId, limit: 1 } }))
      .json
    expect(entries[0].objectType).toBe('policy')
    const undone = await ask('POST', '/audit/undo', { token: agent, input: { entryId: entries[0].entryId } })
    expect(undone.status).not.toBe(200)
  })

  it('has a revision that guards concurrent changes, and takes what it answers', async () => {
    const { json } = await ask('GET', '/policy', { input: { accountId: platform.accountId } })
    const again = await ask('PUT', '/policy', { input: { ...json, expectedRevision: json.revision } })
    expect(again.status, again.text).toBe(200)
    const late = await ask('PUT', '/policy', { input: { ...json, expectedRevision: json.revision } })
    expect(late.status).toBe(409)
  })
})

describe('a policy that cannot work is refused, with the place', () => {
  it.each([
    [
      { rules: [{ id: 'a', effect: 'deny', on: { operations: ['delete-nothing'] } }] },
      'rules[0].on.operations[0]',
    ],
    [{ rules: [{ id: 'a', effect: 'deny', on: { operations: ['get-logs'] } }] }, 'is a read'],
    [
      { rules: [{ id: 'a', effect: 'deny', when: [{ impact: 'cost', is: 'gt', value: 1 }] }] },
      'rules[0].when[0]',
    ],
    [
      { rules: [{ id: 'a', effect: 'deny', when: [{ impact: 'serving', is: 'gt', value: 1 }] }] },
      'rules[0].when[0]',
    ],
    [
      {
        rules: [{ id: 'a', effect: 'deny', when: [{ impact: 'actions', is: 'contains', value: 'explode' }] }],
      },
      'is one of',
    ],
    [{ rules: [{ id: 'a', effect: 'deny', who: { members: ['mem_x'] } }] }, 'rules[0].who.members[0]'],
    [{ rules: [{ id: 'a', effect: 'deny', who: { tokens: ['tok_x'] } }] }, 'rules[0].who.tokens[0]'],
    [
      { rules: [{ id: 'a', effect: 'ask', after: { operation: 'back-up', withinSeconds: 60 } }] },
      'rules[0].after.operation',
    ],
    [{ rules: [{ id: 'a', effect: 'deny' }] }, 'rules[0]: a would keep every admin'],
    [
      { rules: [{ id: 'a', effect: 'ask', on: { operations: ['update-policy'] }, approvers: { count: 5 } }] },
      'keep every admin',
    ],
    [
      { freezes: [{ id: 'f', weekly: { days: ['fri'], from: '18:00', to: '25:00' }, timeZone: 'UTC' }] },
      'weekly',
    ],
    [{ freezes: [{ id: 'f', from: '2030-01-01T00:00', timeZone: 'Mars/Base' }] }, 'timeZone'],
    [
      {
        rules: [{ id: 'a', effect: 'allow' }],
        budgets: [{ id: 'a', of: 'user', meter: 'writes', window: '1h', hard: 1, onHard: 'deny' }],
      },
      'a is taken',
    ],
  ])('%j', async (policy, place) => {
    const refused = await setPolicy(policy)
    expect([refused.status, refused.json.details]).toEqual([400, expect.stringContaining(place)])
  })
})

describe('explain-policy', () => {
  it('says what would happen to a call of the caller, and why, without doing it', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const agent = await agentToken()
    await setPolicy({
      rules: [{ id: 'review', effect: 'ask', who: agents, on: { operations: ['delete-*'] } }],
    })
    const explain = (input: Record<string, unknown>, token = agent) =>
      ask('POST', '/policy/explain', { token, input })
    const call = { operation: 'delete-app-env', input: { appEnvId } }
    expect((await explain(call)).json).toMatchObject({
      operation: 'delete-app-env',
      effect: 'ask',
      ruleId: 'review',
      impact: { environments: [appEnvId] },
    })
    expect((await explain(call, platform.admin.token)).json).toMatchObject({ effect: 'allow', ruleId: null })
    const readOnly = await agentToken({ readOnly: true, mayPropose: false })
    expect((await explain(call, readOnly)).json).toMatchObject({ effect: 'deny', impact: null })
    expect((await explain({ operation: 'list-apps', input: {} })).status).toBe(400)
    expect((await ask('GET', '/app-env', { input: { appEnvId } })).status).toBe(200)
  })
})

describe('the policy of the platform', () => {
  it('applies to every account, which can only tighten it; one that cannot match stops the start', async () => {
    const policy = policyContent.parse({
      rules: [{ id: 'platform-rule', effect: 'deny', who: agents, on: { operations: ['delete-app-env'] } }],
    })
    const own = await TestPlatform.start({ reconciles: false, policy })
    const { appEnvId } = await own.makeEnvironment()
    const { token } = own.admin
    const request = (method: string, pathname: string, input: Record<string, unknown>, by = token) =>
      own.request(method, pathname, { token: by, input })
    const made = await request('POST', '/user/tokens', { name: 'agent', kind: 'agent' })
    const loosened = { accountId: own.accountId, mode: 'observe', rules: [{ id: 'all', effect: 'allow' }] }
    expect((await request('PUT', '/policy', loosened)).status).toBe(200)
    const refused = await request('DELETE', '/app-env', { appEnvId }, made.json.token)
    expect([refused.status, refused.json.details]).toEqual([403, expect.stringContaining('platform-rule')])
    expect((await request('GET', '/policy', { accountId: own.accountId })).json.platform.rules).toHaveLength(
      1,
    )
    await own.close()
    const wrong = policyContent.parse({
      rules: [{ id: 'a', effect: 'deny', on: { operations: ['delete-nothing'] } }],
    })
    await expect(TestPlatform.start({ reconciles: false, policy: wrong })).rejects.toMatchObject({
      details: expect.stringContaining('policy.rules[0].on.operations[0]'),
    })
  })
})
