import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AppError } from '../../../src/errors.ts'
import { tgz } from '../../../testkit/platform/deploy.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

describe('job runs', () => {
  let platform: TestPlatform
  let token: string

  beforeAll(async () => {
    platform = await TestPlatform.start()
    token = platform.admin.token
  })
  afterAll(() => platform.close())

  const post = (path: string, input: Record<string, unknown>, by = token) =>
    platform.request('POST', path, { token: by, input })
  const get = (path: string, input: Record<string, unknown>, by = token) =>
    platform.request('GET', path, { token: by, input })

  async function makeJob(jobConfig: Record<string, unknown>, deploys = true): Promise<string> {
    const { appEnvId } = await platform.makeEnvironment({
      app: { dockerPreset: 'JOB', useImage: true },
      environment: { jobConfig, envVars: [{ name: 'COLOR', value: 'blue' }] },
    })
    if (!deploys) return appEnvId
    await post('/app-env/deploy-image', { appEnvId, image: 'team/job:1' })
    await untilRead(
      () => get('/app-env/status', { appEnvId }),
      ({ json }) => json.status === 'RUNNING',
      'a deployed job',
    )
    return appEnvId
  }

  const ended = (jobRunId: string) =>
    untilRead(
      async () => (await get('/job-run', { jobRunId })).json.jobRun,
      (run) => run.finishedAt !== null,
      'an ended run',
    )

  it('E2 masks secret variables in the output of a run, in clear and in base64', async () => {
    const appEnvId = await makeJob({ command: 'echo got $KEY $CODED' })
    const coded = Buffer.from('user:not-for-logs').toString('base64')
    const set = [
      { name: 'KEY', value: 'not-for-logs' },
      { name: 'CODED', value: coded, isSecret: false },
    ]
    await platform.request('PATCH', '/app-env/variables', { token, input: { appEnvId, set } })
    await post('/app-env/apply-changes', { appEnvId })
    await untilRead(
      () => get('/app-env/status', { appEnvId }),
      ({ json }) => json.status === 'RUNNING' && json.currentDeployment.status === 'DEPLOYED',
      'deployed variables',
    )
    const { jobRunId } = (await post('/app-env/job-run', { appEnvId })).json.jobRun
    expect(await ended(jobRunId)).toMatchObject({ status: 'SUCCEEDED' })
    const { logs } = (await get('/logs', { appEnvId, type: 'JOB' })).json
    expect(logs.at(-1).message).toBe('got ***SECRET*** dXNlcjp***SECRET***')
  })

  it('lists the runs of one status', async () => {
    const appEnvId = await makeJob({ command: 'exit 0', allowConcurrentRuns: true })
    const good = (await post('/app-env/job-run', { appEnvId })).json.jobRun.jobRunId
    const bad = (await post('/app-env/job-run', { appEnvId, command: 'exit 3' })).json.jobRun.jobRunId
    await ended(good)
    await ended(bad)
    const { json } = await get('/app-env/job-runs', { appEnvId, status: 'FAILED' })
    expect(json.jobRuns.map(({ jobRunId }: { jobRunId: string }) => jobRunId)).toEqual([bad])
    expect(json.pagination).toMatchObject({ total: 1, hasMore: false })
    expect((await get('/app-env/job-runs', { appEnvId, status: 'LOST' })).status).toBe(400)
  })

  it('runs the applied command with its arguments and keeps its output and exit code', async () => {
    const appEnvId = await makeJob({ command: 'echo got $1 $COLOR', args: ['one'], workingDir: '/srv' })
    expect(platform.engine.running()).toHaveLength(0)
    const started = await post('/app-env/job-run', { appEnvId })
    expect(started.status).toBe(200)
    const { jobRun } = started.json
    expect(jobRun).toMatchObject({ appEnvId, status: 'PENDING', finishedAt: null, exitCode: null })
    expect(jobRun.trigger).toEqual({ userId: platform.admin.userId, tokenKind: 'user' })
    expect(jobRun.snapshot).toEqual({
      image: 'team/job:1',
      contentId: expect.stringMatching(/^dep_/),
      command: 'echo got $1 $COLOR',
      args: ['one'],
      shell: true,
      workingDir: '/srv',
      timeoutSeconds: 1800,
      backoffLimit: 0,
    })
    expect(await ended(jobRun.jobRunId)).toMatchObject({
      status: 'SUCCEEDED',
      attempt: 1,
      exitCode: 0,
      reason: 'Completed',
    })
    const { logs } = (await get('/logs', { appEnvId, type: 'JOB' })).json
    const { pods } = (await get('/app-env/pods', { appEnvId })).json
    expect(pods).toMatchObject([{ status: 'Succeeded', lastTermination: { exitCode: 0 } }])
    expect(logs).toMatchObject([{ type: 'JOB', podName: pods[0].name, message: 'got one blue' }])
  })

  it('refuses args of a run that its shell command would ignore', async () => {
    const appEnvId = await makeJob({ command: 'echo fixed', allowConcurrentRuns: true })
    const start = (input: Record<string, unknown>) => post('/app-env/job-run', { appEnvId, ...input })
    const args = ['one']
    const refused = await start({ args })
    expect([refused.status, refused.json.error]).toEqual([400, 'args would have no effect'])
    expect(refused.json.details).toContain('shell false')
    for (const input of [
      { args, shell: false },
      { args, command: 'echo "$@"' },
      { args, command: '. /dev/null' },
    ])
      expect((await start(input)).status, JSON.stringify(input)).toBe(200)
  })

  it('reads the lines of one run, all its attempts, and of no other', async () => {
    const appEnvId = await makeJob({ command: 'echo mine', allowConcurrentRuns: true })
    const first = (await post('/app-env/job-run', { appEnvId })).json.jobRun
    const second = (await post('/app-env/job-run', { appEnvId, command: 'echo other' })).json.jobRun
    await ended(first.jobRunId)
    await ended(second.jobRunId)
    const lines = async (input: Record<string, unknown>) =>
      (await get('/logs', { appEnvId, ...input })).json.logs.map(
        ({ message }: { message: string }) => message,
      )
    expect(await lines({ jobRunId: first.jobRunId })).toEqual(['mine'])
    expect(await lines({ jobRunId: second.jobRunId, type: 'RUNTIME' })).toEqual(['other'])
    expect(await lines({ jobRunId: second.jobRunId, search: 'mine' })).toEqual([])
    const elsewhere = await makeJob({ command: 'echo' })
    const foreign = await get('/logs', { appEnvId: elsewhere, jobRunId: first.jobRunId })
    const unknown = await get('/logs', { appEnvId: elsewhere, jobRunId: 'run_unknown' })
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
  })

  it('lists every attempt of one run, however many newer attempts the job has', async () => {
    const appEnvId = await makeJob({ command: 'exit 3', backoffLimit: 0 })
    const start = async () => {
      const { jobRunId } = (await post('/app-env/job-run', { appEnvId })).json.jobRun
      await ended(jobRunId)
      return jobRunId as string
    }
    const first = await start()
    for (let run = 0; run < 50; run++) await start()
    const part = first.replace(/^run_/, '')
    const names = async (input: Record<string, unknown>) =>
      (await get('/app-env/pods', { appEnvId, ...input })).json.pods.map(({ name }: { name: string }) => name)
    expect((await names({})).filter((name: string) => name.includes(part))).toEqual([])
    expect(await names({ jobRunId: first })).toEqual([expect.stringContaining(part)])
    const elsewhere = await makeJob({ command: 'echo' })
    expect((await get('/app-env/pods', { appEnvId: elsewhere, jobRunId: first })).status).toBe(404)
  })

  it('keeps the snapshot of a run when settings change later; a run may override fields', async () => {
    const appEnvId = await makeJob({ command: 'exit 4', timeoutSeconds: 9 })
    const own = await platform.makeEnvironmentToken(appEnvId)
    const first = (await post('/app-env/job-run', { appEnvId }, own)).json.jobRun
    expect(first.trigger).toEqual({ userId: null, tokenKind: 'environment' })
    expect(await ended(first.jobRunId)).toMatchObject({ status: 'FAILED', exitCode: 4, reason: 'Error' })
    await platform.request('PATCH', '/app-env/job-config', {
      token,
      input: { appEnvId, command: 'echo new' },
    })
    const second = (await post('/app-env/job-run', { appEnvId, args: [], command: '' })).json.jobRun
    expect(second.snapshot.command, 'pending settings are not taken').toBe('exit 4')
    await ended(second.jobRunId)
    const third = (
      await post('/app-env/job-run', { appEnvId, command: 'node', args: ['-e', 'x', 'own'], shell: false })
    ).json.jobRun
    expect(await ended(third.jobRunId)).toMatchObject({ status: 'SUCCEEDED' })
    expect((await get('/job-run', { jobRunId: first.jobRunId })).json.jobRun.snapshot.command).toBe('exit 4')
    const list = (await get('/app-env/job-runs', { appEnvId, limit: 2 })).json
    expect(list.jobRuns.map((run: { jobRunId: string }) => run.jobRunId)).toEqual([
      third.jobRunId,
      second.jobRunId,
    ])
    expect(list.pagination).toEqual({ limit: 2, offset: 0, total: 3, hasMore: true })
  })

  it('2.5 without a command runs the CMD of the image, and arguments take its place', async () => {
    const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'JOB' } })
    const { uploadUrl, storageKey } = (await post('/app-env/request-storage-key', { appEnvId })).json
    const source = await tgz({ Dockerfile: 'FROM node\nCMD ["echo", "from CMD"]\n' })
    await fetch(uploadUrl, { method: 'PUT', body: new Uint8Array(source) })
    await post('/app-env/notify-upload', { appEnvId, storageKey })
    await untilRead(
      async () => (await get('/app-env/status', { appEnvId })).json,
      ({ status }) => status === 'RUNNING',
      'the job to be deployed',
    )
    const { jobRun } = (await post('/app-env/job-run', { appEnvId })).json
    expect(jobRun.snapshot).toMatchObject({ command: 'echo', args: ['from CMD'], shell: false })
    const own = (await post('/app-env/job-run', { appEnvId, command: 'echo own' })).json
    expect(own.jobRun?.snapshot.command ?? own.error).toMatch(/echo own|Limit of active runs/)
  })

  it('refuses without a command, without a deployment, over the limit, and for other apps', async () => {
    const bare = await makeJob({})
    expect((await post('/app-env/job-run', { appEnvId: bare })).json.error).toBe('No command to run')
    expect((await post('/app-env/job-run', { appEnvId: bare, command: 'echo own' })).status).toBe(200)
    const never = await makeJob({ command: 'echo' }, false)
    expect((await post('/app-env/job-run', { appEnvId: never })).json.error).toBe('Nothing is deployed yet')
    const busy = await makeJob({ command: 'sleep 600' })
    expect((await post('/app-env/job-run', { appEnvId: busy })).status).toBe(200)
    const refused = await post('/app-env/job-run', { appEnvId: busy })
    expect(refused.status).toBe(400)
    expect(refused.json.error).toBe('Limit of active runs reached')
    const { appEnvId } = await platform.makeEnvironment()
    expect((await post('/app-env/job-run', { appEnvId })).status).toBe(400)
    const many = await makeJob({ command: 'sleep 600', allowConcurrentRuns: true })
    for (let count = 0; count < 3; count += 1)
      expect((await post('/app-env/job-run', { appEnvId: many })).status).toBe(200)
  })

  it('shows why a run waits for its container, and continues automatically', async () => {
    const appEnvId = await makeJob({ command: 'echo at last' })
    const { apply } = platform.engine
    platform.engine.apply = async () => {
      throw new AppError('unavailable', 'The engine is busy')
    }
    const { jobRunId } = (await post('/app-env/job-run', { appEnvId })).json.jobRun
    const read = async () => (await get('/job-run', { jobRunId })).json.jobRun
    const waiting = await untilRead(read, ({ reason }) => reason !== null, 'a reason')
    expect(waiting).toMatchObject({ status: 'PENDING', reason: 'Waiting: The engine is busy', attempt: 1 })
    platform.engine.apply = apply
    expect(await ended(jobRunId)).toMatchObject({ status: 'SUCCEEDED', attempt: 1, reason: 'Completed' })
  })

  it('cancels a run immediately, stops its container, and allows the next run', async () => {
    const appEnvId = await makeJob({ command: 'sleep 600', backoffLimit: 3 })
    const { jobRunId } = (await post('/app-env/job-run', { appEnvId })).json.jobRun
    const running = () => platform.engine.running().filter(({ spec }) => spec.appEnvId === appEnvId)
    await untilRead(
      async () => running().length,
      (count) => count === 1,
      'a container',
    )
    const canceled = await post('/job-run/cancel', { jobRunId })
    expect(canceled.json.jobRun).toMatchObject({ status: 'CANCELED', exitCode: null })
    await untilRead(
      async () => running().length,
      (count) => count === 0,
      'no container',
    )
    expect((await post('/job-run/cancel', { jobRunId })).json.jobRun).toMatchObject({ status: 'CANCELED' })
    expect((await post('/app-env/job-run', { appEnvId, command: 'echo next' })).status).toBe(200)
  })

  it('ends a run at its deadline, without another attempt', async () => {
    const appEnvId = await makeJob({ command: 'sleep 600', timeoutSeconds: 1, backoffLimit: 5 })
    const { jobRunId } = (await post('/app-env/job-run', { appEnvId })).json.jobRun
    const run = await ended(jobRunId)
    expect(run).toMatchObject({ status: 'TIMED_OUT', attempt: 1, reason: 'DeadlineExceeded' })
    expect(Date.parse(run.finishedAt) - Date.parse(run.startedAt)).toBeGreaterThanOrEqual(950)
  })

  it('cancels the runs of an environment that is stopped or deleted', async () => {
    const appEnvId = await makeJob({ command: 'sleep 600' })
    const { jobRunId } = (await post('/app-env/job-run', { appEnvId })).json.jobRun
    await post('/app-env/stop', { appEnvId })
    expect((await get('/job-run', { jobRunId })).json.jobRun.status).toBe('CANCELED')
    expect((await post('/app-env/job-run', { appEnvId })).json.error).toBe('The environment is stopped')
    await platform.request('DELETE', '/app-env', { token, input: { appEnvId } })
    expect((await get('/job-run', { jobRunId })).status).toBe(404)
    await untilRead(
      async () => platform.engine.running().filter(({ spec }) => spec.appEnvId === appEnvId).length,
      (count) => count === 0,
      'no container',
    )
  })

  it('M2, A2 authorizes a run through its environment, with the same bytes for unknown runs', async () => {
    const appEnvId = await makeJob({ command: 'echo hi' })
    const { jobRunId } = (await post('/app-env/job-run', { appEnvId })).json.jobRun
    const stranger = await platform.makeUser({ accountId: await platform.makeAccount('Other'), admin: true })
    const hidden = await get('/job-run', { jobRunId }, stranger.token)
    const unknown = await get('/job-run', { jobRunId: 'run_unknown' }, stranger.token)
    expect([hidden.status, hidden.text]).toEqual([404, unknown.text])
    const { appEnvId: other } = await platform.makeEnvironment()
    const neighbour = await platform.makeEnvironmentToken(other)
    expect((await get('/job-run', { jobRunId }, neighbour)).status).toBe(403)
    const own = await platform.makeEnvironmentToken(appEnvId)
    expect((await get('/job-run', { jobRunId }, own)).status).toBe(200)
  })
})
