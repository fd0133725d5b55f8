import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

const send = (
  method: string,
  path: string,
  input: Record<string, unknown>,
  headers: Record<string, string> = {},
) => platform.request(method, path, { token: platform.admin.token, input, headers })

describe('details of the contract', () => {
  it.each(['bad', '1', '1.x', '-1.0'])('7.400 rejects an invalid cursor: %s', async (cursor) => {
    const { appEnvId } = await platform.makeEnvironment()
    const { accountId } = platform
    for (const refused of [
      await send('GET', '/logs', { appEnvId, cursor }),
      await send('GET', '/audit', { accountId, cursor }),
    ]) {
      expect([refused.status, refused.json]).toEqual([
        400,
        { error: 'Invalid request', details: 'cursor: must be the cursor of an earlier response' },
      ])
    }
  })

  it('2.1 and 8.job-defaults: appJobConfig contains inherited values, including platform defaults', async () => {
    const app = { dockerPreset: 'JOB', jobConfig: { command: 'true', timeoutSeconds: 60 } }
    const { appEnvId } = await platform.makeEnvironment({ app })
    const { json } = await send('GET', '/app-env', { appEnvId })
    expect(json.appJobConfig).toMatchObject({
      command: 'true',
      shell: true,
      timeoutSeconds: 60,
      ttlSecondsAfterFinished: 21_600,
      backoffLimit: 0,
    })
    expect(json.jobConfig).toEqual({})
    expect((await send('PUT', '/app-env', json)).status).toBe(200)
    expect((await send('GET', '/app-env', { appEnvId })).json.jobConfig).toEqual({})
  })

  it('a dry run names changed fields as the interface does', async () => {
    const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } })
    const dry = await send(
      'PUT',
      '/app-env',
      { appEnvId, zClouds: 2, functionConfig: { maxScale: 2 } },
      { 'dry-run': 'true' },
    )
    expect(dry.json.changes).toEqual(
      expect.arrayContaining([
        { path: 'zClouds', before: 1, after: 2 },
        { path: 'functionConfig.maxScale', before: null, after: 2 },
      ]),
    )
  })

  it('remove-member takes expectedRevision', async () => {
    const { accountId } = platform
    const member = { accountId, email: 'leaver@example.com', name: 'Leaver' }
    const { membershipId } = (await send('POST', '/member', member)).json
    const remove = (expectedRevision: number) =>
      send('DELETE', '/member', { accountId, membershipId, expectedRevision })
    const refused = await remove(7)
    expect([refused.status, refused.json.error]).toEqual([409, 'Revision conflict'])
    expect((await remove(1)).status).toBe(200)
  })

  it('a log line has at most 8 KiB and is marked as cut', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const line = { stream: 'stdout', type: 'RUNTIME', podName: 'p', contentId: 'dep_1' } as const
    const at = '2026-11-21T10:00:00.000Z'
    platform.logs.append(
      appEnvId,
      [8192, 8193, 100_000].map((length) => ({ ...line, at, message: 'z'.repeat(length) })),
    )
    const { logs } = (await send('GET', '/logs', { appEnvId })).json
    expect(logs.map(({ message }: { message: string }) => message.length)).toEqual([8192, 8192, 8192])
    expect(logs[2].message).toMatch(/z … \[line cut at 8 KiB\]$/)
    expect(logs[0].message).toMatch(/^z+$/)
  })

  it('4.1 PUT takes containers of an app as scale-app-env-containers does, and F8 refuses them for a function', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    expect((await send('PUT', '/app-env', { appEnvId, containers: 2, zClouds: 2 })).status).toBe(200)
    expect((await send('GET', '/app-env', { appEnvId })).json).toMatchObject({
      containers: 2,
      pendingChanges: { deployPendingChanges: [{ group: 'Resources', field: 'zClouds' }] },
    })
    const fn = await platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } })
    const refused = await send('PUT', '/app-env', { appEnvId: fn.appEnvId, containers: 2 })
    expect([refused.status, refused.json.error]).toEqual([
      400,
      'Functions do not use manual container scaling',
    ])
  })

  it('the history has an end for a deployment that a newer one or a stop superseded', async () => {
    const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } })
    for (const image of ['one:1', 'two:2']) await send('POST', '/app-env/deploy-image', { appEnvId, image })
    expect((await send('POST', '/app-env/stop', { appEnvId })).status).toBe(200)
    const { activities } = (await send('GET', '/app-env/history', { appEnvId })).json
    const told = activities.map(({ activity, version, status, details }: Record<string, unknown>) => ({
      what: [activity, version, status].join(' '),
      details,
    }))
    expect(told).toEqual([
      { what: 'STOP  DONE', details: null },
      {
        what: 'DEPLOY_IMAGE 2 FAILED',
        details: 'canceled: The environment was stopped before the rollout finished.',
      },
      { what: 'DEPLOY_IMAGE 2 DEPLOYING', details: null },
      {
        what: 'DEPLOY_IMAGE 1 FAILED',
        details: 'superseded: A newer change of this environment replaced it.',
      },
      { what: 'DEPLOY_IMAGE 1 DEPLOYING', details: null },
    ])
  })

  it('usage accepts any start time, even before the environment was created', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const from = '1970-01-01T00:00:00.000Z'
    const usage = await send('GET', '/app-env/usage', { appEnvId, from })
    expect(usage.json).toMatchObject({ appEnvId, containerSeconds: 0, hours: [] })
    const refused = await send('GET', '/app-env/usage', { appEnvId, from, to: '2100-01-01' })
    expect([refused.status, refused.json.error]).toEqual([400, 'The range is longer than 400 days'])
  })

  it('a response with a null token contains no secret, so it is replayed', async () => {
    const { json } = await send('POST', '/account', { name: 'Replays' })
    const email = 'replays@example.com'
    await send('POST', '/member', { accountId: platform.accountId, email, name: 'R' })
    const again = () =>
      send(
        'POST',
        '/member',
        { accountId: json.accountId, email, name: 'R' },
        { 'idempotency-key': 'null-token' },
      )
    const first = await again()
    expect(first.json).toMatchObject({ membershipId: expect.stringMatching(/^mem_/), token: null })
    expect(await again()).toMatchObject({ status: 200, text: first.text })
  })

  it('an access list counts environments that exist, though it keeps the ids of deleted ones', async () => {
    const { json } = await send('POST', '/account', { name: 'Counts' })
    const { accountId } = json
    const { appId } = (await send('POST', '/app', { accountId, name: 'Counts', port: 80 })).json
    const make = async (name: string) =>
      (await send('POST', '/app-env', { accountId, appId, name, region: 'local' })).json.appEnvId
    const allowedAppEnvIds = [await make('one'), await make('two')]
    const member = { accountId, email: 'counted@example.com', name: 'C', allowedAppEnvIds }
    const { membershipId } = (await send('POST', '/member', member)).json
    await send('DELETE', '/app-env', { appEnvId: allowedAppEnvIds[0] })
    const read = await send('GET', '/member/env-access', { accountId, membershipId })
    const written = await send('PATCH', '/member/env-access', read.json)
    expect(written.json).toMatchObject({ access: 'restricted', allowedAppEnvIds })
    expect(written.json.message).toMatch(/^Access changed from 1 of 1 environments to 1 of 1 environments/)
    expect(written.json.message).toContain('takes effect when the setting memberEnvAccessEnabled')
  })

  it('actions on an object accept expectedRevision too', async () => {
    const { accountId } = platform
    const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'JOB' } })
    const config = { addresses: ['ops@example.com'] }
    const point = { accountId, name: 'Ops', type: 'email', config }
    const { contactPointId } = (await send('POST', '/contact-point', point)).json.contactPoint
    const rule = { metric: 'cpu_percent', operator: 'gt', threshold: 1, duration: '1m', contactPointIds: [] }
    const { alertId } = (await send('POST', '/app-env/alert', { appEnvId, name: 'a', ...rule })).json.alert
    for (const [path, of] of [
      ['/app-env/request-storage-key', { appEnvId }],
      ['/app-env/job-run', { appEnvId }],
      ['/app-env/token', { appEnvId }],
      ['/alert/refresh', { alertId }],
      ['/contact-point/test', { contactPointId }],
    ] as const) {
      const refused = await send('POST', path, { ...of, expectedRevision: 7 })
      expect([path, refused.status, refused.json.error]).toEqual([path, 409, 'Revision conflict'])
    }
    const fits = await send('POST', '/app-env/request-storage-key', { appEnvId, expectedRevision: 1 })
    expect(fits.status).toBe(200)
  })

  it('Round trips: read variables and read autoscaling can be written back', async () => {
    const envVars = [
      { name: 'KEY', value: 'k' },
      { name: 'PLAIN', value: 'p', isSecret: false },
    ]
    const { appEnvId } = await platform.makeEnvironment({ environment: { envVars } })
    const read = (await send('GET', '/app-env', { appEnvId })).json
    const back = await send('PATCH', '/app-env/variables', { appEnvId, set: read.envVars })
    expect([back.status, back.json.pendingChanges?.hasDeployChanges]).toEqual([200, false])
    expect((await send('GET', '/app-env', { appEnvId })).json.envVars).toEqual(read.envVars)
    const removed = await send('PATCH', '/app-env/variables', { appEnvId, unset: ['PLAIN', 'PLAIN'] })
    expect(removed.json.message).toMatch(/^Saved 0 and removed 1 variable/)
    const scale = (input: Record<string, unknown>) =>
      send('PATCH', '/app-env/autoscaling', { appEnvId, ...input })
    expect((await scale({ targetMemoryPercent: 60 })).json.autoscaling.targetMemoryPercent).toBe(60)
    expect(read.autoscaling.targetMemoryPercent).toBeNull()
    expect((await scale(read.autoscaling)).json.autoscaling).toEqual(read.autoscaling)
  })

  it('A5 and 7.401 respond that the user is not authenticated', async () => {
    const refused = await platform.request('GET', '/accounts', { token: 'lsu_no', input: {} })
    expect([refused.status, refused.json.error]).toEqual([401, 'User not authenticated'])
  })
})
