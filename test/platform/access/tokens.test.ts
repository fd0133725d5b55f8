import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

const call = (method: string, path: string, token: string, input: Record<string, unknown> = {}) =>
  platform.request(method, path, { token, input })

describe('tokens', () => {
  it('A1 a rotated user token stops working on the next request', async () => {
    const user = await platform.makeUser()
    const rotated = await call('POST', '/user/token', user.token)
    expect(rotated.json.token).toMatch(/^lsu_[0-9A-Za-z]{49}$/)
    expect((await call('GET', '/user', user.token)).status).toBe(401)
    expect((await call('GET', '/user', rotated.json.token)).json.userId).toBe(user.userId)
  })

  it('A2 a rotated environment token stops working on the next request; only admins can rotate it', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const member = await platform.makeUser()
    expect((await call('POST', '/app-env/token', member.token, { appEnvId })).status).toBe(403)
    const first = (await call('POST', '/app-env/token', platform.admin.token, { appEnvId })).json.token
    expect(first).toMatch(/^lse_/)
    expect((await call('GET', '/app-env', first, { appEnvId })).status).toBe(200)
    const second = (await call('POST', '/app-env/token', platform.admin.token, { appEnvId })).json.token
    expect((await call('GET', '/app-env', first, { appEnvId })).status).toBe(401)
    expect((await call('GET', '/app-env', second, { appEnvId })).status).toBe(200)
    await call('DELETE', '/app-env', platform.admin.token, { appEnvId })
    expect((await call('GET', '/app-env', second, { appEnvId })).status).toBe(401)
  })

  it('read-only-token: it reads, changes nothing, and shows no secret', async () => {
    const made = await call('POST', '/user/tokens', platform.admin.token, { name: 'agent', readOnly: true })
    const { token, tokenId } = made.json
    const { appEnvId } = await platform.makeEnvironment({
      environment: { envVars: [{ name: 'PASSWORD', value: 'hunter2' }] },
    })
    expect((await call('GET', '/app-env', token, { appEnvId })).status).toBe(200)
    expect((await call('GET', '/app-env', token, { appEnvId, decrypt: true })).status).toBe(403)
    const write = await call('POST', '/app-env/stop', token, { appEnvId })
    expect([write.status, write.json.error]).toEqual([403, 'This token is read-only'])
    expect(write.headers.get('longshore-rule')).toBe('read-only-token')
    // Known and unknown ids get the same response, because no object is looked up.
    expect((await call('POST', '/app-env/stop', token, { appEnvId: 'env_x' })).text).toBe(write.text)
    const dry = await platform.request('POST', '/app-env/stop', {
      token,
      input: { appEnvId },
      headers: { 'dry-run': 'true' },
    })
    expect(dry.status).toBe(403)
    const listed = (await call('GET', '/user/tokens', platform.admin.token)).json.tokens
    expect(listed).toContainEqual(
      expect.objectContaining({ tokenId, name: 'agent', readOnly: true, current: false }),
    )
    expect(JSON.stringify(listed)).not.toContain(token)
    expect((await call('DELETE', '/user/token', platform.admin.token, { tokenId })).status).toBe(200)
    expect((await call('GET', '/app-env', token, { appEnvId })).status).toBe(401)
  })

  it('a user has at most 50 tokens; a revoked one does not count', async () => {
    const user = await platform.makeUser()
    const make = () => call('POST', '/user/tokens', user.token, { name: 'one more' })
    let last = ''
    for (let count = 1; count < 50; count += 1) last = (await make()).json.tokenId
    const refused = await make()
    expect([refused.status, refused.json.error]).toEqual([400, 'A user has at most 50 tokens'])
    expect((await call('DELETE', '/user/token', user.token, { tokenId: last })).status).toBe(200)
    expect((await make()).status).toBe(200)
  })

  it('a token of another user is unknown', async () => {
    const user = await platform.makeUser()
    const { tokenId } = (await call('POST', '/user/tokens', user.token, { name: 'mine' })).json
    const foreign = await call('DELETE', '/user/token', platform.admin.token, { tokenId })
    const unknown = await call('DELETE', '/user/token', platform.admin.token, { tokenId: 'tok_x' })
    expect(foreign.status).toBe(404)
    expect(foreign.text).toBe(unknown.text)
  })

  it('a replay of a response with a token never contains the token', async () => {
    const user = await platform.makeUser()
    const send = () =>
      platform.request('POST', '/user/tokens', {
        token: user.token,
        input: { name: 'once' },
        headers: { 'idempotency-key': 'k1' },
      })
    expect((await send()).status).toBe(200)
    const again = await send()
    expect([again.status, again.json.error]).toEqual([409, 'Already done'])
  })

  it('a replay of an upload address gives the same bytes; the store keeps it encrypted', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const send = () =>
      platform.request('POST', '/app-env/request-storage-key', {
        token: platform.admin.token,
        input: { appEnvId },
        headers: { 'idempotency-key': 'upload' },
      })
    const first = await send()
    expect((await send()).text).toBe(first.text)
    const kept = await platform.db.read((tx) => tx.selectFrom('idempotency').selectAll().execute())
    const secret = first.json.uploadUrl.split('/').at(-1)
    expect(secret.length).toBeGreaterThan(30)
    expect(JSON.stringify(kept)).not.toContain(secret)
    // After a rotation of the data keys it cannot be decrypted; still the write is not repeated.
    await platform.db.write((tx) =>
      tx.updateTable('idempotency').set({ body: 'v1.key_gone.AAAA' }).where('key', '=', 'upload').execute(),
    )
    const again = await send()
    expect([again.status, again.json.error]).toEqual([409, 'Already done'])
  })

  it('a replay does not bypass current permissions: a read-only token, a removed access', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const user = await platform.makeUser()
    const ask = (token: string) =>
      platform.request('POST', '/app-env/request-storage-key', {
        token,
        input: { appEnvId },
        headers: { 'idempotency-key': 'once more' },
      })
    const first = await ask(user.token)
    expect(first.status).toBe(200)
    const reader = await call('POST', '/user/tokens', user.token, { name: 'reader', readOnly: true })
    const refused = await ask(reader.json.token)
    expect([refused.status, refused.json.error]).toEqual([403, 'This token is read-only'])
    expect((await ask(user.token)).text).toBe(first.text)
    const membership = { accountId: platform.accountId, membershipId: user.membershipId }
    expect((await call('DELETE', '/member', platform.admin.token, membership)).status).toBe(200)
    expect((await ask(user.token)).status).toBe(404)
  })
})
