import { describe, expect, it } from 'vitest'
import { DeployFixture } from '../../../testkit/cli/deploy-fixture.ts'

const fixture = new DeployFixture()

describe('function settings', () => {
  const flags = ['--fn-container-concurrency', '10', '--fn-timeout', '30', '--fn-idle-timeout', '300']
  const scale = ['--fn-min-scale', '0', '--fn-max-scale', '5']

  it('are checked with a dry run, then saved but not applied, then the deployment begins', async () => {
    const { code } = await fixture.run(['--env', 'e', '--image', 'app:1', ...flags, ...scale])
    expect(code).toBe(0)
    const config = fixture.platform!.heard.filter((heard) => heard.call === 'PATCH /app-env/function-config')
    expect(config.map((heard) => heard.dryRun)).toEqual([true, false])
    expect(config[1]!.body).toEqual({
      appEnvId: 'env_1',
      containerConcurrency: 10,
      timeoutSeconds: 30,
      idleTimeoutSeconds: 300,
      minScale: 0,
      maxScale: 5,
    })
    const order = fixture.calls()
    expect(order.lastIndexOf('PATCH /app-env/function-config')).toBeLessThan(
      order.indexOf('POST /app-env/deploy-image'),
    )
  })

  it("E3 X3 on an app of another preset are rejected with the platform's message, before any change", async () => {
    const body = { error: 'Only FUNCTION apps have function settings', details: 'Use X.', rule: 'E3' }
    const refusal = { status: 400, body, dryRunOnly: true }
    const { code, err } = await fixture.run(['--env', 'e', '--dir', fixture.app, ...scale], {
      isFunction: false,
      refuse: { 'PATCH /app-env/function-config': refusal },
    })
    expect(code).toBe(1)
    expect(err).toContain('Only FUNCTION apps have function settings (E3).\nUse X.')
    expect(fixture.platform!.uploads).toEqual([])
  })
})

describe('wrong calls', () => {
  it.each<[string, string[], string]>([
    ['no environment', ['--dir', '.'], '--env'],
    ['no source', ['--env', 'e'], 'give --dir'],
    ['two sources', ['--env', 'e', '--dir', '.', '--image', 'a'], 'use either --dir or --image, not both'],
    ['an unknown flag', ['--env', 'e', '--dir', '.', '--force'], '--force'],
    ['an extra word', ['--env', 'e', '--dir', '.', 'more'], 'too many arguments'],
    [
      'a number that is none',
      ['--env', 'e', '--dir', '.', '--fn-max-scale', '3x'],
      '--fn-max-scale must be a whole',
    ],
    [
      'a negative number',
      ['--env', 'e', '--dir', '.', '--fn-min-scale=-1'],
      '--fn-min-scale must be a whole',
    ],
    ['too short an idle time', ['--env', 'e', '--dir', '.', '--fn-idle-timeout', '299'], 'at least 300'],
    ['min above max', ['--env', 'e', '--dir', '.', '--fn-min-scale', '3', '--fn-max-scale', '2'], 'is above'],
    ['a bad image', ['--env', 'e', '--image', '--privileged'], '--image'],
    ['an image with blanks', ['--env', 'e', '--image', 'a b'], 'container image reference'],
  ])('%s gives exit code 2', async (_what, argv, text) => {
    const { code, err, out } = await fixture.runAgainst(argv, {})
    expect(code).toBe(2)
    expect(err).toContain(text)
    expect(out).toBe('')
  })

  it('shows help on standard output with exit code 0', async () => {
    const { code, out } = await fixture.runAgainst(['--help'], {})
    expect(code).toBe(0)
    for (const flag of [
      '--user-token',
      '--env',
      '--dir',
      '--image',
      '--fn-container-concurrency',
      '--fn-timeout',
    ]) {
      expect(out).toContain(flag)
    }
    for (const flag of ['--fn-idle-timeout', '--fn-min-scale', '--fn-max-scale']) expect(out).toContain(flag)
  })

  it('reports that no platform is running, and that one is unreachable', async () => {
    const nobody = await fixture.runAgainst(['--env', 'e', '--dir', fixture.app], {})
    expect(nobody).toMatchObject({ code: 1, err: expect.stringContaining('Longshore is not running here') })
    const away = { LONGSHORE_URL: 'http://127.0.0.1:9', LONGSHORE_TOKEN: 't' }
    const unreachable = await fixture.runAgainst(['--env', 'e', '--dir', fixture.app], away)
    expect(unreachable).toMatchObject({ code: 1, err: expect.stringContaining('cannot be reached') })
  })
})

describe('--json', () => {
  it('prints one object for success, failure and rejection', async () => {
    const good = await fixture.run(['--env', 'e', '--image', 'app:1', '--json'])
    expect(JSON.parse(good.out)).toMatchObject({
      ok: true,
      appEnvId: 'env_1',
      envName: 'shop-prod',
      contentId: 'dep_1',
      version: 3,
      urls: ['http://shop-prod.fn.localhost:4480'],
      failure: null,
    })
    await fixture.platform!.close()
    fixture.platform = null
    const failure = { reason: 'image pull', message: 'There is no app:1.' }
    const bad = await fixture.run(['--env', 'e', '--image', 'app:1', '--json'], {
      statuses: [{ status: 'STOPPED', deployment: 'FAILED', failure }],
    })
    expect(bad.code).toBe(1)
    expect(JSON.parse(bad.out)).toMatchObject({ ok: false, failure })
    const wrong = await fixture.runAgainst(['--json'], {})
    expect(JSON.parse(wrong.out)).toMatchObject({ ok: false, error: expect.stringContaining('--env') })
  })
})
