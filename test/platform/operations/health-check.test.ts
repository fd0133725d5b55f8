import { afterAll, beforeAll, expect, it } from 'vitest'
import { applyAppEnvChanges } from '../../../src/contract/app-env-actions.ts'
import { getAppEnv, updateAppEnv } from '../../../src/contract/app-envs.ts'
import { getApp } from '../../../src/contract/apps.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

const read = (appEnvId: string) => platform.admin.client.call(getAppEnv, { appEnvId })
const update = (appEnvId: string, healthCheck: Record<string, unknown>) =>
  platform.admin.client.call(updateAppEnv, { appEnvId, healthCheck })

it('an environment inherits from its app, which inherits from the platform', async () => {
  const { appId, appEnvId } = await platform.makeEnvironment({
    app: { healthCheck: { path: '/healthz', stabilitySeconds: 30 } },
    environment: { healthCheck: { stabilitySeconds: 20 } },
  })
  const app = await platform.admin.client.call(getApp, { appId })
  expect(app.healthCheck).toEqual({ path: '/healthz', stabilitySeconds: 30 })
  expect(app.effectiveHealthCheck).toEqual({
    path: '/healthz',
    expectedStatus: null,
    intervalSeconds: 5,
    timeoutSeconds: 3,
    stabilitySeconds: 30,
  })
  expect(await read(appEnvId)).toMatchObject({
    healthCheck: { stabilitySeconds: 20 },
    effectiveHealthCheck: {
      path: '/healthz',
      expectedStatus: null,
      intervalSeconds: 5,
      timeoutSeconds: 3,
      stabilitySeconds: 20,
    },
  })
})

it('the window is 10 seconds, of functions 5', async () => {
  for (const [dockerPreset, stabilitySeconds] of [
    ['CUSTOM', 10],
    ['FUNCTION', 5],
  ] as const) {
    const { appId, appEnvId } = await platform.makeEnvironment({ app: { dockerPreset } })
    const app = await platform.admin.client.call(getApp, { appId })
    for (const { effectiveHealthCheck } of [app, await read(appEnvId)])
      expect(effectiveHealthCheck).toMatchObject({ path: null, stabilitySeconds })
  }
})

it('3.3: a change is pending until it is applied, and {} inherits everything again', async () => {
  const { appEnvId } = await platform.makeEnvironment({ app: { healthCheck: { path: '/healthz' } } })
  await update(appEnvId, { path: null })
  const changed = await read(appEnvId)
  expect(changed.pendingChanges.deployPendingChanges).toMatchObject([
    { group: 'Health Check', field: 'healthCheck' },
  ])
  expect(changed.effectiveHealthCheck?.path).toBeNull()
  await platform.admin.client.call(applyAppEnvChanges, { appEnvId })
  expect((await read(appEnvId)).pendingChanges.hasDeployChanges).toBe(false)
  await update(appEnvId, {})
  expect((await read(appEnvId)).effectiveHealthCheck?.path).toBe('/healthz')
})

it('what was read can be written back', async () => {
  const { appEnvId } = await platform.makeEnvironment({
    environment: { healthCheck: { path: '/ready', expectedStatus: 204 } },
  })
  const input = (await read(appEnvId)) as unknown as Record<string, unknown>
  const answer = await platform.request('PUT', '/app-env', { token: platform.admin.token, input })
  expect(answer.status).toBe(200)
  expect((await read(appEnvId)).healthCheck).toEqual({ path: '/ready', expectedStatus: 204 })
})

it.each([
  [{ path: 'healthz' }, 'must be a path'],
  [{ path: '/a b' }, 'must be a path'],
  [{ path: '/a\r\nx: y' }, 'must be a path'],
  [{ expectedStatus: 204 }, 'needs a path'],
  [{ intervalSeconds: 2, timeoutSeconds: 3 }, 'longer than intervalSeconds'],
  [{ stabilitySeconds: 601 }, '600'],
  [{ retries: 3 }, 'retries'],
])('rejects %j', async (healthCheck, said) => {
  const { accountId, admin } = platform
  const { appId, appEnvId } = await platform.makeEnvironment()
  const app = { accountId, name: 'checked', port: 80, dockerPreset: 'CUSTOM', healthCheck }
  const environment = { accountId, appId, name: 'other', region: 'local', healthCheck }
  for (const [method, path, input] of [
    ['POST', '/app', app],
    ['POST', '/app-env', environment],
    ['PUT', '/app-env', { appEnvId, healthCheck }],
  ] as const) {
    const { status, text } = await platform.request(method, path, { token: admin.token, input })
    expect(status).toBe(400)
    expect(text).toContain(said)
  }
})

it('databases and jobs have no health check', async () => {
  const { accountId, admin } = platform
  for (const dockerPreset of ['JOB', 'REDIS']) {
    const input = { accountId, name: 'none', dockerPreset, healthCheck: {} }
    const { status, text } = await platform.request('POST', '/app', { token: admin.token, input })
    expect(status).toBe(400)
    expect(text).toContain('healthCheck is for apps and functions only')
  }
})
