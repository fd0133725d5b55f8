import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import { openToolSession, type ToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

/** The outcome on a surface: `null` for success, else the error. */
interface ToolReply {
  refused: null | { status: number | null; text: string }
  // biome-ignore lint/suspicious/noExplicitAny: tests read parts of responses
  answer: any
}
type Ask = (id: string, input?: Record<string, unknown>) => Promise<ToolReply>

let platform: TestPlatform
let appEnvId = ''
let ownToken = ''

async function makeJob(jobConfig: Record<string, unknown> = { command: 'echo applied' }): Promise<string> {
  const made = await platform.makeEnvironment({
    app: { dockerPreset: 'JOB', useImage: true },
    environment: { jobConfig },
  })
  await asAdmin('POST', '/app-env/deploy-image', { appEnvId: made.appEnvId, image: 'team/job:1' })
  await deployed(made.appEnvId, 1)
  return made.appEnvId
}

async function asAdmin(method: string, path: string, input: Record<string, unknown>) {
  const answer = await platform.request(method, path, { token: platform.admin.token, input })
  expect(answer.status, answer.text).toBe(200)
  return answer.json
}

function deployed(id: string, version: number) {
  return untilRead(
    () => asAdmin('GET', '/app-env/status', { appEnvId: id }),
    ({ status, currentVersion }) => status === 'RUNNING' && currentVersion === version,
    'a deployed job',
  )
}

const read = () => asAdmin('GET', '/app-env', { appEnvId })

/** The same call over REST and through the tools, with the environment's token. */
const surfaces: Record<string, (token: string) => Promise<{ ask: Ask; close(): Promise<void> }>> = {
  REST: async (token) => ({
    ask: async (id, input = {}) => {
      const { method, path } = operations.find((one) => one.id === id)!
      const { status, text, json } = await platform.request(method, path, { token, input })
      return { refused: status === 200 ? null : { status, text }, answer: json }
    },
    close: async () => {},
  }),
  MCP: async (token) => {
    const session: ToolSession = await openToolSession(platform.apiUrl, { token })
    return {
      ask: async (id, input = {}) => {
        // Like REST, do not wait for the run.
        const own: Record<string, unknown> =
          id === 'start-job-run' || id.startsWith('deploy-') ? { wait: false } : {}
        const { isError, text, structured } = await session.call(id, { ...input, ...own })
        return { refused: isError ? { status: null, text } : null, answer: structured }
      },
      close: () => session.close(),
    }
  },
}

beforeAll(async () => {
  platform = await TestPlatform.start()
})
afterAll(() => platform.close())

beforeEach(async () => {
  appEnvId = await makeJob()
  ownToken = await platform.makeEnvironmentToken(appEnvId)
})

for (const [surface, open] of Object.entries(surfaces)) {
  describe(`a job with the token of its environment, over ${surface}`, () => {
    let ask: Ask
    let close = async () => {}
    beforeEach(async () => {
      ;({ ask, close } = await open(ownToken))
      return () => close()
    })

    const refusal = async (id: string, input: Record<string, unknown>) => {
      const { refused } = await ask(id, input)
      expect(refused, `${id} ${JSON.stringify(input)} was done`).not.toBeNull()
      return refused!
    }
    const commandOfRun = async () => {
      const { answer } = await ask('start-job-run', { appEnvId })
      const run = await untilRead(
        () => ask('get-job-run', { jobRunId: answer.jobRun.jobRunId }),
        (said) => said.answer.jobRun.finishedAt !== null,
        'an ended run',
      )
      return run.answer.jobRun.snapshot.command
    }

    it('E4 saves pending settings, by id and by name; runs keep the applied ones', async () => {
      const { cliEnvName } = await read()
      const saved = await ask('update-job-config', { appEnvId, command: 'echo saved', backoffLimit: 2 })
      expect(saved.answer).toMatchObject({
        success: true,
        appliedImmediately: false,
        jobConfig: { command: 'echo saved', backoffLimit: 2 },
        appEnv: {
          appEnvId,
          pendingChanges: {
            hasDeployChanges: true,
            deployPendingChanges: [{ group: 'Job Settings', field: 'jobConfig' }],
          },
        },
      })
      const named = await ask('update-job-config', { envName: cliEnvName, args: ['a'] })
      expect(named.answer.jobConfig).toEqual({ command: 'echo saved', backoffLimit: 2, args: ['a'] })
      expect((await ask('get-app-env', { appEnvId })).answer.effectiveJobConfig.command).toEqual({
        value: 'echo applied',
        from: 'environment',
        pending: { value: 'echo saved', from: 'environment' },
      })
      expect(await commandOfRun()).toBe('echo applied')
      await asAdmin('POST', '/app-env/apply-changes', { appEnvId })
      expect(await commandOfRun()).toBe('echo saved')
    })

    it('X4 rejects applyImmediately: true in every form, and writes nothing', async () => {
      const { cliEnvName, revision } = await read()
      for (const input of [
        { appEnvId, command: 'echo now', applyImmediately: true },
        { envName: cliEnvName, command: 'echo now', applyImmediately: true },
        { appEnvId, jobConfig: { command: 'echo now' }, applyImmediately: true },
        { appEnvId, command: 'echo applied', applyImmediately: true },
        { appEnvId, clear: ['command'], applyImmediately: true },
        { appEnvId, applyImmediately: true },
      ]) {
        const { status, text } = await refusal('update-job-config', input)
        if (status !== null) expect(status).toBe(403)
        expect(text).toContain('applyImmediately needs a user token')
      }
      const after = await read()
      expect([after.revision, after.pendingChanges.hasDeployChanges]).toEqual([revision, false])
      const asText = await ask('update-job-config', { appEnvId, command: 'x', applyImmediately: 'true' })
      expect(asText.refused, 'text is no boolean').not.toBeNull()
      const plainly = await ask('update-job-config', { appEnvId, command: 'x', applyImmediately: false })
      expect(plainly.answer).toMatchObject({ appliedImmediately: false })
    })

    it('A2 has no other way to apply: only users can apply, restart, redeploy, update and undo', async () => {
      await ask('update-job-config', { appEnvId, command: 'echo sneaky' })
      for (const id of [
        'apply-app-env-changes',
        'redeploy-app-env',
        'restart-app-env',
        'stop-app-env',
        'start-app-env',
        'update-app-env',
        'update-app-env-variables',
      ]) {
        const input = id === 'update-app-env-variables' ? { appEnvId, set: [] } : { appEnvId }
        const { status, text } = await refusal(id, input)
        if (status !== null) expect(status, id).toBe(403)
        expect(text, id).toContain('This operation needs a user token')
      }
      expect(await commandOfRun()).toBe('echo applied')
    })

    it('E4 its deployment leaves saved job settings pending; the deployment of a user applies them', async () => {
      await ask('update-job-config', { appEnvId, command: 'echo saved' })
      const own = await ask('deploy-app-env-image', { appEnvId, image: 'team/job:2' })
      expect(own.refused).toBeNull()
      await deployed(appEnvId, 2)
      expect(await commandOfRun()).toBe('echo applied')
      expect((await read()).pendingChanges.hasDeployChanges).toBe(true)
      await asAdmin('POST', '/app-env/deploy-image', { appEnvId, image: 'team/job:3' })
      await deployed(appEnvId, 3)
      expect(await commandOfRun()).toBe('echo saved')
      expect((await read()).pendingChanges.hasDeployChanges).toBe(false)
    })

    it('starts runs with overrides for one run, reads, lists and cancels them', async () => {
      const own = { appEnvId, command: 'sleep', args: ['600'], shell: false, timeoutSeconds: 900 }
      const { jobRunId, trigger } = (await ask('start-job-run', own)).answer.jobRun
      expect(trigger).toEqual({ userId: null, tokenKind: 'environment' })
      const { answer } = await ask('get-job-run', { jobRunId })
      expect(answer.jobRun.snapshot).toMatchObject({ command: 'sleep', args: ['600'], backoffLimit: 0 })
      expect(answer.snapshotFrom).toEqual({
        command: 'run',
        args: 'run',
        shell: 'run',
        workingDir: 'platform',
        timeoutSeconds: 'run',
        backoffLimit: 'platform',
      })
      expect((await ask('list-job-runs', { appEnvId })).answer.jobRuns).toMatchObject([{ jobRunId }])
      const second = await refusal('start-job-run', { appEnvId })
      expect(second.text).toContain('Limit of active runs reached')
      const canceled = await ask('cancel-job-run', {
        jobRunId,
        ...(surface === 'MCP' ? { confirm: jobRunId } : {}),
      })
      expect(canceled.answer.jobRun).toMatchObject({ status: 'CANCELED' })
      const { revision, jobConfig } = await read()
      expect(jobConfig, 'overrides of a run change no settings').toEqual({ command: 'echo applied' })
      expect(revision).toBeGreaterThan(0)
    })

    it('A2 cannot access jobs of another environment, and unknown ones get the same response', async () => {
      const neighbour = await makeJob()
      const run = await asAdmin('POST', '/app-env/job-run', { appEnvId: neighbour, command: 'sleep 600' })
      const { jobRunId } = run.jobRun
      for (const [id, input] of [
        ['update-job-config', { appEnvId: neighbour, command: 'x' }],
        ['start-job-run', { appEnvId: neighbour }],
        ['list-job-runs', { appEnvId: neighbour }],
        ['get-job-run', { jobRunId }],
        ['cancel-job-run', { jobRunId }],
      ] as const) {
        const { status, text } = await refusal(id, input)
        if (status !== null) expect(status, id).toBe(403)
        expect(text, id).toContain('This token belongs to another environment')
      }
      const unknown = await refusal('cancel-job-run', { jobRunId: 'run_unknown' })
      const accountId = await platform.makeAccount('Far')
      const { client } = await platform.makeUser({ accountId })
      const far = await platform.makeEnvironment({ by: client, accountId, app: { dockerPreset: 'JOB' } })
      const foreign = await refusal('list-job-runs', { appEnvId: far.appEnvId })
      const missing = await refusal('list-job-runs', { appEnvId: 'env_unknown' })
      expect(foreign.text).toBe(missing.text)
      if (unknown.status !== null) expect([unknown.status, foreign.status]).toEqual([404, 404])
      await asAdmin('POST', '/job-run/cancel', { jobRunId })
    })
  })
}
