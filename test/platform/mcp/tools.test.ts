import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AppError } from '../../../src/errors.ts'
import { outputSchemaOf } from '../../../src/mcp/tools/schema.ts'
import { type FakeBackend, fakeToken, startFakeBackend } from '../../../testkit/fakes/backend.ts'
import { fakeRun } from '../../../testkit/fakes/jobs.ts'
import { fakeOperations } from '../../../testkit/fakes/operations.ts'
import { openToolSession, type SessionOptions, type ToolSession } from '../../../testkit/mcp/tool-session.ts'
import { workingInput } from '../../../testkit/mcp/working-input.ts'
import { tools } from '../../../tools/index.ts'

let backend: FakeBackend
let session: ToolSession

beforeEach(async () => {
  backend = await startFakeBackend()
  backend.state.add({ name: 'prod' })
  backend.state.add({ name: 'fn', isFunction: true, dockerPreset: 'FUNCTION' })
  backend.state.add({ name: 'job', isJob: true, dockerPreset: 'JOB' })
  backend.state.runs.byId.set('run_known', fakeRun('run_known', 'env_3'))
  session = await openToolSession(backend.url)
})
afterEach(async () => {
  await session.close()
  await backend.close()
})

async function reopen(options: SessionOptions): Promise<void> {
  await session.close()
  session = await openToolSession(backend.url, options)
}

const prod = { envName: 'shop-prod' }
const fn = { envName: 'shop-fn' }

describe('every tool', () => {
  // The others are tested on the real platform: tools-on-platform.test.ts.
  it.each(tools.map((tool) => tool.name).filter((name) => name in fakeOperations))(
    '%s answers what its output schema says, as text and object',
    async (name) => {
      // The library's client checks the answer against the published output schema.
      const said = await session.call(name, workingInput[name] ?? prod)
      expect(said.text).not.toMatch(/^Error/)
      expect(said.isError).toBe(false)
      outputSchemaOf(tools.find((tool) => tool.name === name)!).parse(said.structured)
      expect(backend.state.countOf(name)).toBeGreaterThan(0)
      const [point, ...rest] = said.text.split('\n')
      expect(point!.length).toBeGreaterThan(5)
      // Their text frames what a tenant's program printed.
      if (!['get-logs', 'diagnose-app-env', 'get-incident'].includes(name))
        expect(JSON.parse(rest.at(-1)!)).toEqual(said.structured)
    },
  )

  it('calls over the surface mcp with the token of the session', async () => {
    await session.call('list-accounts', {})
    expect(backend.state.calls[0]).toMatchObject({ surface: 'mcp', token: fakeToken })
  })

  it('passes invalid inputs to the platform, which rejects them as on REST', async () => {
    const said = await session.call('get-logs', { ...prod, size: 5000 })
    expect(said).toMatchObject({ isError: true, structured: { error: 'Invalid request', retryable: false } })
    expect((await session.call('stop-app-env', { ...prod, sizee: 1 })).structured.details).toContain('sizee')
    expect((await session.call('stop-app-env', { ...prod, wait: true })).structured.details).toContain('wait')
  })

  it('accepts fields that a read added, as REST does', async () => {
    const { structured } = await session.call('get-app-env', prod)
    const said = await session.call('update-app-env', { ...structured, autoscaling: null, zClouds: 2 })
    expect(said.isError).toBe(false)
  })
})

