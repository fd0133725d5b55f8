import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RemediationFixture } from '../../../testkit/remediation/fixture.ts'

describe('remediation runs', () => {
  let f: RemediationFixture
  beforeAll(async () => {
    f = await RemediationFixture.start()
  })
  afterAll(() => f.close())

  it('verified: acts once by itself, as caller kind remediation, and is verified by its own alert', async () => {
    const point = await f.alerting.point('webhook', { url: f.alerting.receiver.url('/verified') })
    const { appEnvId, alertId, remediationId } = await f.make({ contactPointIds: [point] }, [point])
    await f.fire(appEnvId)
    const acting = await f.run(remediationId)
    expect(acting).toMatchObject({
      status: 'verifying',
      episode: `${alertId}-1`,
      trigger: { alertId, name: 'Busy' },
      steps: [{ action: 'scale', outcome: 'done', auditId: expect.stringMatching(/^aud_/) }],
    })
    expect(await f.containers(appEnvId)).toBe(3)

    await f.cycles(appEnvId, 10, 4)
    const done = await f.run(remediationId)
    expect(done).toMatchObject({ status: 'verified', finishedAt: expect.any(String) })
    expect(done.picture).toMatchObject({ metric: 'cpu_percent', threshold: 80 })
    expect(done.picture.before.at(-1)[1]).toBeGreaterThan(80)
    expect(done.picture.after.at(-1)[1]).toBe(10)
    expect(await f.containers(appEnvId)).toBe(3)

    const [entry] = await f.audit(appEnvId)
    expect(entry).toMatchObject({
      operation: 'scale-app-env-containers',
      callerKind: 'remediation',
      remediationRunId: done.runId,
      entryId: done.steps[0].auditId,
    })
    const { receiver, clock } = f.alerting
    const heard = () => receiver.accepted.filter(({ body }) => body.appEnvId === appEnvId)
    await clock.advanceUntil(() => heard().length >= 3, 'three notifications', 100)
    const bodies = heard().map(({ body }) => body)
    const of = (event: string) => bodies.filter((body) => body.event === event)
    expect(of('firing')[0]).toMatchObject({ remediationRunId: done.runId })
    expect(of('resolved')[0]).toMatchObject({ remediationRunId: done.runId })
    expect(of('remediation')).toHaveLength(1)
    expect(of('remediation')[0]).toMatchObject({
      remediationRunId: done.runId,
      remediation: { status: 'verified', picture: { metric: 'cpu_percent' } },
    })
  })

  it('its notifications belong to the incident of its alert: only a run that needs people opens one', async () => {
    const { receiver, clock } = f.alerting
    const incidents = (key: string) =>
      receiver.accepted.flatMap(({ path, body }) =>
        path === '/incident' && body.routing_key === key ? [body] : [],
      )
    const actions = (key: string) => incidents(key).map((body) => body.event_action)
    const of = async (integrationKey: string, more: Record<string, unknown> = {}) => {
      const point = await f.alerting.point('incident', { integrationKey })
      return f.make({ contactPointIds: [point], ...more }, [point])
    }
    const verified = await of('verified')
    await f.fire(verified.appEnvId)
    await f.cycles(verified.appEnvId, 10, 4)
    await clock.advanceUntil(() => incidents('verified').length >= 3, 'three events', 100)
    expect(actions('verified').filter((action) => action === 'trigger')).toHaveLength(1)

    const undone = await of('undone', { verify: { alertNormalWithinSeconds: 60 } })
    await f.fire(undone.appEnvId)
    await f.cycles(undone.appEnvId, 95, 7)
    await clock.advanceUntil(() => incidents('undone').length >= 2, 'two events', 100)
    expect(actions('undone')).toEqual(['trigger', 'trigger'])

    // A person denies it.
    const denied = await of('denied', { mode: 'ask' })
    await f.fire(denied.appEnvId)
    const { approvalId } = await f.run(denied.remediationId)
    const { reviewDigest } = await f.ask('GET', '/approval', { approvalId })
    await f.ask('POST', '/approval/decide', { approvalId, reviewDigest, decision: 'deny' })
    await f.platform.remediations.pass()
    await clock.advanceUntil(() => incidents('denied').length >= 3, 'three events', 100)
    expect(actions('denied').toSorted()).toEqual(['acknowledge', 'trigger', 'trigger'])
    for (const [key, { alertId }] of Object.entries({ verified, undone, denied }))
      for (const body of incidents(key)) expect(body.dedup_key, key).toBe(`${alertId}-1`)
  })

  it('undone: puts back exactly what it changed when its alert does not recover, and says so', async () => {
    const { appEnvId, remediationId } = await f.make({ verify: { alertNormalWithinSeconds: 60 } })
    await f.fire(appEnvId)
    expect(await f.containers(appEnvId)).toBe(3)
    await f.cycles(appEnvId, 95, 7)
    expect(await f.run(remediationId)).toMatchObject({
      status: 'undone',
      reason: expect.stringContaining('its trigger is still on'),
      steps: [{ action: 'scale', outcome: 'undone' }],
    })
    expect(await f.containers(appEnvId)).toBe(1)
    const [undo, scaled] = await f.audit(appEnvId)
    expect(undo).toMatchObject({ operation: 'undo-change', callerKind: 'remediation' })
    expect(undo.undid.entryId).toBe(scaled.entryId)
  })

  it('failed: leaves what it did where onFailure says so', async () => {
    const { appEnvId, remediationId } = await f.make({
      verify: { alertNormalWithinSeconds: 60 },
      onFailure: 'leave',
    })
    await f.fire(appEnvId)
    await f.cycles(appEnvId, 95, 7)
    expect(await f.run(remediationId)).toMatchObject({ status: 'failed', steps: [{ outcome: 'done' }] })
    expect(await f.containers(appEnvId)).toBe(3)
  })

  it('observed: shows what it would have done, and changes nothing', async () => {
    const { appEnvId, remediationId } = await f.make({ mode: 'observe' })
    await f.fire(appEnvId)
    const run = await f.run(remediationId)
    expect(run).toMatchObject({
      status: 'observed',
      steps: [],
      dryRun: [
        {
          action: 'scale',
          operation: 'scale-app-env-containers',
          impact: { actions: ['scale-up'], undo: 'undo-change' },
        },
      ],
    })
    expect(await f.containers(appEnvId)).toBe(1)
    await f.cycles(appEnvId, 10, 2)
    expect((await f.run(remediationId)).trigger.endedAt).not.toBeNull()
  })

  it('waiting: asks a person, and acts once by the decision', async () => {
    const { appEnvId, remediationId } = await f.make({ mode: 'ask' })
    await f.fire(appEnvId)
    const run = await f.run(remediationId)
    expect(run).toMatchObject({ status: 'waiting', approvalId: expect.stringMatching(/^apv_/) })
    expect(await f.containers(appEnvId)).toBe(1)
    const { approvalId } = run
    const approval = await f.ask('GET', '/approval', { approvalId })
    expect(approval).toMatchObject({ requestedBy: { kind: 'remediation', remediationRunId: run.runId } })
    const { reviewDigest } = approval
    await f.ask('POST', '/approval/decide', { approvalId, reviewDigest, decision: 'approve' })
    expect(await f.containers(appEnvId)).toBe(3)
    await f.cycles(appEnvId, 10, 4)
    expect(await f.run(remediationId)).toMatchObject({
      status: 'verified',
      steps: [{ action: 'scale', outcome: 'done', auditId: expect.any(String) }],
    })
    expect((await f.audit(appEnvId))[0]).toMatchObject({
      callerKind: 'remediation',
      remediationRunId: run.runId,
    })
  })

  it('skipped: a denied approval changes nothing, and one whose trigger is over is withdrawn', async () => {
    const denied = await f.make({ mode: 'ask' })
    await f.fire(denied.appEnvId)
    const { approvalId } = await f.run(denied.remediationId)
    const { reviewDigest } = await f.ask('GET', '/approval', { approvalId })
    const decision = { approvalId, reviewDigest, decision: 'deny', comment: 'not today' }
    await f.ask('POST', '/approval/decide', decision)
    await f.platform.remediations.pass()
    expect(await f.run(denied.remediationId)).toMatchObject({
      status: 'skipped',
      reason: expect.stringContaining('not today'),
    })

    const over = await f.make({ mode: 'ask' })
    await f.fire(over.appEnvId)
    const waiting = await f.run(over.remediationId)
    await f.cycles(over.appEnvId, 10, 2)
    expect(await f.run(over.remediationId)).toMatchObject({ status: 'skipped' })
    expect(await f.ask('GET', '/approval', { approvalId: waiting.approvalId })).toMatchObject({
      status: 'withdrawn',
    })
  })

  it('skipped: never acts past the change of a person, and says who and what', async () => {
    const { appEnvId, remediationId } = await f.make({ holdSeconds: 60 })
    await f.fire(appEnvId)
    expect(await f.run(remediationId)).toMatchObject({ status: 'waiting' })
    await f.ask('PATCH', '/app-env/variables', { appEnvId, set: [{ name: 'A', value: '1' }] })
    await f.cycles(appEnvId, 95, 8)
    expect(await f.run(remediationId)).toMatchObject({
      status: 'skipped',
      reason: expect.stringMatching(/User 1 .*update-app-env-variables/),
      steps: [],
    })
    expect(await f.containers(appEnvId)).toBe(1)
  })

  it('skipped: a person who changes the environment while it verifies keeps their change', async () => {
    const { appEnvId, remediationId } = await f.make({ verify: { alertNormalWithinSeconds: 60 } })
    await f.fire(appEnvId)
    await f.ask('PATCH', '/app-env/containers', { appEnvId, containers: 2 })
    await f.cycles(appEnvId, 95, 8)
    expect(await f.run(remediationId)).toMatchObject({
      status: 'skipped',
      reason: expect.stringContaining('scale-app-env-containers'),
    })
    expect(await f.containers(appEnvId)).toBe(2)
  })

  it('limited: by cool-down and atMost, with the numbers', async () => {
    const { appEnvId, remediationId } = await f.make({ coolDownSeconds: 3_600 })
    await f.fire(appEnvId)
    await f.cycles(appEnvId, 10, 70)
    await f.fire(appEnvId)
    const [second, first] = await f.runs(remediationId)
    expect(first.status).toBe('verified')
    expect(second).toMatchObject({ status: 'limited', reason: expect.stringContaining('3600 s'), steps: [] })

    const most = await f.make({ coolDownSeconds: 0, atMost: { count: 1, windowSeconds: 86_400 } })
    await f.fire(most.appEnvId)
    await f.cycles(most.appEnvId, 10, 70)
    await f.fire(most.appEnvId)
    const [limited] = await f.runs(most.remediationId)
    expect(limited).toMatchObject({ status: 'limited', reason: expect.stringContaining('atMost') })
  })

  it('turns to ask when it is undone twice within a day', async () => {
    const more = { coolDownSeconds: 0, verify: { alertNormalWithinSeconds: 60 } }
    const { appEnvId, remediationId } = await f.make(more)
    for (const _ of [1, 2]) {
      await f.cycles(appEnvId, 95, 15)
      await f.cycles(appEnvId, 10, 3)
      // The loop breaker asks about a field that goes back and forth within an hour.
      f.alerting.clock.stepWall(2 * 3_600_000)
    }
    const [second, first] = await f.runs(remediationId)
    expect([first.status, second.status]).toEqual(['undone', 'undone'])
    expect(second.reason).toContain('asks from now on')
    expect(await f.ask('GET', '/remediation', { remediationId })).toMatchObject({ mode: 'ask' })
  })
})
