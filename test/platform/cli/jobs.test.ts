import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { AppError } from '../../../src/errors.ts'
import { runCli } from '../../../src/server/commands/run-cli.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

describe('longshore jobs', () => {
  let platform: TestPlatform
  let appEnvId = ''
  let envName = ''
  /** Presses Ctrl-C on the running command. */
  let interrupt = () => {}

  beforeAll(async () => {
    platform = await TestPlatform.start({ clockScale: 100 })
  })
  afterAll(() => platform.close())
  beforeEach(async () => {
    ;({ appEnvId } = await platform.makeEnvironment({
      app: { dockerPreset: 'JOB', useImage: true, jobConfig: { command: 'echo from the app' } },
      environment: { jobConfig: { timeoutSeconds: 77 } },
    }))
    await ask('POST', '/app-env/deploy-image', { appEnvId, image: 'team/job:1' })
    const read = () => ask('GET', '/app-env/status', { appEnvId })
    await untilRead(read, ({ status }) => status === 'RUNNING', 'a deployed job')
    envName = (await ask('GET', '/app-env', { appEnvId })).cliEnvName
  })

  async function ask(method: string, path: string, input: Record<string, unknown>) {
    const answer = await platform.request(method, path, { token: platform.admin.token, input })
    expect(answer.status, answer.text).toBe(200)
    return answer.json
  }

  function begin(...argv: string[]) {
    const said = { out: '', err: '' }
    const io = {
      stdout: { write: (text: string) => (said.out += text) },
      stderr: { write: (text: string) => (said.err += text) },
      onInterrupt: (callback: () => void) => {
        interrupt = callback
        return () => {}
      },
    }
    const env = { LONGSHORE_URL: platform.apiUrl, LONGSHORE_TOKEN: platform.admin.token }
    return { said, code: runCli(['jobs', ...argv], env, io as never) }
  }
  async function run(...argv: string[]) {
    const { said, code } = begin(...argv)
    return { code: await code, ...said }
  }
  const json = async (...argv: string[]) => JSON.parse((await run('--json', ...argv)).out)
  const idIn = (text: string) => /run_\w+/.exec(text)![0]

  it('runs the configured command: output on standard output, progress on standard error, exit code 0', async () => {
    const { code, out, err } = await run('run', envName)
    expect([code, out]).toEqual([0, 'from the app\n'])
    expect(err).toContain('Started run run_')
    expect(err).toMatch(/✓ Run run_\w+ succeeded/)
    expect(err).not.toContain('failed')
  })

  it('runs a program after -- unchanged, and a command with overrides, for this run only', async () => {
    const program = await json(
      'run',
      appEnvId,
      '--timeout',
      '9',
      '--workdir',
      '/srv',
      '--',
      'node',
      '-e',
      'x',
      'a b',
      '--json',
    )
    expect(program).toMatchObject({
      ok: true,
      jobRun: {
        snapshot: {
          ...{ command: 'node', args: ['-e', 'x', 'a b', '--json'], shell: false },
          ...{ timeoutSeconds: 9, workingDir: '/srv' },
        },
      },
    })
    const words = ['--command', 'echo $1 >&2', '--arg', 'one', '--arg=--two', '--working-dir', '/srv']
    const { jobRun } = await json('run', appEnvId, ...words)
    expect(jobRun.snapshot).toMatchObject({
      args: ['one', '--two'],
      shell: true,
      workingDir: '/srv',
      timeoutSeconds: 77,
    })
    expect((await ask('GET', '/app-env', { appEnvId })).jobConfig).toEqual({ timeoutSeconds: 77 })
  })

  it('shows each attempt of a failing run, exits with 1, and shows the outcome', async () => {
    const { code, out, err } = await run(
      'run',
      envName,
      '--command',
      'echo try; sleep 0.5; exit 3',
      '--retries',
      '1',
    )
    expect([code, out]).toEqual([1, 'try\ntry\n'])
    expect(err).toContain('Attempt 1 of at most 2 runs')
    expect(err).toContain('Attempt 2 of at most 2 runs')
    expect(err).toMatch(/✗ Run run_\w+ FAILED in .*, attempt 2: exit code 3/)
  })

  it('shows why a run waits while its container cannot be created', async () => {
    const { apply } = platform.engine
    platform.engine.apply = async () => {
      throw new AppError('unavailable', 'The engine is busy')
    }
    const waiting = begin('run', envName, '--retries', '1')
    await untilRead(
      async () => waiting.said.err,
      (err) => err.includes('Waiting: The engine is busy'),
      'the reason',
    )
    platform.engine.apply = apply
    expect(await waiting.code).toBe(0)
    expect(waiting.said.err).not.toContain('failed')
  })

  it('Ctrl-C only stops watching: the run continues, and can be followed again, listed and canceled', async () => {
    const watching = begin('run', envName, '--command', 'echo begun; sleep 600')
    await untilRead(
      async () => watching.said.out,
      (out) => out === 'begun\n',
      'the first line',
    )
    interrupt()
    expect(await watching.code).toBe(130)
    const jobRunId = idIn(watching.said.err)
    expect(watching.said.err).toContain(`longshore jobs cancel ${jobRunId} ends it`)
    const following = begin('logs', jobRunId, '--follow')
    await untilRead(
      async () => following.said.out,
      (out) => out === 'begun\n',
      'the line again',
    )
    const { out: list } = await run('list', envName)
    expect(list).toMatch(new RegExp(`▶ ${jobRunId} +RUNNING +attempt 1 of 1 .* ago +echo begun; sleep 600`))
    expect((await run('cancel', jobRunId)).out).toContain('is canceled')
    expect(await following.code).toBe(1)
    expect(following.said.err).toContain('CANCELED')
    expect((await run('cancel', jobRunId)).out).toContain('is canceled')
  })

  it('shows a run in full, its output, and the source of each setting', async () => {
    const { out: id } = await run('run', envName, '--detach', '--retries', '2')
    const jobRunId = id.trim()
    await untilRead(
      () => json('get', jobRunId),
      ({ jobRun }) => jobRun.finishedAt !== null,
      'an ended run',
    )
    const { out } = await run('get', jobRunId)
    expect(out).toContain(`✓ ${jobRunId}  SUCCEEDED: exit code 0`)
    expect(out).toMatch(/Command +echo from the app {2}\(app\)/)
    expect(out).toMatch(/Deadline +77 s {2}\(environment\)/)
    expect(out).toMatch(/Attempt +1 of at most 3 {2}\(run\)/)
    expect((await run('logs', jobRunId)).out).toBe('from the app\n')
    expect(await json('logs', jobRunId)).toMatchObject({ jobRunId, logs: [{ message: 'from the app' }] })
    await ask('PATCH', '/app-env/job-config', { appEnvId, command: 'echo later' })
    const { out: settings } = await run('settings', envName)
    expect(settings).toMatch(/^command +echo from the app +app +→ echo later \(environment\) when applied$/m)
    expect(settings).toMatch(/^maxConcurrency +not set +platform$/m)
  })

  it('prints no control characters', async () => {
    const { out } = await run('run', envName, '--', 'node', '-e', 'x', '\u001b[31mred\u001b[0m \u202eback')
    expect(out).toBe('red back\n')
  })

  it.each([
    [[], 0, 'Usage: longshore jobs'],
    [['fly'], 2, 'there is no jobs command "fly"'],
    [['run'], 2, "missing required argument 'environment'"],
    [['run', 'e', '--command', 'x', '--', 'y'], 2, 'not both'],
    [['run', 'e', '--shell', '--no-shell'], 2, 'not both'],
    [['run', 'e', '--timeout', 'soon'], 2, '--timeout must be a whole number'],
    [['run', 'e', '--tiemout-seconds', '9'], 2, 'did you mean --timeout-seconds?'],
    [['get'], 2, "missing required argument 'jobRunId'"],
    [['cancel', 'r', '--', 'x'], 2, 'only jobs run accepts --'],
  ])('%j exits with %i before any request', async (argv, code, text) => {
    const said = await run(...argv)
    expect(said.code).toBe(code)
    expect(code === 0 ? said.out : said.err).toContain(text)
  })

  it('passes on errors of the platform with the remedy', async () => {
    const { code, err } = await run('run', 'no-such-env')
    expect([code, err]).toEqual([1, expect.stringContaining('App environment not found')])
    expect(await json('get', 'run_unknown')).toMatchObject({ error: 'Job run not found' })
  })
})
