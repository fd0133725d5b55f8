import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const path = '/app-env/job-config'

describe('update-job-config', () => {
  let platform: TestPlatform
  let appEnvId: string
  let token: string

  beforeAll(async () => {
    platform = await TestPlatform.start({ reconciles: false })
    token = platform.admin.token
  })
  afterAll(() => platform.close())

  beforeEach(async () => {
    ;({ appEnvId } = await platform.makeEnvironment({
      app: { dockerPreset: 'JOB', jobConfig: { command: 'from-app', timeoutSeconds: 60, args: ['a'] } },
    }))
  })

  const save = (input: Record<string, unknown>, by = token) =>
    platform.request('PATCH', path, { token: by, input: { appEnvId, ...input } })
  const read = async () => (await platform.request('GET', '/app-env', { token, input: { appEnvId } })).json

  it('warns about saved args that the shell command does not use, also in a dry run', async () => {
    const warning = expect.stringContaining('Set shell to false')
    const node = { command: 'node', args: ['job.js'] }
    expect((await save(node)).json.warnings).toEqual([warning])
    const input = { appEnvId, ...node }
    const tried = await platform.request('PATCH', path, { token, input, headers: { 'dry-run': 'true' } })
    expect(tried.json.effects).toContainEqual(warning)
    const whole = { appEnvId, jobConfig: node }
    const updated = await platform.request('PUT', '/app-env', {
      ...{ token, input: whole },
      headers: { 'dry-run': 'true' },
    })
    expect(updated.json.effects).toContainEqual(warning)
    for (const fine of [{ shell: false }, { command: 'node "$@"', shell: true }, { args: [], shell: true }])
      expect((await save({ ...node, ...fine })).json, JSON.stringify(fine)).not.toHaveProperty('warnings')
    const session = await openToolSession(platform.apiUrl, { token })
    expect((await session.call('update-job-config', { appEnvId, ...node, shell: true })).text).toContain(
      'Set shell to false',
    )
    await session.close()
  })

  it('E4 saves pending changes by default and answers exactly what is documented', async () => {
    const answer = await save({ command: 'echo hi', backoffLimit: 2 })
    expect(answer.json).toEqual({
      success: true,
      appEnv: {
        appEnvId,
        pendingChanges: {
          hasBuildChanges: false,
          hasDeployChanges: true,
          deployPendingChanges: [{ group: 'Job Settings', field: 'jobConfig' }],
        },
      },
      jobConfig: { command: 'echo hi', backoffLimit: 2 },
      appliedImmediately: false,
    })
    const { effectiveJobConfig } = await read()
    expect(effectiveJobConfig.command).toEqual({
      value: 'from-app',
      from: 'app',
      pending: { value: 'echo hi', from: 'environment' },
    })
    expect(effectiveJobConfig.timeoutSeconds).toEqual({ value: 60, from: 'app' })
    expect(effectiveJobConfig.ttlSecondsAfterFinished).toEqual({ value: 21_600, from: 'platform' })
    expect(effectiveJobConfig.maxConcurrency).toEqual({ value: null, from: 'platform' })
  })

  it('3.3 applies immediately with applyImmediately, and by apply-changes', async () => {
    const answer = await save({ command: 'now', applyImmediately: true })
    expect(answer.json).toMatchObject({ appliedImmediately: true })
    expect(answer.json.appEnv.pendingChanges).toEqual({
      hasBuildChanges: false,
      hasDeployChanges: false,
      deployPendingChanges: [],
    })
    expect((await read()).effectiveJobConfig.command).toEqual({ value: 'now', from: 'environment' })
    await save({ command: 'later' })
    await platform.request('POST', '/app-env/apply-changes', { token, input: { appEnvId } })
    const { effectiveJobConfig, pendingChanges } = await read()
    expect(effectiveJobConfig.command).toEqual({ value: 'later', from: 'environment' })
    expect(pendingChanges.hasDeployChanges).toBe(false)
  })

  it('2.5 lets top-level fields win over nested ones, and empty values clear the override', async () => {
    const first = await save({
      jobConfig: { command: 'nested', workingDir: '/srv', args: ['x'], timeoutSeconds: 10 },
      command: 'top',
    })
    expect(first.json.jobConfig).toEqual({
      command: 'top',
      workingDir: '/srv',
      args: ['x'],
      timeoutSeconds: 10,
    })
    const second = await save({ jobConfig: { workingDir: '' }, command: '', args: [] })
    expect(second.json.jobConfig).toEqual({ timeoutSeconds: 10 })
    expect((await save({ clear: ['timeoutSeconds'] })).json.jobConfig).toEqual({})
    const refused = await save({ clear: ['command'], command: 'both' })
    expect(refused.status).toBe(400)
    expect(refused.json.error).toBe('command cannot be set and cleared at once')
  })

  it('2.5 lets an empty top-level field clear what the nested one sets, and clear gives defaults back', async () => {
    await save({ command: 'own', args: ['b'], shell: false, maxConcurrency: 4, allowConcurrentRuns: true })
    const first = await save({ jobConfig: { command: 'nested', args: ['n'] }, command: '', args: [] })
    expect(first.json.jobConfig).toEqual({ shell: false, maxConcurrency: 4, allowConcurrentRuns: true })
    const second = await save({
      clear: ['shell', 'maxConcurrency', 'allowConcurrentRuns'],
      applyImmediately: true,
    })
    expect(second.json.jobConfig).toEqual({})
    const { effectiveJobConfig } = await read()
    expect(effectiveJobConfig).toEqual({
      command: { value: 'from-app', from: 'app' },
      args: { value: ['a'], from: 'app' },
      shell: { value: true, from: 'platform' },
      workingDir: { value: null, from: 'platform' },
      timeoutSeconds: { value: 60, from: 'app' },
      ttlSecondsAfterFinished: { value: 21_600, from: 'platform' },
      backoffLimit: { value: 0, from: 'platform' },
      maxConcurrency: { value: null, from: 'platform' },
      allowConcurrentRuns: { value: false, from: 'platform' },
    })
  })

  it('3.3 saves jobConfig of PUT /app-env as pending too: omitted fields are kept, empty ones cleared', async () => {
    await save({ command: 'own', backoffLimit: 3, applyImmediately: true })
    const put = (jobConfig: Record<string, unknown>) =>
      platform.request('PUT', '/app-env', { token, input: { appEnvId, jobConfig } })
    expect((await put({ timeoutSeconds: 5 })).json).toEqual({ appEnvId })
    const pending = await read()
    expect(pending.jobConfig).toEqual({ command: 'own', backoffLimit: 3, timeoutSeconds: 5 })
    expect(pending.pendingChanges.deployPendingChanges).toMatchObject([
      { group: 'Job Settings', field: 'jobConfig' },
    ])
    expect(pending.effectiveJobConfig.timeoutSeconds).toMatchObject({ value: 60, from: 'app' })
    await put({ command: '' })
    expect((await read()).jobConfig).toEqual({ backoffLimit: 3, timeoutSeconds: 5 })
    expect((await put({ comand: 'x' })).status).toBe(400)
    const own = await platform.makeEnvironmentToken(appEnvId)
    const byToken = { token: own, input: { appEnvId, jobConfig: { command: 'x' } } }
    expect((await platform.request('PUT', '/app-env', byToken)).status).toBe(403)
  })

  it('2.5 ignores empty values at creation, and accepts either key of the environment', async () => {
    const made = await platform.makeEnvironment({
      app: { dockerPreset: 'JOB', jobConfig: { command: 'of the app' } },
      environment: { jobConfig: { command: '', args: [], workingDir: '', backoffLimit: 1 } },
    })
    const find = async () =>
      (await platform.request('GET', '/app-env', { token, input: { appEnvId: made.appEnvId } })).json
    const { cliEnvName, jobConfig, appJobConfig, pendingChanges } = await find()
    expect(jobConfig).toEqual({ backoffLimit: 1 })
    expect(appJobConfig.command).toBe('of the app')
    expect(pendingChanges.hasDeployChanges).toBe(false)
    const byName = { token, input: { envName: cliEnvName, command: 'named' } }
    expect((await platform.request('PATCH', path, byName)).json.appEnv.appEnvId).toBe(made.appEnvId)
    // With both, appEnvId wins (docs/interface.md#naming-an-environment).
    const both = { token, input: { appEnvId, envName: cliEnvName, command: 'both' } }
    expect((await platform.request('PATCH', path, both)).json.appEnv.appEnvId).toBe(appEnvId)
    expect((await find()).jobConfig.command).toBe('named')
    expect((await platform.request('PATCH', path, { token, input: { command: 'x' } })).status).toBe(400)
  })

  it('X4 refuses applyImmediately to an environment token before anything is written', async () => {
    const own = await platform.makeEnvironmentToken(appEnvId)
    const before = (await read()).revision
    expect((await save({ command: 'x', applyImmediately: true }, own)).status).toBe(403)
    expect((await read()).revision).toBe(before)
    expect((await save({ command: 'x' }, own)).json).toMatchObject({ appliedImmediately: false })
  })

  it('E4 is for JOB apps only', async () => {
    const other = await platform.makeEnvironment()
    const answer = await save({ appEnvId: other.appEnvId, command: 'x' })
    expect(answer.status).toBe(400)
    expect(answer.json.error).toBe('Only JOB apps have job settings')
  })

  it('8.job-ttl bounds ttlSecondsAfterFinished at 300 and refuses unknown keys', async () => {
    expect((await save({ ttlSecondsAfterFinished: 299 })).status).toBe(400)
    const nested = await save({ jobConfig: { ttlSecondsAfterFinished: 299 } })
    expect([nested.status, nested.json.details]).toEqual([400, expect.stringContaining('300')])
    expect((await save({ ttlSecondsAfterFinished: 300 })).status).toBe(200)
    expect((await save({ comand: 'x' })).json.details).toContain('comand')
    expect((await save({ clear: ['nothing'] })).status).toBe(400)
  })

  it('a read value can be written back (docs/interface.md#round-trips)', async () => {
    await save({ command: 'keep' })
    const environment = await read()
    const { envVars, appEnvId: id, ...rest } = environment
    const answer = await platform.request('PUT', '/app-env', { token, input: { appEnvId: id, ...rest } })
    expect(answer.json).toEqual({ appEnvId })
    expect((await read()).jobConfig).toEqual({ command: 'keep' })
    expect(envVars).toEqual([])
  })
})