describe('an error of the platform', () => {
  it('keeps message, rule and retry delay, and shows whether a retry helps', async () => {
    backend.state.failing.set(
      'list-apps',
      new AppError('rate-limited', 'Too many calls', { details: 'Slow down.', retryAfterSeconds: 9 }),
    )
    const said = await session.call('list-apps', { accountId: 'acc_1' })
    expect(said.structured).toEqual({
      error: 'Too many calls',
      details: 'Slow down.',
      retryable: true,
      retryAfterSeconds: 9,
    })
    expect(said.text).toBe('Error: Too many calls\nSlow down.\nRetry: may help after 9 s.')
  })

  it("sanitizes tenants' text", async () => {
    backend.state.failing.set('list-apps', new AppError('invalid', 'App \u202egnp is odd'))
    const said = await session.call('list-apps', { accountId: 'acc_1' })
    expect(said.text).toContain('\\u{202e}')
    expect(JSON.stringify(said.structured)).not.toContain('\u202e')
  })

  it('reports an unknown tool', async () => {
    expect((await session.call('drop-everything', {})).structured.error).toBe(
      'There is no tool drop-everything',
    )
  })

  it.each([
    ['listAppEnvironments', 'list-app-envs'],
    ['get-environment-status', 'get-app-env-status'],
    ['create-function', 'create-app'],
    ['list_logs', 'get-logs'],
    ['get-app-env-backups', 'list-app-env-backups'],
    ['show-environments', 'list-app-envs'],
    ['rollback', null],
    ['drop-everything', null],
  ])('names what may have been meant by %s', async (wrong, meant) => {
    const { details } = (await session.call(wrong, {})).structured
    if (meant === null) expect(details).toBe('tools/list shows the tools of this server.')
    else expect(details).toMatch(new RegExp(`^Similar names: .*\\b${meant}\\b`))
  })

  it.each([
    ['list_app_envs', 'list-app-envs'],
    ['listAppEnvs', 'list-app-envs'],
    ['List-Accounts', 'list-accounts'],
    ['list-acounts', 'list-accounts'],
    ['deploy-app-env-imgae', 'deploy-app-env-image'],
  ])('names the tool that the misspelled %s stands for', async (wrong, meant) => {
    expect((await session.call(wrong, {})).structured.details).toBe(`Call ${meant} instead.`)
  })

  it('does not suggest a disabled tool', async () => {
    await reopen({ toolPolicy: { readOnly: true } })
    expect((await session.call('delete_app_env', {})).structured.details).not.toContain('delete-app-env')
  })

  it("reports invalid own inputs in the platform's wording", async () => {
    const said = await session.call('delete-app-env', { ...prod, confirm: true })
    expect(said.structured.details).toBe('confirm: must be text')
    const tried = await session.call('apply-app-env-changes', { ...prod, dryRun: 'yes' })
    expect(tried.structured.details).toBe('dryRun: must be true or false. Send dryRun as true.')
  })

  it('does not report a function as configured when no setting was sent', async () => {
    const { text } = await session.call('update-function-config', fn)
    expect(text).toMatch(/^No setting was sent, so .* Settings: containerConcurrency, /)
    expect((await session.call('update-function-config', { ...fn, minScale: 0 })).text).toContain(
      'pending until apply-app-env-changes',
    )
  })

  it('says what to poll for wait false', async () => {
    const said = await session.call('deploy-app-env-image', { ...prod, image: 'shop:1', wait: false })
    expect(said.text.split('\n')[0]).toMatch(/Poll get-app-env-status until it is DEPLOYED or FAILED\.$/)
    const idle = await session.call('apply-app-env-changes', { ...fn, wait: false })
    expect(idle.text.split('\n')[0]).not.toContain('Poll')
  })
})

