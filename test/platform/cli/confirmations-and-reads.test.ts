import { describe, expect, it } from 'vitest'
import { runCli } from '../../../src/server/commands/run-cli.ts'
import { shellFixture } from '../../../testkit/cli/shell-fixture.ts'
import { untilRead } from '../../../testkit/until.ts'

describe('longshore on a platform: confirmations, previews and reads', () => {
  const fixture = shellFixture()
  const { run, json, created } = fixture

  it('asks for the name before destructive calls, unless --yes is given; --dry-run changes nothing', async () => {
    const name = await created()
    const there = async () => (await run('envs', 'get', name)).code === 0
    const previewed = await run('envs', 'delete', name, '--dry-run')
    expect(previewed).toMatchObject({ code: 0, out: expect.stringContaining('Nothing was changed.') })
    expect(previewed.out).toMatch(/^(?:[A-Z][^{}"]*\.\n)+$/)
    expect(await run('envs', 'delete', name)).toMatchObject({
      code: 2,
      err: expect.stringContaining('this cannot be undone: add --yes to confirm'),
    })
    fixture.answers = ['prod']
    expect(await run('envs', 'delete', name)).toMatchObject({
      code: 2,
      err: expect.stringContaining('does not match'),
    })
    expect(await there()).toBe(true)
    fixture.answers = [name]
    expect(await run('envs', 'delete', name)).toMatchObject({
      code: 0,
      out: expect.stringContaining('deleted'),
    })
    expect(await there()).toBe(false)
    const other = await created()
    expect((await run('envs', 'delete', other, '--yes')).code).toBe(0)
  })

  it('previews a change as sentences and one line for each field', async () => {
    const name = await created()
    const scaled = await run('envs', 'update', name, '--name', 'Shop', '--dry-run')
    expect(scaled.out).toMatch(/^ {2}name: prod -> Shop$/m)
    const made = await run('apps', 'create', '--name', 'Corner', '--port', '80', '--dry-run')
    expect(made.out).toMatch(/^ {2}name: - -> Corner$/m)
    expect(made.out).toMatch(/^ {2}port: - -> 80$/m)
    expect(made.out).not.toMatch(/^ *: /m)
  })

  it('takes the environment as a word or as --env, whatever the command', async () => {
    const name = await created()
    for (const command of [
      ['envs', 'get'],
      ['status'],
      ['logs'],
      ['alerts', 'list'],
      ['jobs', 'list'],
      ['backup', 'list'],
    ])
      for (const named of [[name], ['--env', name], [`--env=${name}`]])
        expect(await run(...command, ...named), [...command, ...named].join(' ')).toMatchObject({
          code: 0,
          // A log without lines says so beside the output.
          err: command[0] === 'logs' ? expect.stringContaining('has written anything yet') : '',
        })
    expect((await run('envs', 'scale', '--containers', '2', '--env', name)).code).toBe(0)
    expect((await json('envs', 'get', name)).containers).toBe(2)
    expect((await run('deploy', '--env', 'no-such', '--image', 'x:1')).err).toContain('not found')
    expect((await run('deploy', 'no-such', '--image', 'x:1')).err).toContain('not found')
    expect((await run('backup', 'create', '--env', 'no-such')).err).toContain('not found')
    expect(await run('deploy', '--image', 'x:1')).toMatchObject({ code: 2 })
    expect(await run('status', name, '--env', 'other')).toMatchObject({ code: 2 })
  })

  it('shows an environment by the name that calls take', async () => {
    const { renderResult } = await import('../../../src/cli/render.ts')
    const rows = [{ appEnv: { name: 'prod', cliEnvName: 'shop-prod' } }]
    expect(renderResult({ restores: rows })).toEqual(['appEnv', 'shop-prod'])
  })

  it('names the shell command where the platform names an operation', async () => {
    const { appEnvId } = await fixture.platform.makeEnvironment({ app: { useImage: true } })
    const message = 'The container was lost. get-logs shows its output.'
    fixture.platform.engine.faults.failStarts = { times: 1, reason: 'exited', message }
    const { cliEnvName } = await json('envs', 'get', appEnvId)
    await run('envs', 'deploy-image', appEnvId, '--image', 'team/app:1')
    const failed = await untilRead(
      () => run('status', appEnvId),
      ({ out }) => out.includes('FAILED'),
      'a failed deployment',
    )
    expect(failed.out).toContain(`The container was lost. longshore logs ${cliEnvName} shows its output.`)
    const history = (await run('envs', 'history', appEnvId)).out
    expect(history).toContain('The container was lost.')
    expect(`${failed.out}${history}`).not.toContain('get-logs')
  })

  it('lists the versions of managed databases with what runs here', async () => {
    const { out } = await run('databases', 'presets')
    expect(out).toMatch(/^preset +version +label +variant +available$/m)
    expect(out).toMatch(/^POSTGRESQL +\S+ \(default\) +PostgreSQL \S+.* +(?:yes|no: [A-Z].*)$/m)
    expect(out).not.toContain('{')
    const { presetLines } = await import('../../../src/cli/rows/reports.ts')
    const version = { key: '7-alpine', label: 'Redis 7', image: 'redis:7', variant: 'alpine' }
    const preset = {
      dockerPreset: 'REDIS',
      defaultVersion: '7',
      versions: [{ ...version, available: false }],
    }
    expect(presetLines({ presets: [preset as never] })[1]).toMatch(
      /^REDIS {3}7-alpine {2}Redis 7 {2}alpine {3}no: it cannot run here$/,
    )
  })

  it('M8: turns member access on, restricts a member, and never lifts a restriction by leaving a list out', async () => {
    const name = await created()
    const { appEnvId } = await json('envs', 'get', name)
    const { membershipId, token } = await json('members', 'add', '--email', 'a@b.example', '--name', 'Ann')
    expect(token).toMatch(/^lsu_/)
    expect((await run('accounts', 'update', '--member-env-access-enabled')).code).toBe(0)
    expect((await run('members', 'set-access', membershipId, '--allowed-app-env-ids', appEnvId)).code).toBe(0)
    expect(await json('members', 'access', membershipId)).toMatchObject({
      enabled: true,
      access: 'restricted',
    })
    const forgotten = await run('members', 'set-access', membershipId)
    expect(forgotten).toMatchObject({ code: 2, err: expect.stringContaining('--full-access') })
    expect((await json('members', 'access', membershipId)).access).toBe('restricted')
    expect((await run('members', 'set-access', membershipId, '--full-access')).code).toBe(0)
    expect((await json('members', 'access', membershipId)).access).toBe('full')
    expect((await run('members', 'list')).out).toMatch(/a@b\.example +Ann/)
    expect((await run('accounts', 'update', '--no-member-env-access-enabled')).code).toBe(0)
    expect((await json('accounts', 'list')).accounts[0].settings.memberEnvAccessEnabled).toBe(false)
    expect((await run('members', 'remove', membershipId, '--yes')).code).toBe(0)
  })

  it('undoes a change of the audit log', async () => {
    const name = await created()
    await json('envs', 'update', name, '--name', 'Renamed')
    const { entries } = await json('audit', 'list', '--limit', '1')
    expect((await run('audit', 'list', '--limit', '1')).out).toContain(entries[0].entryId)
    expect((await run('audit', 'undo', entries[0].entryId)).code).toBe(0)
    expect((await json('envs', 'get', name)).name).toBe('prod')
  })

  it('shows log lines, newest last, and follows them until Ctrl-C', async () => {
    const { appEnvId } = await fixture.platform.makeEnvironment({
      app: { dockerPreset: 'CUSTOM', useImage: true },
    })
    await run('envs', 'deploy-image', appEnvId, '--image', 'team/app:1')
    const built = await untilRead(
      () => run('logs', appEnvId, '--type', 'BUILD'),
      ({ out }) => out !== '',
      'a build log',
    )
    expect(built).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^2\d{3}-\S+Z {2}pulled team\/app:1\n$/),
    })
    let interrupt = () => {}
    const lines: string[] = []
    const io = {
      stdout: { write: (text: string) => lines.push(text) },
      stderr: { write: () => true },
      onInterrupt: (callback: () => void) => {
        interrupt = callback
        return () => {}
      },
    }
    const env = { LONGSHORE_URL: fixture.platform.apiUrl, LONGSHORE_TOKEN: fixture.platform.admin.token }
    const following = runCli(['logs', appEnvId, '--type', 'BUILD', '--follow'], env, io)
    await untilRead(
      async () => lines.length,
      (shown) => shown === 1,
      'the first line',
    )
    interrupt()
    expect(await following).toBe(130)
    expect(await run('logs', 'no-such-env', '--follow')).toMatchObject({ code: 1 })
  })

  it('prints no control characters', async () => {
    const listed = { alerts: [{ name: '\u001b[31mred\u202e', state: 'x\ny' }] }
    const { renderResult } = await import('../../../src/cli/render.ts')
    expect(renderResult(listed)).toEqual(['name  state', 'red   x y'])
    expect(renderResult({ alerts: [] })).toEqual(['There are no alerts.'])
  })

  it.each([
    [['envs', 'scale', 'e'], '--containers <n> is required'],
    [['envs', 'scale', 'e', '--containers', 'many'], 'must be a number, not "many"'],
    [['envs', 'scael', 'e'], 'there is no envs command "scael"; did you mean scale?'],
    [['envz'], 'there is no command "envz"; did you mean envs?\nSee'],
    [['stat'], 'there is no command "stat"; did you mean status?'],
    [['envs', 'stat'], 'there is no envs command "stat"; did you mean status?'],
    [['stp'], 'there is no command "stp".\n'],
    [['envs', 'delet', 'e'], 'there is no envs command "delet".\n'],
    [['envs', 'list', '--jso'], "Unknown option '--jso'; did you mean --json?\n"],
    [['envs', 'variables', 'e', '--remove', 'A'], "Unknown option '--remove'; did you mean --unset?"],
    [['envs', 'delete', 'e', '--ye'], "Unknown option '--ye'.\n"],
    [['deploy', '--envv', 'x'], "Unknown option '--envv'; did you mean --env?"],
    [['token', 'create', '--name', '--read-only'], '--name needs a value'],
    [['apps', 'create', '--name', 'x', '--docker-preset', 'COBOL'], '--docker-preset must be one of CUSTOM,'],
    [
      ['envs', 'update', 'e', '--function-config', 'maxScael=1'],
      'has no key "maxScael"; known keys: containerConcurrency,',
    ],
    [['envs', 'update', 'e', '--function-config', 'x'], 'key=value or JSON'],
    [['envs', 'variables', 'e', '--set', 'COLOR'], '--set takes NAME=value, such as --set COLOR=green'],
    [['envs', 'variables', 'e'], 'give at least one --set NAME=value'],
    [['envs', 'get', 'e', '--', 'x'], 'only jobs run accepts --'],
    [['envs', 'get', ''], 'the name of the environment is empty'],
  ])('sends no request on a wrong call: %j', async (argv, words) => {
    const { code, err, out } = await run(...argv)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(words)
    expect(err).toMatch(/\nSee: longshore( [a-z-]+)* --help\n$/)
  })
})
