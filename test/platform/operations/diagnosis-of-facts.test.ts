import { afterAll, beforeAll, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { diagnoseAppEnv } from '../../../src/contract/diagnosis.ts'
import { runCli } from '../../../src/server/commands/run-cli.ts'
import { FakeEngine } from '../../../testkit/fakes/engine.ts'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start()
})
afterAll(() => platform.close())

// biome-ignore lint/suspicious/noExplicitAny: answers are read by their parts
async function call(method: string, path: string, input: Record<string, unknown>): Promise<any> {
  const answer = await platform.request(method, path, { token: platform.admin.token, input })
  if (answer.status !== 200) throw new Error(`${path}: ${answer.text}`)
  return answer.json
}

const diagnosis = (appEnvId: string) => call('GET', '/app-env/diagnosis', { appEnvId })
const nameOf = async (appEnvId: string) => (await call('GET', '/app-env', { appEnvId })).cliEnvName as string

const deployment = (appEnvId: string) =>
  untilRead(
    () => call('GET', '/app-env/status', { appEnvId }),
    ({ currentDeployment }) => ['DEPLOYED', 'FAILED'].includes(currentDeployment?.status),
    'a finished deployment',
  )

async function deployed(app: Record<string, unknown> = {}): Promise<string> {
  const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true, ...app } })
  await call('POST', '/app-env/deploy-image', { appEnvId, image: 'registry.example.com/shop:1' })
  await deployment(appEnvId)
  return appEnvId
}

async function longshore(...argv: string[]): Promise<string> {
  let out = ''
  const stdout = {
    write: (text: string) => {
      out += text
      return true
    },
  }
  const io = { stdout, stderr: stdout, onInterrupt: () => () => {}, ask: async () => null }
  const env = { LONGSHORE_URL: platform.apiUrl, LONGSHORE_TOKEN: platform.admin.token }
  expect(await runCli(argv, env, io as never), out).toBe(0)
  return out
}

it('a stopped database is a cause before a request fails, and the shell names it', async () => {
  const { appEnvId: database } = await platform.makeEnvironment({ app: { dockerPreset: 'POSTGRESQL' } })
  await deployment(database)
  const databaseName = await nameOf(database)
  const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
  const set = [{ name: 'DATABASE_URL', from: { envName: databaseName, field: 'url' } }]
  await call('PATCH', '/app-env/variables', { appEnvId, set })
  await call('POST', '/app-env/deploy-image', { appEnvId, image: 'registry.example.com/shop:1' })
  await deployment(appEnvId)
  expect((await diagnosis(appEnvId)).findings).toEqual([])
  await call('POST', '/app-env/stop', { appEnvId: database })
  const { healthy, findings } = await diagnosis(appEnvId)
  expect([healthy, findings]).toMatchObject([
    false,
    [
      {
        cause: 'database-down',
        confidence: 'certain',
        evidence: [{ source: 'setting', text: 'DATABASE_URL takes its value from it' }],
        fix: { operation: 'start-app-env', input: { appEnvId: database }, safe: true },
      },
    ],
  ])
  const report = await longshore('why', await nameOf(appEnvId))
  expect(report).toContain(`The database ${databaseName}, which its variables name, does not run (STOPPED).`)
  expect(report).toContain(`Fix: longshore envs start ${databaseName}`)
  expect(report).not.toContain('env_')
})

it('the newest failed run of a job is a cause: missing command, memory, its output, or its exit code', async () => {
  const appEnvId = await deployed({ dockerPreset: 'JOB' })
  const ended = (jobRunId: string) =>
    untilRead(
      () => call('GET', '/job-run', { jobRunId }),
      ({ jobRun }) => jobRun.finishedAt !== null,
      'a finished run',
    )
  const afterRun = async (input: Record<string, unknown>) => {
    const { jobRun } = await call('POST', '/app-env/job-run', { appEnvId, ...input })
    const { jobRun: run } = await ended(jobRun.jobRunId)
    return { run, findings: (await diagnosis(appEnvId)).findings }
  }
  expect((await afterRun({ command: 'exit 0' })).findings).toEqual([])
  const failed = await afterRun({ command: 'exit 3' })
  expect(failed.findings).toMatchObject([
    {
      cause: 'failed-run',
      severity: 'warning',
      evidence: [
        { source: 'container', text: expect.stringContaining(`${failed.run.jobRunId}: FAILED, exit code 3`) },
      ],
    },
  ])
  expect((await afterRun({ command: 'exit 127' })).findings[0]).toMatchObject({
    cause: 'bad-command',
    summary: expect.stringContaining('Correct command in jobConfig with update-app-env'),
  })
  const named = await afterRun({ command: 'echo "Error: API_KEY is not set"; exit 1' })
  expect(named.findings[0].summary).not.toContain('request-deploy-storage-key')
  expect((await afterRun({ command: 'exit 0' })).findings).toEqual([])
})

