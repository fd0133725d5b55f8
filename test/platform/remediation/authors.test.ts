import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RemediationFixture } from '../../../testkit/remediation/fixture.ts'

describe('what a remediation may do', () => {
  let f: RemediationFixture
  beforeAll(async () => {
    f = await RemediationFixture.start()
  })
  afterAll(() => f.close())

  const agent = async (limits: Record<string, unknown> = {}) =>
    (await f.ask('POST', '/user/tokens', { name: 'agent', kind: 'agent', ...limits })).token as string
  const create = (appEnvId: string, more: Record<string, unknown>, token?: string) => {
    const restart = { name: 'x', trigger: { cause: 'crash-loop' }, steps: [{ action: 'restart' }] }
    return f.send('POST', '/app-env/remediation', { appEnvId, ...restart, ...more }, token)
  }

  it('remediation-author a token makes no remediation that does more than the token', async () => {
    const appEnvId = await f.alerting.makeEnvironment()
    const limited = await agent({ toolGroups: ['remediation'] })
    const fix = { steps: [{ action: 'apply-fix' }] }
    for (const more of [{}, fix, { mode: 'auto' }]) {
      const refused = await create(appEnvId, more, limited)
      expect(refused.status, refused.text).toBe(403)
      expect(refused.json).toMatchObject({ error: 'A remediation cannot do more than its author' })
    }
    expect((await create(appEnvId, { steps: [{ action: 'notify' }] }, limited)).status).toBe(200)
    const member = await f.platform.makeUser()
    expect((await create(appEnvId, {}, member.token)).json.error).toBe('Admin permission required')
  })

  it('remediation-author what a policy asks its author about does not run by itself', async () => {
    const appEnvId = await f.alerting.makeEnvironment()
    const { accountId } = f.platform
    const rule = {
      id: 'asks',
      effect: 'ask',
      who: { kinds: ['agent'] },
      on: { operations: ['scale-*'] },
    }
    await f.ask('PUT', '/policy', { accountId, mode: 'enforce', rules: [rule] })
    const token = await agent()
    const scale = { steps: [{ action: 'scale', containers: 2 }] }
    const refused = await create(appEnvId, { mode: 'auto', ...scale }, token)
    expect(refused.json).toMatchObject({ details: expect.stringContaining('asks') })
    expect((await create(appEnvId, { mode: 'ask', ...scale }, token)).status).toBe(200)
    // What cannot be shown now, only a person lets run by itself.
    const rollback = { mode: 'auto', steps: [{ action: 'rollback' }] }
    expect((await create(appEnvId, rollback, token)).status).toBe(403)
    const made = await create(appEnvId, rollback)
    expect(made.status, made.text).toBe(200)
    // An agent cannot turn on what a person left off.
    const off = await create(appEnvId, { mode: 'off', ...scale })
    const { remediationId } = off.json.remediation
    const turned = await f.send('POST', '/remediation/toggle', { remediationId, mode: 'auto' }, token)
    expect(turned.status, turned.text).toBe(403)
    await f.ask('PUT', '/policy', { accountId, mode: 'enforce', rules: [] })
  })

  it('says how to correct a reference that leads nowhere', async () => {
    const appEnvId = await f.alerting.makeEnvironment()
    const other = await f.alerting.makeAlert([])
    const hook = await f.alerting.point('webhook', { url: f.alerting.receiver.url('/agent') })
    const chat = await f.alerting.point('chat', { webhookUrl: f.alerting.receiver.url('/chat') })
    const call = (operations: string[], contactPointId = hook) => ({
      steps: [{ action: 'call-agent', contactPointId, operations }],
    })
    const wrong: [Record<string, unknown>, RegExp][] = [
      [{ trigger: { alertId: other.alertId } }, /list-alerts/],
      [{ trigger: { cause: 'stopped' } }, /starts no remediation/],
      [{ trigger: {} }, /alertId/],
      [{ verify: { alertNormalWithinSeconds: 60 } }, /healthyWithinSeconds/],
      [{ contactPointIds: ['cp_none'] }, /cp_none|list-contact-points/],
      [{ notPastHumanChange: false }, /must be true/],
      [{ steps: [{ action: 'explode' }] }, /restart/],
      [{ steps: [{ action: 'restart', containers: 2 }] }, /containers/],
      [{ steps: [{ action: 'scale' }] }, /containers/],
      [{ steps: [{ action: 'function-limits', maxScale: 3 }] }, /CUSTOM/],
      [{ steps: [{ action: 'run-job' }] }, /JOB/],
      [call(['restart-app-env'], chat), /webhook/],
      [call(['delete-app-env']), /never deletions/],
      [call(['update-alert']), /never deletions, alerts/],
      [call(['toggle-remediation']), /remediations/],
      [call(['create-user-token']), /what only people do|unknown|reads and writes/],
    ]
    for (const [more, details] of wrong) {
      const refused = await create(appEnvId, more)
      expect(refused.status, JSON.stringify(more)).toBe(400)
      expect(refused.json.details, JSON.stringify(more)).toMatch(details)
    }
  })

  it('remediation-operations a called agent can do what is listed, on this environment, until the run ends', async () => {
    const { receiver, clock } = f.alerting
    const hook = await f.alerting.point('webhook', { url: receiver.url('/call') })
    const operations = ['get-app-env', 'scale-app-env-containers']
    const { appEnvId, remediationId } = await f.make({
      steps: [{ action: 'call-agent', contactPointId: hook, operations }],
      verify: { alertNormalWithinSeconds: 120 },
    })
    const elsewhere = await f.alerting.makeEnvironment()
    await f.fire(appEnvId)
    const calls = () => receiver.accepted.filter(({ body }) => body.event === 'call-agent')
    await clock.advanceUntil(() => calls().length === 1, 'the call', 100)
    const { body } = calls()[0]!
    const run = await f.run(remediationId)
    expect(body).toMatchObject({
      appEnvId,
      remediationRunId: run.runId,
      agent: { operations, readOnly: false },
    })
    const { token } = body.agent as { token: string }
    const stored = await f.platform.db.read((tx) => tx.selectFrom('notifications').select('body').execute())
    expect(JSON.stringify(stored)).not.toContain(token)

    const scaled = await f.send('PATCH', '/app-env/containers', { appEnvId, containers: 2 }, token)
    expect(scaled.status, scaled.text).toBe(200)
    expect((await f.audit(appEnvId))[0]).toMatchObject({ callerKind: 'agent', remediationRunId: run.runId })
    const restart = await f.send('POST', '/app-env/restart', { appEnvId }, token)
    expect(restart.json).toMatchObject({ error: 'The remediation does not allow this operation' })
    expect(
      (await f.send('PATCH', '/app-env/containers', { appEnvId: elsewhere, containers: 2 }, token)).status,
    ).toBe(403)
    // Its alert does not recover: what the agent did is undone, and its token ends.
    await f.cycles(appEnvId, 95, 13)
    expect(await f.run(remediationId)).toMatchObject({ status: 'undone' })
    expect(await f.containers(appEnvId)).toBe(1)
    expect((await f.send('GET', '/app-env', { appEnvId }, token)).status).toBe(401)
  })
})
