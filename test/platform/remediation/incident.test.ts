import { afterAll, beforeAll, expect, it } from 'vitest'
import { runShell } from '../../../testkit/cli/shell-fixture.ts'
import { RemediationFixture } from '../../../testkit/remediation/fixture.ts'

let f: RemediationFixture
beforeAll(async () => {
  f = await RemediationFixture.start()
})
afterAll(() => f.close())

const incident = (appEnvId: string, more: Record<string, unknown> = {}) =>
  f.ask('GET', '/app-env/incident', { appEnvId, ...more })

it('an incident has everything about the newest episode, while it lasts and after it', async () => {
  const { appEnvId, alertId, remediationId } = await f.make()
  expect(await incident(appEnvId)).toMatchObject({ episodeId: null, endedAt: null, runs: [] })
  const { clock, platform } = { clock: f.alerting.clock, platform: f.platform }
  await f.fire(appEnvId)
  const message = 'out of connections'
  const line = { stream: 'stderr', type: 'RUNTIME', podName: null, contentId: null, message } as const
  platform.logs.append(appEnvId, [{ ...line, at: new Date(clock.wallMs() - 10_000).toISOString() }])
  const open = await incident(appEnvId)
  expect(open).toMatchObject({
    episodeId: `${alertId}-1`,
    name: 'Busy',
    endedAt: null,
    alerts: [{ alertId, state: 'Firing', changes: [{ to: 'Firing' }, { from: 'Normal', to: 'Pending' }] }],
    runs: [{ remediationId, status: 'verifying' }],
    logs: [{ message }],
  })
  expect(open.findings.map(({ cause }: { cause: string }) => cause)).toContain('alert-firing')
  expect(open.timeline.map(({ kind }: { kind: string }) => kind)).toEqual(
    expect.arrayContaining(['alert', 'scale']),
  )
  const [cpu] = open.metrics
  expect(cpu).toMatchObject({ metric: 'cpu_percent', unit: '%', threshold: 80 })
  expect(cpu.points.at(-1)[1]).toBe(95)
  expect(open.audit).toContainEqual(
    expect.objectContaining({ operation: 'scale-app-env-containers', callerKind: 'remediation' }),
  )

  await f.cycles(appEnvId, 10, 4)
  const over = await incident(appEnvId)
  expect(over).toMatchObject({ episodeId: `${alertId}-1`, runs: [{ status: 'verified' }] })
  expect(over.endedAt).toBe(over.runs[0].trigger.endedAt)
  // Later changes are not part of it.
  await f.alerting.clock.advance(3_600_000)
  await f.ask('PATCH', '/app-env/variables', { appEnvId, set: [{ name: 'A', value: '1' }] })
  const later = await incident(appEnvId, { episodeId: `${alertId}-1` })
  expect(JSON.stringify(later.timeline)).not.toContain('update-app-env-variables')
  expect(JSON.stringify(later.audit)).not.toContain('update-app-env-variables')

  const unknown = await f.send('GET', '/app-env/incident', { appEnvId, episodeId: `${alertId}-9` })
  expect(unknown).toMatchObject({ status: 404, json: { error: 'Episode not found' } })
  const member = await platform.makeUser()
  expect(await f.ask('GET', '/app-env/incident', { appEnvId }, member.token)).toMatchObject({
    episodeId: `${alertId}-1`,
    audit: [],
  })

  const { out: stdout, err, code } = await runShell(platform, ['incident', appEnvId])
  expect(code, err).toBe(0)
  for (const part of ['Findings now', 'Metrics', 'Remediation runs', 'Alerts', 'Timeline', 'Audit', 'Logs'])
    expect(stdout).toContain(`## ${part}`)
  for (const text of ['Busy', 'verified', 'Pending to Firing', 'scale-app-env-containers'])
    expect(stdout).toContain(text)
})