describe('early checks', () => {
  it('F8 rejects manual scaling of a function before calling the platform', async () => {
    const said = await session.call('scale-app-env-containers', { ...fn, containers: 3 })
    expect(said.isError).toBe(true)
    expect(said.structured).toMatchObject({ rule: 'F8', retryable: false })
    expect(said.text).toContain('rule F8')
    expect(said.text).toContain('update-function-config')
    for (const word of ['containerConcurrency', 'minScale', 'maxScale']) expect(said.text).toContain(word)
    expect(backend.state.countOf('scale-app-env-containers')).toBe(0)
  })

  it("F8 rejects autoscaling of a function with the platform's message", async () => {
    const said = await session.call('update-app-env-autoscaling', { ...fn, enabled: true })
    expect(said.structured).toMatchObject({ error: 'Functions do not use autoscaling', rule: 'F8' })
    expect(backend.state.countOf('update-app-env-autoscaling')).toBe(0)
  })

  it('E3 X3 rejects function settings of other presets', async () => {
    const said = await session.call('update-function-config', { ...prod, maxScale: 2 })
    expect(said.structured).toMatchObject({ error: 'Only FUNCTION apps have function settings', rule: 'E3' })
    expect(backend.state.countOf('update-function-config')).toBe(0)
  })

  it.each([
    [{ maxScale: 11 }, 'functionMaxScale is 10'],
    [{ minScale: 4, maxScale: 5 }, 'functionMaxMinScale is 3'],
    [{ idleTimeoutSeconds: 400 }, 'functionMinIdleTimeoutSeconds is 600'],
    [{ minScale: 3, maxScale: 2 }, 'minScale may be at most maxScale'],
  ])('E3 names the limit that %j breaks', async (config, limit) => {
    const said = await session.call('update-function-config', { ...fn, ...config })
    expect(said.structured).toMatchObject({ rule: 'E3' })
    expect(said.structured.details).toContain(limit)
    expect(backend.state.countOf('update-function-config')).toBe(0)
  })

  it('E3 never rejects by an outdated limit', async () => {
    await session.call('update-function-config', { ...fn, maxScale: 11 })
    backend.state.account.settings.functionMaxScale = 20
    expect((await session.call('update-function-config', { ...fn, maxScale: 11 })).isError).toBe(false)
  })

  it('leaves the limits to the platform if the token may not list accounts', async () => {
    backend.state.failing.set('list-accounts', new AppError('forbidden', 'User token needed'))
    expect((await session.call('update-function-config', { ...fn, maxScale: 11 })).isError).toBe(false)
  })

  it('M2 passes on that an environment is not accessible', async () => {
    backend.state.failing.set('get-app-env', new AppError('forbidden', 'No access to this environment'))
    const said = await session.call('stop-app-env', prod)
    expect(said.structured).toMatchObject({ error: 'No access to this environment' })
    expect(backend.state.countOf('stop-app-env')).toBe(0)
  })

  it('names the field when an id and a name are swapped', async () => {
    const named = await session.call('get-app-env-status', { appEnvId: 'shop-prod' })
    expect(named.structured.details).toContain('Send a name as envName')
    const byId = await session.call('get-app-env-status', { envName: 'env_4k2m6q8s0u3w5y7a9c1e' })
    expect(byId.structured.details).toContain('Send an id as appEnvId')
    // Only lists are read, for the environment that was meant.
    expect(backend.state.calls.filter(({ id }) => !id.startsWith('list-'))).toEqual([])
  })

  it('asks for appEnvId or envName', async () => {
    expect((await session.call('get-app-env-status', {})).structured.error).toBe(
      'appEnvId or envName is required',
    )
    expect(backend.state.calls).toEqual([])
  })

  it('E1 lists the variables that a replacement removes', async () => {
    const variable = (name: string) => ({
      _id: name,
      name,
      value: 'x',
      type: 'BOTH' as const,
      isSecret: true,
    })
    backend.state.env(prod).envVars = [variable('KEEP'), variable('GONE')]
    const envVars = [{ name: 'KEEP', value: 'y' }]
    const said = await session.call('update-app-env', { ...prod, envVars, confirm: 'shop-prod' })
    expect(said.isError).toBe(false)
    expect(said.text).toContain('E1')
    expect(said.structured.notes).toEqual([expect.stringContaining('this removes 1 (removedVariables)')])
    expect(said.structured.removedVariables).toEqual(['GONE'])
    expect(said.text).toContain('update-app-env-variables')
  })

  it('read an environment once for several calls, and again after a write', async () => {
    await session.call('scale-app-env-containers', { ...fn, containers: 3 })
    await session.call('scale-app-env-containers', { ...fn, containers: 4 })
    const refused = backend.state.countOf('get-app-env')
    // An error based on a cached read is checked again with a fresh one.
    expect(refused).toBe(2)
    for (const _ of [1, 2]) await session.call('stop-app-env', { ...prod, confirm: 'shop-prod' })
    expect(backend.state.countOf('get-app-env')).toBe(refused + 2)
  })
})
