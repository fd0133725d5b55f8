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
const appCount = async () => (await send('GET', '/apps', { accountId: platform.accountId })).json.apps.length
const newApp = (name: string) => ({ name, accountId: platform.accountId, port: 80 })

describe('every write', () => {
  it('is executed once for one Idempotency-Key, replayed byte for byte, and rejected with another body', async () => {
    const headers = { 'idempotency-key': 'k-1' }
    const before = await appCount()
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => send('POST', '/app', newApp('once'), headers)),
    )
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1)
    expect(await appCount()).toBe(before + 1)
    const other = await send('POST', '/app', newApp('twice'), headers)
    expect(other.status).toBe(409)
    const member = await platform.makeUser()
    const theirs = await platform.request('POST', '/app', {
      token: member.token,
      input: newApp('theirs'),
      headers,
    })
    expect(theirs.status).toBe(200)
  })

  it('has no effect with Dry-Run, and returns its changes with secrets masked', async () => {
    const { appEnvId } = await platform.makeEnvironment({
      environment: { envVars: [{ name: 'A', value: 'old-secret' }] },
    })
    const dry = await send(
      'PUT',
      '/app-env',
      { appEnvId, zClouds: 4, envVars: [{ name: 'A', value: 'new-secret' }] },
      { 'dry-run': 'true' },
    )
    expect(dry.json).toMatchObject({ dryRun: true, effects: expect.any(Array) })
    expect(dry.json.changes).toContainEqual({ path: 'zClouds', before: 1, after: 4 })
    expect(dry.text).not.toMatch(/old-secret|new-secret|v1\./)
    expect((await send('GET', '/app-env', { appEnvId })).json).toMatchObject({ zClouds: 1, revision: 1 })
    const refused = await send('PUT', '/app-env', { appEnvId, zClouds: 3 }, { 'dry-run': 'true' })
    expect(refused.status).toBe(400)
  })

  it('refuses a stale expectedRevision with 409 and writes nothing', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const first = await send('PUT', '/app-env', { appEnvId, zClouds: 2, expectedRevision: 1 })
    expect(first.status).toBe(200)
    const stale = await send('PUT', '/app-env', { appEnvId, zClouds: 8, expectedRevision: 1 })
    expect([stale.status, stale.json.error]).toEqual([409, 'Revision conflict'])
    expect((await send('GET', '/app-env', { appEnvId })).json).toMatchObject({ zClouds: 2, revision: 2 })
  })

  it('lets one of two racing writers with the same revision win', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const answers = await Promise.all(
      [1, 2, 4, 8].map((zClouds) => send('PUT', '/app-env', { appEnvId, zClouds, expectedRevision: 1 })),
    )
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
    expect(answers.filter((answer) => answer.status === 409)).toHaveLength(3)
  })

  it('adds an audit entry with caller, change and origin; a rejected one is never recorded as done', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    await send('PUT', '/app-env', { appEnvId, zClouds: 2 }, { 'longshore-surface': 'mcp' })
    await send('PUT', '/app-env', { appEnvId, zClouds: 7 })
    const rows = await platform.db.read((tx) =>
      tx
        .selectFrom('audit_log')
        .selectAll()
        .where('object_id', '=', appEnvId)
        .where('operation', '=', 'update-app-env')
        .execute(),
    )
    expect(rows.filter((row) => JSON.parse(row.after)?.saved?.zClouds === 2)).toHaveLength(1)
    expect(rows[0]).toMatchObject({
      principal: platform.admin.userId,
      surface: 'mcp',
      operation: 'update-app-env',
    })
  })

  it('A1 accepts the token with and without Bearer, and V1 serves only paths below the prefix', async () => {
    const { token } = platform.admin
    expect((await platform.request('GET', '/accounts', { token })).status).toBe(200)
    expect((await platform.request('GET', '/accounts', { token: `Bearer ${token}` })).status).toBe(200)
    const outside = await fetch(`${platform.apiUrl}/accounts`, { headers: { authorization: token } })
    expect(outside.status).toBe(404)
    const twice = await platform.request('GET', '/api/public/v1/accounts', { token })
    expect(twice.status).toBe(200)
  })
})
