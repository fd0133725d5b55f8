import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RemediationContexts } from '../../../src/operations/core/handler.ts'
import { RemediationWorker } from '../../../src/operations/remediation/runs/worker.ts'
import { RemediationFixture } from '../../../testkit/remediation/fixture.ts'

type Json = Record<string, unknown>
const noPolicy = { mode: 'enforce', rules: [], freezes: [], budgets: [] }
const verify = { alertNormalWithinSeconds: 60 }

describe('faults in the middle of a run', () => {
  let f: RemediationFixture
  beforeAll(async () => {
    f = await RemediationFixture.start()
  })
  afterAll(() => f.close())

  const stepsTaken = async (appEnvId: string) =>
    (await f.audit(appEnvId)).filter((entry) => entry.callerKind === 'remediation')
  const pausedAgents = (agentsPaused: boolean) =>
    f.ask('PATCH', '/account', { accountId: f.platform.accountId, settings: { agentsPaused } })
  const policy = (more: Json = {}) =>
    f.ask('PUT', '/policy', { accountId: f.platform.accountId, ...noPolicy, ...more })
  const who = { kinds: ['remediation'] }

  const edits: Record<string, (alertId: string) => [string, string, Json]> = {
    deleted: (alertId) => ['DELETE', '/alert', { alertId }],
    paused: (alertId) => ['POST', '/alert/toggle', { alertId, enabled: false }],
    changed: (alertId) => ['PATCH', '/alert', { alertId, threshold: 99 }],
  }
  for (const [what, edit] of Object.entries(edits)) {
    it(`remediation-people an alert that is ${what} before the steps stops the run`, async () => {
      const { appEnvId, alertId, remediationId } = await f.make({ holdSeconds: 60 })
      await f.fire(appEnvId)
      await f.ask(...edit(alertId))
      await f.cycles(appEnvId, 95, 8)
      const reason = expect.stringMatching(new RegExp(`^User 1 .*${what} the alert at `))
      expect(await f.run(remediationId)).toMatchObject({ status: 'skipped', reason, steps: [] })
      expect(await f.containers(appEnvId)).toBe(1)
    })

    it(`remediation-people an alert that is ${what} after the steps judges nothing: they stay, and the run says so`, async () => {
      const { appEnvId, alertId, remediationId } = await f.make({ verify })
      await f.fire(appEnvId)
      await f.ask(...edit(alertId))
      await f.cycles(appEnvId, 95, 8)
      const reason = expect.stringMatching(new RegExp(`${what} the alert at .* What the run did stays`))
      expect(await f.run(remediationId)).toMatchObject({ status: 'skipped', reason })
      expect(await f.containers(appEnvId)).toBe(3)
    })
  }

  it('a new text of the alert changes no condition: the run goes on', async () => {
    const { appEnvId, alertId, remediationId } = await f.make()
    await f.fire(appEnvId)
    await f.ask('PATCH', '/alert', { alertId, description: 'Look at the dashboard.' })
    await f.cycles(appEnvId, 10, 4)
    expect(await f.run(remediationId)).toMatchObject({ status: 'verified' })
  })

  it('a control plane that ends between a step and its record leaves both undone; the next one does both once', async () => {
    const { appEnvId, remediationId } = await f.make({ holdSeconds: 30 })
    await f.fire(appEnvId)
    const { db, log, runner } = f.platform
    const { clock } = f.alerting
    const worker = (operations: typeof runner) =>
      new RemediationWorker({ db, clock, log, operations, clockScale: 1 })
    let performed = 0
    const ends: RemediationContexts['remediationContext'] = (tx, caller) => {
      const context = runner.remediationContext(tx, caller)
      const perform: typeof context.steps.perform = async (...call) => {
        await context.steps.perform(...call)
        performed += 1
        throw new Error('killed')
      }
      return { ...context, steps: { ...context.steps, perform } }
    }
    await f.alerting.cycles(appEnvId, 95, 4)
    await worker({ ...runner, remediationContext: ends }).pass()
    expect(performed).toBe(1)
    expect(await f.containers(appEnvId)).toBe(1)
    expect(await stepsTaken(appEnvId)).toEqual([])
    expect(await f.run(remediationId)).toMatchObject({ status: 'waiting', steps: [] })

    // Two control planes take over at once.
    await Promise.all([worker(runner).pass(), worker(runner).pass(), f.platform.remediations.pass()])
    expect(await stepsTaken(appEnvId)).toHaveLength(1)
    expect(await f.run(remediationId)).toMatchObject({ status: 'verifying', steps: [{ outcome: 'done' }] })
  })

  it('metrics that stop neither trigger nor verify', async () => {
    const silent = await f.make()
    await f.cycles(silent.appEnvId, null, 40)
    expect(await f.runs(silent.remediationId)).toEqual([])

    const before = await f.make({ holdSeconds: 120 })
    await f.fire(before.appEnvId)
    await f.cycles(before.appEnvId, null, 90)
    const reason = expect.stringContaining('no data')
    expect(await f.run(before.remediationId)).toMatchObject({ status: 'waiting', reason, steps: [] })
    expect(await f.containers(before.appEnvId)).toBe(1)

    const after = await f.make({ verify: { alertNormalWithinSeconds: 900 } })
    await f.fire(after.appEnvId)
    await f.cycles(after.appEnvId, null, 95)
    expect(await f.run(after.remediationId)).toMatchObject({ status: 'undone', reason })
    expect(await f.containers(after.appEnvId)).toBe(1)
  })

  it('a metric that is normal for 20 s again and again verifies nothing', async () => {
    const { appEnvId, remediationId } = await f.make({ verify: { alertNormalWithinSeconds: 300 } })
    await f.fire(appEnvId)
    for (let turn = 0; turn < 10; turn += 1) {
      await f.cycles(appEnvId, 10, 2)
      await f.cycles(appEnvId, 95, 2)
    }
    expect(await f.run(remediationId)).toMatchObject({ status: 'undone' })
    expect(await f.containers(appEnvId)).toBe(1)
  })

  it('a trigger that flaps for hours gets one run an episode, within its limits', async () => {
    const limits = { coolDownSeconds: 600, atMost: { count: 2, windowSeconds: 86_400 } }
    const { appEnvId, remediationId } = await f.make({ ...limits, onFailure: 'leave', verify })
    for (let turn = 0; turn < 25; turn += 1) {
      await f.cycles(appEnvId, 95, 8)
      await f.cycles(appEnvId, 10, turn % 4 === 3 ? 70 : 2)
    }
    const { runs } = await f.ask('GET', '/remediation/runs', { remediationId, limit: 200 })
    expect(new Set(runs.map(({ episode }: Json) => episode)).size).toBe(runs.length)
    expect(runs.length).toBeGreaterThan(10)
    const busy = runs.filter(({ steps }: { steps: Json[] }) => steps.length > 0)
    expect(busy).toHaveLength(2)
    expect(Date.parse(busy[0].startedAt) - Date.parse(busy[1].finishedAt)).toBeGreaterThanOrEqual(600_000)
    expect(await stepsTaken(appEnvId)).toHaveLength(2)
  })

  it('agents-paused the stop switch holds from the next pass on, the undo too, and what waited goes on after it', async () => {
    const waiting = await f.make({ holdSeconds: 30 })
    const verifying = await f.make({ verify: { alertNormalWithinSeconds: 240 } })
    await f.fire(verifying.appEnvId)
    await f.fire(waiting.appEnvId)
    await pausedAgents(true)
    await f.cycles(waiting.appEnvId, 95, 10)
    const reason = expect.stringContaining('Agents are paused')
    expect(await f.run(waiting.remediationId)).toMatchObject({ status: 'waiting', reason, steps: [] })
    await f.cycles(verifying.appEnvId, 95, 10)
    expect(await f.run(verifying.remediationId)).toMatchObject({ status: 'verifying', reason })
    expect(await f.containers(waiting.appEnvId)).toBe(1)
    expect(await f.containers(verifying.appEnvId)).toBe(3)
    await pausedAgents(false)
    await f.platform.remediations.pass()
    expect(await f.run(verifying.remediationId)).toMatchObject({ status: 'undone' })
    await f.cycles(waiting.appEnvId, 95, 1)
    expect(await f.containers(waiting.appEnvId)).toBe(3)
  })

  it('policy-rules rules, freezes and budgets decide over a run as over every caller', async () => {
    const cases: [Json, Json][] = [
      [{ rules: [{ id: 'no', effect: 'deny', who }] }, { status: 'skipped', steps: [] }],
      [
        { freezes: [{ id: 'night', who, from: '2026-01-01T00:00:00Z', timeZone: 'UTC' }] },
        { status: 'skipped', steps: [] },
      ],
      [{ rules: [{ id: 'ask', effect: 'ask', who }] }, { status: 'waiting', approvalId: expect.any(String) }],
    ]
    for (const [rules, run] of cases) {
      await policy(rules)
      const { appEnvId, remediationId } = await f.make({ mode: 'auto' })
      await f.fire(appEnvId)
      expect(await f.run(remediationId), JSON.stringify(rules)).toMatchObject(run)
      expect(await f.containers(appEnvId)).toBe(1)
    }
    const budget = { id: 'few', of: 'environment', meter: 'writes', window: '24h', hard: 1, onHard: 'deny' }
    const { appEnvId, remediationId } = await f.make()
    await policy({ budgets: [budget] })
    await f.send('PATCH', '/app-env/variables', { appEnvId, set: [{ name: 'A', value: '1' }] })
    await f.fire(appEnvId)
    const reason = expect.stringContaining('Budget used up')
    expect(await f.run(remediationId)).toMatchObject({ status: 'limited', reason, steps: [] })
    expect(await f.containers(appEnvId)).toBe(1)
    await policy()
  })

  it('remediation-people a step puts no pending change of a person in force, and overrides none', async () => {
    const metric = 'ingress_request_rate'
    const make = async (pending: [string, Json]) => {
      const appEnvId = await f.alerting.makeEnvironment({ dockerPreset: 'FUNCTION' })
      const alert = { appEnvId, metric, threshold: 80 }
      const { alertId } = await f.alerting.makeAlert([], alert)
      const steps = [{ action: 'function-limits', containerConcurrency: 50 }]
      const { remediationId } = await f.remedy(appEnvId, { trigger: { alertId }, steps })
      await f.ask('PATCH', pending[0], { appEnvId, ...pending[1] })
      await f.cycles(appEnvId, 95, 8, metric)
      return { appEnvId, run: await f.run(remediationId) }
    }
    const pendingOf = async (appEnvId: string) =>
      (await f.ask('GET', '/app-env', { appEnvId })).pendingChanges.deployPendingChanges.map(
        ({ field }: { field: string }) => field,
      )
    const beside = await make(['/app-env/variables', { set: [{ name: 'A', value: '1' }] }])
    expect(beside.run).toMatchObject({ status: 'verifying' })
    expect(await pendingOf(beside.appEnvId)).toEqual(['envVars'])

    const same = await make(['/app-env/function-config', { containerConcurrency: 7 }])
    expect(same.run).toMatchObject({
      status: 'skipped',
      reason: expect.stringContaining('containerConcurrency'),
      steps: [],
    })
    expect((await f.ask('GET', '/app-env', { appEnvId: same.appEnvId })).functionConfig).toMatchObject({
      containerConcurrency: 7,
    })
  })
})
