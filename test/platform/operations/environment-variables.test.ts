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

const makeEnvironment = (app: Record<string, unknown> = {}, environment: Record<string, unknown> = {}) =>
  platform.makeEnvironment({ app, environment })

const read = async (appEnvId: string, input: Record<string, unknown> = {}) =>
  (await send('GET', '/app-env', { appEnvId, ...input })).json

describe('variables', () => {
  it('E1 PUT replaces the whole array; written back as read it changes no secret', async () => {
    const { appEnvId } = await makeEnvironment(
      {},
      {
        envVars: [
          { name: 'SECRET', value: 'first' },
          { name: 'PLAIN', value: 'shown', isSecret: false, type: 'DEPLOY' },
        ],
      },
    )
    const before = await read(appEnvId)
    expect(before.envVars.map((v: { value: string }) => v.value)).toEqual(['***SECRET***', 'shown'])
    const back = await send('PUT', '/app-env', before)
    expect([back.status, back.json]).toEqual([200, { appEnvId }])
    expect((await read(appEnvId, { decrypt: true })).envVars[0].value).toBe('first')
    expect((await read(appEnvId)).pendingChanges.hasDeployChanges).toBe(false)
    await send('PUT', '/app-env', { appEnvId, envVars: [{ name: 'ONLY', value: 'x' }] })
    expect((await read(appEnvId)).envVars.map((v: { name: string }) => v.name)).toEqual(['ONLY'])
  })

  it('E2 stores no secret in clear, and the mask never becomes a value', async () => {
    const { appEnvId } = await makeEnvironment({}, { envVars: [{ name: 'A', value: 'canary-7f3a' }] })
    const rows = await platform.db.read(async (tx) => [
      ...(await tx.selectFrom('app_envs').select('record').execute()).map((row) => row.record),
      ...(await tx.selectFrom('audit_log').select(['before', 'after']).execute()).flatMap((row) => [
        row.before,
        row.after,
      ]),
    ])
    expect(rows.join('\n')).not.toContain('canary-7f3a')
    const masked = await send('PUT', '/app-env', {
      appEnvId,
      envVars: [{ name: 'B', value: '***SECRET***' }],
    })
    expect([masked.status, masked.json.error]).toEqual([400, 'Variable B needs a value'])
    const opened = await send('PATCH', '/app-env/variables', {
      appEnvId,
      set: [{ name: 'A', isSecret: false }],
    })
    expect([opened.status, opened.json.error]).toEqual([400, 'Variable A is secret'])
  })

  it('E2 rejects the mask inside a value on every input, and explains how to keep the secret', async () => {
    const { appEnvId, appId } = await makeEnvironment(
      {},
      {
        envVars: [
          { name: 'KEPT', value: 'first' },
          { name: 'PLAIN', value: 'shown', isSecret: false },
        ],
      },
    )
    const value = 'postgresql://u:***SECRET***@db:5432/d'
    const { accountId } = platform
    const answers = [
      await send('PATCH', '/app-env/variables', { appEnvId, set: [{ name: 'KEPT', value }] }),
      await send('PATCH', '/app-env/variables', { appEnvId, set: [{ name: 'NEW', value, isSecret: false }] }),
      await send('PUT', '/app-env', { appEnvId, envVars: [{ name: 'PLAIN', value, isSecret: false }] }),
      await send('POST', '/app-env', {
        accountId,
        appId,
        name: 'masked',
        region: 'local',
        envVars: [{ name: 'NEW', value: '***SECRET*** ' }],
      }),
    ]
    for (const { status, json } of answers) {
      expect([status, json.error]).toEqual([
        400,
        expect.stringMatching(/^Variable \w+ contains the mask of a secret$/),
      ])
      expect(json.details).toContain('To keep the stored value, send exactly ***SECRET***')
    }
    const mask = '***SECRET***'
    const set = [
      { name: 'KEPT', value: mask },
      { name: 'PLAIN', value: mask },
    ]
    expect((await send('PATCH', '/app-env/variables', { appEnvId, set })).status).toBe(200)
    const { envVars } = await read(appEnvId, { decrypt: true })
    expect(envVars.map((one: { value: string }) => one.value)).toEqual(['first', 'shown'])
  })

  it('X1 decrypt needs admin, with the documented sentence', async () => {
    const { appEnvId } = await makeEnvironment()
    const member = await platform.makeUser()
    const answer = await platform.request('GET', '/app-env', {
      token: member.token,
      input: { appEnvId, decrypt: true },
    })
    expect([answer.status, answer.json.error]).toEqual([403, 'Admin permission required to decrypt secrets'])
  })

  it('update-app-env-variables keeps value, type and secret flag of the others', async () => {
    const { appEnvId } = await makeEnvironment(
      {},
      {
        envVars: [
          { name: 'KEEP', value: 'k', type: 'BUILD' },
          { name: 'GO', value: 'g' },
        ],
      },
    )
    const answer = await send('PATCH', '/app-env/variables', {
      appEnvId,
      set: [{ name: 'NEW', value: 'n' }],
      unset: ['GO'],
    })
    expect(answer.json).toMatchObject({
      success: true,
      appEnv: { appEnvId },
      pendingChanges: { hasBuildChanges: true },
    })
    expect(
      (await read(appEnvId, { decrypt: true })).envVars.map(({ _id, ...v }: { _id: string }) => v),
    ).toEqual([
      { name: 'KEEP', value: 'k', type: 'BUILD', isSecret: true },
      { name: 'NEW', value: 'n', type: 'BOTH', isSecret: true },
    ])
  })
})
