import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
let appEnvId = ''
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  ;({ appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } }))
})
afterAll(() => platform.close())

const patch = (input: Record<string, unknown>, path = '/app-env/function-config') =>
  platform.request('PATCH', path, { token: platform.admin.token, input: { appEnvId, ...input } })
const read = async () =>
  (await platform.request('GET', '/app-env', { token: platform.admin.token, input: { appEnvId } })).json

describe('function settings', () => {
  it('2.4 shows every default', async () => {
    expect((await read()).functionConfig).toEqual({
      containerConcurrency: 20,
      timeoutSeconds: 60,
      idleTimeoutSeconds: 900,
      responseStartTimeoutSeconds: 60,
      minScale: 0,
      maxScale: 3,
    })
  })

  it('3.3 saves as pending, and applies immediately on request', async () => {
    const saved = await patch({ maxScale: 4 })
    expect(saved.json).toMatchObject({
      success: true,
      appEnv: {
        appEnvId,
        name: 'prod',
        status: 'STOPPED',
        isFunction: true,
        functionConfig: { maxScale: 4 },
      },
      appliedImmediately: false,
    })
    expect((await read()).pendingChanges.deployPendingChanges).toMatchObject([
      { group: 'Function Settings', field: 'functionConfig' },
    ])
    expect((await patch({ maxScale: 5, applyImmediately: true })).json.appliedImmediately).toBe(true)
    expect((await read()).pendingChanges.hasDeployChanges).toBe(false)
  })

  it('E5 takes functionConfig through PUT /app-env too', async () => {
    const put = await platform.request('PUT', '/app-env', {
      token: platform.admin.token,
      input: { appEnvId, functionConfig: { timeoutSeconds: 90 } },
    })
    expect(put.status).toBe(200)
    expect((await read()).functionConfig).toMatchObject({ timeoutSeconds: 90, maxScale: 5 })
  })

  it('E3 X3 refuses an app of another preset', async () => {
    const other = await platform.makeEnvironment()
    const refused = await patch({ appEnvId: other.appEnvId, maxScale: 2 })
    expect([refused.status, refused.headers.get('longshore-rule')]).toEqual([400, 'E3'])
    expect(refused.json.error).toContain('FUNCTION')
  })

  it('8.idle-timeout is at least 300 and at least the account minimum', async () => {
    const low = await patch({ idleTimeoutSeconds: 299 })
    expect([low.status, low.json.details]).toEqual([400, expect.stringContaining('300')])
    expect((await patch({ idleTimeoutSeconds: 300 })).status).toBe(200)
    const accountId = await platform.makeAccount('Slow', { functionMinIdleTimeoutSeconds: 600 })
    const { token, client } = await platform.makeUser({ accountId, admin: true })
    const slow = await platform.makeEnvironment({ by: client, accountId, app: { dockerPreset: 'FUNCTION' } })
    const refused = await platform.request('PATCH', '/app-env/function-config', {
      token,
      input: { appEnvId: slow.appEnvId, idleTimeoutSeconds: 400 },
    })
    expect([refused.status, refused.json.details]).toEqual([
      400,
      expect.stringContaining('functionMinIdleTimeoutSeconds is 600'),
    ])
  })

  it('8.scale-limits names the limit and its value', async () => {
    const max = await patch({ maxScale: 11 })
    expect([max.status, max.json.details]).toEqual([400, expect.stringContaining('functionMaxScale is 10')])
    const min = await patch({ minScale: 4 })
    expect([min.status, min.json.details]).toEqual([400, expect.stringContaining('functionMaxMinScale is 3')])
    const crossed = await patch({ minScale: 3, maxScale: 2 })
    expect([crossed.status, crossed.json.error]).toEqual([400, 'minScale 3 is above maxScale 2'])
  })

  it('F8 rejects both kinds of manual scaling', async () => {
    for (const [path, input] of [
      ['/app-env/containers', { containers: 2 }],
      ['/app-env/autoscaling', { enabled: true }],
    ] as const) {
      const refused = await patch(input, path)
      expect([refused.status, refused.headers.get('longshore-rule')]).toEqual([400, 'F8'])
    }
  })

  it('lowers what depends on a limit with the limit, and says so', async () => {
    const { token } = platform.admin
    const call = (method: string, path: string, input: object, headers = {}) =>
      platform.request(method, path, { token, input: { ...input }, headers })
    const { accountId } = (await call('POST', '/account', { name: 'Limits' })).json
    const limits = { functionMaxScale: 2, functionMinIdleTimeoutSeconds: 1_000 }
    const preview = await call('PATCH', '/account', { accountId, ...limits }, { 'dry-run': 'true' })
    expect(preview.json.effects).toContain('functionDefaultMaxScale follows the new limit: 2.')
    const answer = await call('PATCH', '/account', { accountId, ...limits })
    expect(answer.json.account.settings).toMatchObject({
      ...limits,
      functionDefaultMaxScale: 2,
      functionMaxMinScale: 2,
      functionDefaultIdleTimeoutSeconds: 1_000,
    })
  })
})
