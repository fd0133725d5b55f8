import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'

type Json = Record<string, unknown>

describe('approvals', () => {
  const clock = new TestClock()
  let platform: TestPlatform
  let requester: TestUser
  let admin: TestUser
  beforeAll(async () => {
    platform = await TestPlatform.start({ reconciles: false, clock })
    admin = platform.admin
    requester = await platform.makeUser()
  })
  afterAll(() => platform.close())

  const call = (
    method: string,
    path: string,
    input: Json,
    by: { token: string } = admin,
    headers: Record<string, string> = {},
  ) => platform.request(method, path, { token: by.token, input, headers })
  const environment = async () => (await platform.makeEnvironment()).appEnvId
  const variable = (appEnvId: string, name: string, value: string, isSecret = false) => ({
    operation: 'update-app-env-variables',
    input: { appEnvId, set: [{ name, value, isSecret }] },
  })
  const propose = (steps: Json[], by: { token: string } = requester, more: Json = {}, headers = {}) =>
    call('POST', '/plan', { accountId: platform.accountId, title: 'Fix', steps, ...more }, by, headers)
  const read = async (approvalId: string, by = admin) =>
    (await call('GET', '/approval', { approvalId }, by)).json
  const decide = (
    { approvalId, reviewDigest }: { approvalId: string; reviewDigest: string },
    decision = 'approve',
    by: { token: string } = admin,
    headers: Record<string, string> = {},
    more: Json = {},
  ) => call('POST', '/approval/decide', { approvalId, reviewDigest, decision, ...more }, by, headers)
  const names = async (appEnvId: string) =>
    (await call('GET', '/app-env', { appEnvId })).json.envVars.map(({ name }: { name: string }) => name)

  it('shows a plan, changes nothing, and runs it in the name of the requester once a person approves', async () => {
    const appEnvId = await environment()
    const proposed = await propose([variable(appEnvId, 'A', '1'), variable(appEnvId, 'B', '2')])
    expect(proposed.status, proposed.text).toBe(200)
    expect(proposed.json).toMatchObject({
      status: 'pending',
      title: 'Fix',
      requestedBy: { userId: requester.userId, kind: 'person' },
      approvers: { count: 1 },
      url: expect.stringContaining('/console/approvals/apv_'),
    })
    const [first, second] = proposed.json.steps
    expect(first.changes).toHaveLength(1)
    // Each step is shown on top of the ones before.
    expect(JSON.stringify(second.changes)).not.toContain('"1"')
    expect(first.impact.variables.changed).toEqual(['A'])
    expect(await names(appEnvId)).toEqual([])

    const done = await decide(proposed.json)
    expect(done.status, done.text).toBe(200)
    expect(done.json.approval).toMatchObject({
      ...{ status: 'executed', moved: [] },
      decisions: [{ decision: 'approve', name: expect.any(String) }],
    })
    expect(await names(appEnvId)).toEqual(['A', 'B'])
    const { accountId } = platform
    const audit = await call('GET', '/audit', { accountId, approvalId: proposed.json.approvalId })
    expect(audit.json.entries).toHaveLength(2)
    const [entry] = audit.json.entries
    expect(entry).toMatchObject({
      operation: 'update-app-env-variables',
      principal: { id: requester.userId },
      approvalId: proposed.json.approvalId,
    })
    expect(done.json.approval.results.map(({ auditId }: { auditId: string }) => auditId)).toContain(
      entry.entryId,
    )
  })

  it('runs once, however often and by whomever it is decided at once', async () => {
    const appEnvId = await environment()
    const other = await platform.makeUser({ admin: true })
    const { json } = await propose([variable(appEnvId, 'ONCE', '1')])
    const answers = await Promise.all(
      [admin, other, admin, other].map((person) => decide(json, 'approve', person)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
    const audit = await call('GET', '/audit', { accountId: platform.accountId, objectId: appEnvId })
    expect(
      audit.json.entries.filter((one: Json) => one.operation === 'update-app-env-variables'),
    ).toHaveLength(1)
  })

  it('needs-approval: never lets an agent decide, whatever surface or token it uses', async () => {
    const { json } = await propose([variable(await environment(), 'A', '1')])
    const viaMcp = await decide(json, 'approve', admin, { 'longshore-surface': 'mcp' })
    expect(viaMcp.status).toBe(403)
    const made = await call('POST', '/user/tokens', { name: 'bot', kind: 'agent' })
    const asAgent = await decide(json, 'approve', made.json)
    expect(asAgent.status).toBe(403)
    expect((await read(json.approvalId)).status).toBe('pending')
  })

  it('answers 409 once an object moved, names it, and shows the effects as of now', async () => {
    const appEnvId = await environment()
    const { json } = await propose([variable(appEnvId, 'A', '1')])
    await call('PATCH', '/app-env/variables', { appEnvId, set: [{ name: 'OTHER', value: 'x' }] })
    const late = await decide(json)
    expect(late.status).toBe(409)
    expect(late.json).toMatchObject({
      error: 'Approval is stale',
      details: expect.stringContaining(appEnvId),
    })
    const moved = [{ type: 'environment', id: appEnvId }]
    expect(await read(json.approvalId)).toMatchObject({ status: 'stale', moved })
    const fresh = await call('POST', '/approval/refresh', { approvalId: json.approvalId })
    expect(fresh.status, fresh.text).toBe(200)
    expect(fresh.json.approvalId).not.toBe(json.approvalId)
    expect(await read(json.approvalId)).toMatchObject({ status: 'stale', replacedBy: fresh.json.approvalId })
    expect((await decide(fresh.json)).json.approval.status).toBe('executed')
    expect((await names(appEnvId)).sort()).toEqual(['A', 'OTHER'])
  })

  it('binds a decision to what the person saw', async () => {
    const { json } = await propose([variable(await environment(), 'A', '1')])
    const blind = await decide({ ...json, reviewDigest: '0'.repeat(64) })
    expect(blind.status).toBe(409)
    expect(blind.json.error).toBe('Approval is stale')
  })

  it('stops at the first step that fails, keeps the ones before, and says what happened', async () => {
    const appEnvId = await environment()
    const scale = { operation: 'scale-app-env-containers', input: { appEnvId, containers: 8 } }
    const { json } = await propose([variable(appEnvId, 'A', '1'), scale, variable(appEnvId, 'C', '3')])
    const { accountId } = platform
    await call('PATCH', '/account', { accountId, zCloudLimit: 7 })
    const done = await decide(json)
    await call('PATCH', '/account', { accountId, zCloudLimit: 64 })
    expect(done.json.message).toContain('step 2 of 3 failed')
    expect(done.json.approval).toMatchObject({ status: 'failed', results: [{}, { auditId: null }] })
    expect(done.json.approval.results[1].error).toMatch(/zCloud/)
    expect(await names(appEnvId)).toEqual(['A'])
    const undone = await call('POST', '/audit/undo', { entryId: done.json.approval.results[0].auditId })
    expect(undone.status, undone.text).toBe(200)
    expect(await names(appEnvId)).toEqual([])
  })

  it('denies with a comment that the requester reads', async () => {
    const appEnvId = await environment()
    const { json } = await propose([variable(appEnvId, 'A', '1')])
    const denied = await decide(json, 'deny', admin, {}, { comment: 'Not on a Friday.' })
    expect(denied.json.approval.status).toBe('denied')
    expect((await read(json.approvalId, requester)).decisions[0].comment).toBe('Not on a Friday.')
    expect((await decide(json)).status).toBe(409)
    expect(await names(appEnvId)).toEqual([])
  })

  it('expires: silence is never consent', async () => {
    const { json } = await propose([variable(await environment(), 'A', '1')])
    await clock.advance(86_400_001)
    expect((await read(json.approvalId)).status).toBe('expired')
    expect((await decide(json)).status).toBe(409)
  })

  it('withdraws, also by agents, but only what they requested', async () => {
    const { json } = await propose([variable(await environment(), 'A', '1')])
    const bot = (await call('POST', '/user/tokens', { name: 'bot', kind: 'agent' })).json
    expect((await call('POST', '/approval/withdraw', { approvalId: json.approvalId }, bot)).status).toBe(403)
    expect(
      (await call('POST', '/approval/withdraw', { approvalId: json.approvalId }, requester)).status,
    ).toBe(200)
    expect((await decide(json)).status).toBe(409)
  })

  it('masks secrets wherever the approval is read, and seals the calls while they wait', async () => {
    const appEnvId = await environment()
    const { json, text } = await propose([variable(appEnvId, 'KEY', 'hunter2-secret', true)])
    expect(text).not.toContain('hunter2')
    const rows = await platform.db.read((tx) => tx.selectFrom('approvals').selectAll().execute())
    expect(JSON.stringify(rows)).not.toContain('hunter2')
    expect((await decide(json)).text).not.toContain('hunter2')
    const clear = await call('GET', '/app-env', { appEnvId, decrypt: true })
    expect(clear.json.envVars[0].value).toBe('hunter2-secret')
    const after = await platform.db.read((tx) =>
      tx
        .selectFrom('approvals')
        .select('sealed')
        .where('approval_id', '=', json.approvalId)
        .executeTakeFirstOrThrow(),
    )
    expect(after.sealed).toBe('')
  })

  it('is one approval for the same request, and by its idempotency key', async () => {
    const appEnvId = await environment()
    const steps = [variable(appEnvId, 'A', '1')]
    const [first, second] = [await propose(steps), await propose(steps)]
    expect(second.json.approvalId).toBe(first.json.approvalId)
    const key = { 'idempotency-key': 'k1' }
    const [third, fourth] = [await propose(steps, admin, {}, key), await propose(steps, admin, {}, key)]
    expect(fourth.text).toBe(third.text)
    expect(third.json.approvalId).not.toBe(first.json.approvalId)
  })

  it('lets a read-only token propose what it may not do, and runs it with the rights of the approver', async () => {
    const appEnvId = await environment()
    const made = await call('POST', '/user/tokens', { name: 'bot', kind: 'agent', readOnly: true }, requester)
    expect(
      (await call('PATCH', '/app-env/variables', variable(appEnvId, 'A', '1').input, made.json)).status,
    ).toBe(403)
    const { json, status, text } = await propose([variable(appEnvId, 'A', '1')], made.json)
    expect(status, text).toBe(200)
    expect((await decide(json)).json.approval.status).toBe('executed')
    expect(await names(appEnvId)).toEqual(['A'])
  })

  it('fails, and says so, when the requester was removed or its token revoked meanwhile', async () => {
    const appEnvId = await environment()
    const leaving = await platform.makeUser()
    const { json } = await propose([variable(appEnvId, 'A', '1')], leaving)
    await call('DELETE', '/member', { accountId: platform.accountId, membershipId: leaving.membershipId })
    const done = await decide(json)
    expect(done.json.approval, done.text).toMatchObject({ status: 'failed' })
    expect(await names(appEnvId)).toEqual([])
  })

  it('never lets people approve what they may not do themselves', async () => {
    const { accountId } = platform
    const steps = [{ operation: 'update-account', input: { accountId, zCloudLimit: 100 } }]
    const { json, status, text } = await propose(steps)
    expect(status, text).toBe(200)
    const tried = await decide(json, 'approve', await platform.makeUser())
    expect(tried.status, tried.text).toBe(403)
    expect((await read(json.approvalId)).status).toBe('pending')
    expect((await decide(json)).json.approval.status).toBe('executed')
    await call('PATCH', '/account', { accountId, zCloudLimit: 64 })
  })

  it('waits while agents are paused, and runs once they are resumed', async () => {
    const { accountId } = platform
    const appEnvId = await environment()
    const bot = (await call('POST', '/user/tokens', { name: 'bot', kind: 'agent' })).json
    const { json } = await propose([variable(appEnvId, 'A', '1')], bot)
    await call('PATCH', '/account', { accountId, agentsPaused: true })
    expect((await propose([variable(appEnvId, 'B', '1')], bot)).json.error).toBe('Agents are paused')
    expect((await decide(json)).json.error).toBe('Agents are paused')
    await call('PATCH', '/account', { accountId, agentsPaused: false })
    expect((await decide(json)).json.approval.status).toBe('executed')
  })

  it('refuses reads, secrets in answers, and decisions over approvals as steps', async () => {
    for (const [operation, input] of [
      ['get-app-env', { appEnvId: await environment() }],
      ['create-user-token', { name: 'x' }],
      ['decide-approval', { approvalId: 'apv_x', reviewDigest: 'x', decision: 'approve' }],
      ['no-such-operation', {}],
    ] as const) {
      const refused = await propose([{ operation, input }])
      expect(refused.status, `${operation}: ${refused.text}`).toBe(400)
    }
  })

  it('M2 hides approvals of environments that a restricted member may not see', async () => {
    const [seen, hidden] = [await environment(), await environment()]
    await call('PATCH', '/account', { accountId: platform.accountId, memberEnvAccessEnabled: true })
    const restricted = await platform.makeUser({ allowedAppEnvIds: [seen] })
    const { json } = await propose([variable(hidden, 'A', '1')])
    expect((await call('GET', '/approval', { approvalId: json.approvalId }, restricted)).status).toBe(403)
    const listed = await call('GET', '/approvals', { accountId: platform.accountId }, restricted)
    expect(listed.json.approvals.map((one: Json) => one.approvalId)).not.toContain(json.approvalId)
    const refused = await propose([variable(hidden, 'B', '1')], restricted)
    expect(refused.status).toBe(403)
    await call('PATCH', '/account', { accountId: platform.accountId, memberEnvAccessEnabled: false })
  })
})
