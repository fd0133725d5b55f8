import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeConsoleShell } from '../../../testkit/console/shell.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'
import { addPasskey, challengeFor, type SoftAuthenticator } from '../../../testkit/sign-in/authenticator.ts'
import { WebClient } from '../../../testkit/sign-in/web-client.ts'

const minuteMs = 60_000

describe('the second step (reauthenticateSeconds)', () => {
  const clock = new TestClock()
  const shell = makeConsoleShell()
  let platform: TestPlatform
  let person: TestUser
  let device: SoftAuthenticator
  let appEnvId = ''
  beforeAll(async () => {
    const options = { reconciles: false, consoleDir: shell, hasAdminToken: true }
    platform = await TestPlatform.start({ ...options, clock })
    person = await platform.makeUser({ admin: true })
    ;({ appEnvId } = await platform.makeEnvironment())
    ;({ device } = await addPasskey(await byToken(person)))
    const { accountId } = platform
    const set = await as(platform.admin.token, 'PATCH', '/account', { accountId, reauthenticateSeconds: 300 })
    expect(set.status, set.text).toBe(200)
  })
  afterAll(async () => {
    await platform.close()
    rmSync(shell, { recursive: true })
  })

  const browser = () => new WebClient(platform.apiUrl.replace('127.0.0.1', 'localhost'))
  async function byToken({ token }: Pick<TestUser, 'token'>): Promise<WebClient> {
    const client = browser()
    expect((await client.post('/console/session', { token })).status).toBe(200)
    return client
  }
  async function byPasskey(client = browser()): Promise<WebClient> {
    const passkey = device.answer(await challengeFor(client, 'sign-in'), client.origin)
    expect((await client.post('/console/session', { passkey })).status).toBe(200)
    return client
  }
  const as = (token: string, method: string, path: string, input: Record<string, unknown>) =>
    platform.request(method, path, { token, input })
  const toDecide = async () => {
    const set = [{ name: 'A', value: clock.wallMs().toString(), isSecret: false }]
    const steps = [{ operation: 'update-app-env-variables', input: { appEnvId, set } }]
    const { accountId } = platform
    const made = await as(platform.admin.token, 'POST', '/plan', { accountId, title: 'x', steps })
    const { approvalId, reviewDigest } = made.json
    return { approvalId, reviewDigest, decision: 'approve' }
  }

  it('second-step: a decision needs a recent proof, by a passkey where the person has one', async () => {
    const decision = await toDecide()
    for (const refused of [
      await as(person.token, 'POST', '/approval/decide', decision),
      await (await byToken(person)).call('POST', '/approval/decide', decision),
    ])
      expect(refused).toMatchObject({ status: 403, json: { error: 'Confirm that it is you' } })
    const client = await byPasskey()
    await clock.advance(5 * minuteMs)
    const late = await client.call('POST', '/approval/decide', decision)
    expect([late.status, late.rule]).toEqual([403, 'second-step'])
    // Other writes and reads need none.
    expect((await client.call('GET', '/app-env', { appEnvId })).status).toBe(200)
    expect((await client.call('POST', '/account', { name: 'Own' })).status).toBe(200)
    await byPasskey(client)
    const decided = await client.call('POST', '/approval/decide', decision)
    expect(decided.status, decided.text).toBe(200)
  })

  it('second-step: covers secrets, access, tokens and passkeys, but no dry run', async () => {
    const { accountId } = platform
    const client = await byToken(person)
    const { membershipId } = await platform.makeUser()
    const calls: [string, string, Record<string, unknown>][] = [
      ['GET', '/app-env', { appEnvId, decrypt: 'true' }],
      ['POST', '/member', { accountId, email: 'new@example.com', name: 'New' }],
      ['DELETE', '/member', { accountId, membershipId }],
      ['PATCH', '/account', { accountId, reauthenticateSeconds: 0 }],
      ['PUT', '/policy', { accountId, mode: 'observe', rules: [] }],
      ['POST', '/user/tokens', { name: 'x' }],
      ['POST', '/user/token', {}],
      ['POST', '/app-env/token', { appEnvId }],
    ]
    for (const [method, path, input] of calls) {
      const refused = await client.call(method, path, input)
      expect([refused.status, refused.rule], `${method} ${path} ${refused.text}`).toEqual([
        403,
        'second-step',
      ])
    }
    const { passkeys } = (await client.call('GET', '/user/passkeys')).json
    expect((await client.call('DELETE', '/user/passkey', { passkeyId: passkeys[0].passkeyId })).status).toBe(
      403,
    )
    const dry = await client.send('POST', '/api/public/v1/member', {
      body: { accountId, email: 'new@example.com', name: 'New' },
      headers: { 'dry-run': 'true' },
    })
    expect(dry.status).toBe(200)
  })

  it('second-step: a person without a passkey proves it with a token; agents need none and cannot turn it off', async () => {
    const other = await platform.makeUser({ admin: true })
    const client = await byToken(other)
    const made = await client.call('POST', '/user/tokens', { name: 'bot', kind: 'agent' })
    expect(made.status, made.text).toBe(200)
    await clock.advance(6 * minuteMs)
    expect((await client.call('POST', '/user/tokens', { name: 'x' })).status).toBe(403)
    const { accountId } = platform
    const off = { accountId, reauthenticateSeconds: 0 }
    expect((await as(made.json.token, 'PATCH', '/account', off)).status).toBe(403)
    expect((await as(made.json.token, 'PATCH', '/account', { accountId, zCloudLimit: 60 })).status).not.toBe(
      403,
    )
  })

  it('second-step: the token of the data directory stays the way back in', async () => {
    const { accountId } = platform
    const set = (reauthenticateSeconds: number) =>
      as(platform.admin.token, 'PATCH', '/account', { accountId, reauthenticateSeconds })
    expect((await set(0)).status).toBe(200)
    expect((await as(person.token, 'POST', '/user/tokens', { name: 'x' })).status).toBe(200)
    expect((await set(300)).status).toBe(200)
  })
})