it("class 20: a failure in the platform's own words stands outside the untrusted envelope", async () => {
  const envVars = [{ name: 'MODE', value: 'exit', isSecret: false }]
  const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true }, environment: { envVars } })
  await call('POST', '/app-env/deploy-image', { appEnvId, image: 'registry.example.com/shop:1' })
  const { failure } = (await deployment(appEnvId)).currentDeployment
  expect(failure.reason).toBe('exits-at-once')
  const session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
  const { text } = await session.call('diagnose-app-env', { appEnvId })
  const [outside, inside] = text.split('<untrusted ')
  expect(outside).toContain(`"text":"exits-at-once: ${failure.message}`.slice(0, 60))
  expect(inside ?? '').not.toContain('exits-at-once: ')
  await session.close()
  const envName = await nameOf(appEnvId)
  expect(await longshore('status', envName)).toContain(`longshore why ${envName} says what to do.`)
})

it('an app that takes images only is not advised to upload source', async () => {
  const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true, dockerPreset: 'JOB' } })
  const { findings } = await diagnosis(appEnvId)
  expect(findings[0].summary).toContain('Deploy an image with deploy-app-env-image.')
  const run = await platform.request('POST', '/app-env/job-run', {
    token: platform.admin.token,
    input: { appEnvId, command: 'true' },
  })
  expect(run.json.details).toBe('Deploy an image (deploy-app-env-image), and wait until it is DEPLOYED.')
})

it('a program on the process engine that opens the mount path of its volume gets the setting that gives it the path', async () => {
  const causeOn = async (kind: 'process' | 'docker') => {
    const other = await TestPlatform.start({ engine: Object.assign(new FakeEngine(), { kind }) })
    const { appEnvId } = await other.makeEnvironment({
      app: { useImage: true },
      environment: {
        useVolume: true,
        envVars: [
          { name: 'MODE', value: 'exit', type: 'DEPLOY', isSecret: false },
          {
            name: 'EXIT_TEXT',
            value: "Error: ENOENT: no such file or directory, open '/data/a'",
            type: 'DEPLOY',
            isSecret: false,
          },
        ],
      },
    })
    const { client } = other.admin
    await client.call(deployAppEnvImage, { appEnvId, image: 'registry.example.com/shop:1' })
    await untilRead(
      () => client.call(getAppEnvStatus, { appEnvId }),
      ({ currentDeployment }) => currentDeployment?.status === 'FAILED',
      'a failed deployment',
    )
    const { findings } = await client.call(diagnoseAppEnv, { appEnvId })
    await other.close()
    return findings[0]!
  }
  expect(await causeOn('process')).toMatchObject({
    cause: 'volume-path',
    summary: expect.stringContaining('Set a variable to the mount path with update-app-env-variables'),
    evidence: [
      { source: 'deployment' },
      { source: 'log', text: "Error: ENOENT: no such file or directory, open '/data/a'" },
      { source: 'setting', text: 'mountPath: /data' },
    ],
  })
  expect((await causeOn('docker')).cause).toBe('exits-at-once')
})

it('no safe fix puts the pending change of another user in force', async () => {
  const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
  await call('POST', '/app-env/deploy-image', { appEnvId, image: 'registry.example.com/shop:1' })
  await deployment(appEnvId)
  const { token } = await platform.makeUser()
  const input = { appEnvId, set: [{ name: 'MODE', value: 'broken', isSecret: false }] }
  expect((await platform.request('PATCH', '/app-env/variables', { token, input })).status).toBe(200)
  expect((await diagnosis(appEnvId)).findings).toMatchObject([
    { cause: 'pending-change', fix: { operation: 'apply-app-env-changes', safe: false } },
  ])
  // Of the person who saved it, it is.
  const own = await platform.request('GET', '/app-env/diagnosis', { token, input: { appEnvId } })
  expect(own.json.findings).toMatchObject([{ cause: 'pending-change', fix: { safe: true } }])
})
