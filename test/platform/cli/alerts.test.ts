import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createNotifier } from '../../../src/alerting/notifiers/deliver.ts'
import { getAppEnv } from '../../../src/contract/app-envs.ts'
import { createContactPoint } from '../../../src/contract/contact-points.ts'
import { createLog } from '../../../src/log.ts'
import { Receiver } from '../../../testkit/alerting/receiver.ts'
import { runShell } from '../../../testkit/cli/shell-fixture.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { FakeMetrics } from '../../../testkit/fakes/metrics.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

describe('longshore alerts', () => {
  const clock = new TestClock()
  const metrics = new FakeMetrics()
  let receiver: Receiver
  let platform: TestPlatform
  let good = ''
  let bad = ''
  let environment: { appEnvId: string; cliEnvName: string }

  beforeAll(async () => {
    receiver = await Receiver.start()
    receiver.answer = ({ path }) => ({ status: path === '/bad' ? 410 : 200 })
    const options = {
      clock,
      log: createLog('test', 'silent'),
      allowPrivate: true,
      incidentUrl: receiver.url(),
    }
    const notifier = createNotifier({ ...options, smtpUrl: undefined, deadlineMs: 24 * 3_600_000 })
    platform = await TestPlatform.start({ reconciles: false, metrics, clock, notifier })
    platform.alerting.notifications.start()
    const point = async (name: string) => {
      const { accountId } = platform
      const input = { accountId, name, type: 'webhook', config: { url: receiver.url(`/${name}`) } }
      return (await platform.admin.client.call(createContactPoint, input)).contactPoint.contactPointId
    }
    ;[good, bad] = [await point('good'), await point('bad')]
  })
  afterAll(async () => {
    await receiver.close()
    await platform.close()
  })
  beforeEach(async () => {
    const { appEnvId } = await platform.makeEnvironment()
    environment = await platform.admin.client.call(getAppEnv, { appEnvId })
  })

  const run = (...argv: string[]) => runShell(platform, ['alerts', ...argv])

  async function json(...argv: string[]) {
    const { out } = await run(...argv, '--json')
    return JSON.parse(out)
  }

  /** Creates an alert with the command and makes it fire. */
  async function firing(): Promise<string> {
    const made = await run(
      ...['create', environment.cliEnvName, '--metric', 'cpu_percent', '--gt', '80', '--for', '1m'],
      ...['--to', `${good},${bad}`, '--name', 'Busy', '--aggregation', 'last'],
    )
    expect(made.code, made.err).toBe(0)
    const alertId = /alr_\w+/.exec(made.out)![0]
    for (let turn = 0; turn < 8; turn += 1) {
      await clock.advance(10_000)
      metrics.add(environment.appEnvId, 'cpu_percent', clock.wallMs(), 95.5)
      await platform.alerting.evaluator.cycle()
    }
    await untilRead(
      () => json('get', alertId),
      ({ notifications }) => notifications.length === 2,
      'two notifications',
    )
    return alertId
  }

  it('shows firing alerts first, with value, duration and failed notifications', async () => {
    const calm = await run(
      'create',
      environment.cliEnvName,
      '--metric',
      'ingress_5xx_percent',
      '--name',
      'Calm',
    )
    expect(calm.out).toContain('is above 5% for 5m')
    expect(calm.out).toContain('No contact point is set')
    const alertId = await firing()
    const listed = await run('list', environment.cliEnvName)
    expect(listed.code).toBe(0)
    const lines = listed.out.split('\n')
    expect(lines[0]).toBe('1 FIRING, 1 NoData')
    expect(lines[2]).toBe(`✗ FIRING   Busy  (${environment.cliEnvName})  ${alertId}`)
    expect(lines[3]).toMatch(/^ +cpu_percent is 95\.5%, above 80%; Firing for .* since 2026-/)
    expect(lines[4]).toMatch(/^ +NOT DELIVERED to bad \(the receiver answered 410\)$/)
    expect(lines[5]).toMatch(/^\? NoData +Calm /)
    const all = await json('list')
    expect(all.alerts.map((alert: { alertId: string }) => alert.alertId)).toContain(alertId)
  })

  it('list --firing has an exit code for scripts', async () => {
    expect(await run('list', environment.cliEnvName, '--firing')).toMatchObject({
      code: 0,
      out: 'Nothing fires.\n',
    })
    await firing()
    const now = await run('list', environment.cliEnvName, '--firing')
    expect(now.code).toBe(1)
    expect(now.out).toContain('✗ FIRING   Busy')
  })

  it('get shows the condition, the history, and each notification with its outcome', async () => {
    const alertId = await firing()
    const { out, code } = await run('get', alertId)
    expect(code).toBe(0)
    for (const expected of [
      `✗ FIRING  Busy  (${environment.cliEnvName})`,
      'Fires when  last of cpu_percent over 10m is above 80% for 1m',
      'Now         cpu_percent is 95.5%, above 80%; Firing for',
      'Notifies    good (webhook), bad (webhook)',
      'Pending → Firing  95.5%',
      '  bad: the receiver answered 410',
      `Pause it with: longshore alerts pause ${alertId}`,
    ]) {
      expect(out).toContain(expected)
    }
    expect(await json('get', alertId)).toMatchObject({ alertId, lastKnownState: 'Firing', unit: '%' })
  })

  it('previews a new alert and a change of one without changing anything, with the warning of its unit', async () => {
    const alertId = await firing()
    const change = await run('preview', alertId, '--gt', '99')
    expect(change.out).toContain('Would not have fired over the 8 stored samples.')
    const made = await run('preview', environment.cliEnvName, '--metric', 'cpu_usage', '--gt', '80')
    expect(made.out).toContain('80 on cpu_usage is 80 millicores')
    expect(made.out).toContain('Nothing was changed.')
    const again = await run('preview', alertId, '--gt', '70')
    expect(again.out).toMatch(/Would have fired once[\s\S]+ {2}2026-\S+ {2}95\.5%/)
    expect((await json('get', alertId)).threshold).toBe(80)
    expect((await json('list', environment.cliEnvName)).alerts).toHaveLength(1)
  })

  it('takes the names of the contract for a condition wherever there is one', async () => {
    const condition = ['--metric', 'cpu_percent', '--operator', 'lt', '--threshold', '5', '--duration', '5m']
    const more = ['--query-range', '15m', '--contact-point-ids', good]
    const { alert } = await json('create', environment.cliEnvName, ...condition, ...more)
    const expected = { operator: 'lt', threshold: 5, duration: '5m', queryRange: '15m' }
    expect(alert).toMatchObject(expected)
    expect(alert.contactPoints).toHaveLength(1)
    expect((await run('update', alert.alertId, ...condition, ...more)).code).toBe(0)
    expect((await run('preview', alert.alertId, ...condition)).code).toBe(0)
    const flags = async (command: string) =>
      (await run(command, '--help')).out.match(/--[a-z-]+(?= <)/g) ?? []
    const shared = ['--operator', '--threshold', '--duration', '--query-range', '--contact-point-ids']
    for (const command of ['create', 'preview', 'update'])
      expect(await flags(command), command).toEqual(expect.arrayContaining(shared))
    expect(await flags('create')).not.toContain('--gt')
    expect((await run('delete', alert.alertId, '--yes')).code).toBe(0)
  })

  it('pauses, resumes, refreshes and deletes', async () => {
    const alertId = await firing()
    expect((await run('pause', alertId)).out).toBe(`Alert ${alertId} paused\n`)
    expect((await run('list', environment.cliEnvName)).out).toContain('· paused')
    expect((await run('get', alertId)).out).toContain(`longshore alerts resume ${alertId}`)
    expect((await run('resume', alertId)).out).toBe(`Alert ${alertId} resumed\n`)
    expect((await run('refresh', alertId)).out).toMatch(/^Firing \(as before\), evaluated at 2026-/)
    const unasked = await run('delete', alertId)
    expect([unasked.code, unasked.err]).toEqual([2, expect.stringContaining('add --yes to confirm')])
    expect((await run('delete', alertId, '--yes')).out).toBe(`Alert ${alertId} deleted\n`)
    const gone = await run('get', alertId)
    expect(gone).toMatchObject({ code: 1, out: '' })
    expect(gone.err).toContain('Alert not found')
  })

  it('2.7 lists the sixteen metrics with unit and default threshold', async () => {
    const { out } = await run('metrics')
    expect(out.trim().split('\n')).toHaveLength(17)
    expect(out).toMatch(/^ingress_p95_latency +s +2$/m)
    expect((await json('metrics')).metrics[2]).toEqual({
      metric: 'cpu_usage',
      unit: 'millicores',
      defaultThreshold: 500,
    })
  })

  it.each([
    [['create', 'x', '--metric', 'cpu'], '--metric must be one of cpu_percent,'],
    [['create', 'x'], '--metric <text> is required'],
    [['preview', 'x'], '--metric is required'],
    [['create', '--metric', 'cpu_percent'], "missing required argument 'environment'"],
    [['create', 'x', '--metric', 'cpu_percent', '--gt', '1', '--lt', '2'], 'not both'],
    [['create', 'x', '--metric', 'cpu_percent', '--gt', 'much'], 'not "much"'],
    [['create', 'x', '--metric', 'cpu_percent', '--for', '2m'], '--for must be one of 1m, 5m'],
    [['pause', 'a', 'b'], 'too many arguments'],
    [['delete', 'a', '--force'], "Unknown option '--force'"],
    [['dance'], 'there is no alerts command "dance"'],
  ])('sends no request on a wrong call: %j', async (argv, words) => {
    const { code, err, out } = await run(...argv)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(words)
    expect(err).toMatch(/See: longshore alerts( [a-z-]+)? --help/)
  })

  it('F9 refuses a CPU alert on a function with the remedy', async () => {
    const fn = await platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } })
    const { code, err } = await run('create', fn.appEnvId, '--metric', 'cpu_percent')
    expect(code).toBe(1)
    expect(err).toContain('(F9)')
    expect(err).toContain('Use an ingress metric')
  })

  it('has help', async () => {
    expect(await run('--help')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^ +list .*Lists the alerts/m),
    })
    expect(await run('create', '--help')).toMatchObject({ code: 0 })
  })
})
