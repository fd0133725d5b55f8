import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeConsoleShell } from '../../../testkit/console/shell.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'
import { addPasskey, challengeFor, SoftAuthenticator } from '../../../testkit/sign-in/authenticator.ts'
import { WebClient } from '../../../testkit/sign-in/web-client.ts'

describe('passkeys', () => {
  const clock = new TestClock()
  const shell = makeConsoleShell()
  let platform: TestPlatform
  let origin = ''
  beforeAll(async () => {
    platform = await TestPlatform.start({ reconciles: false, consoleDir: shell, clock })
    // Passkeys want a name.
    origin = platform.apiUrl.replace('127.0.0.1', 'localhost')
  })
  afterAll(async () => {
    await platform.close()
    rmSync(shell, { recursive: true })
  })

  const browser = (at = origin) => new WebClient(at)
  async function signedIn({ token }: Pick<TestUser, 'token'>): Promise<WebClient> {
    const client = browser()
    expect((await client.post('/console/session', { token })).status).toBe(200)
    return client
  }
  const challengeOf = (purpose: 'sign-in' | 'registration', client = browser()) =>
    challengeFor(client, purpose)
  const present = (passkey: object, client = browser()) => client.post('/console/session', { passkey })
  /** A person with a passkey and a session that added it. */
  async function withPasskey() {
    const person = await platform.makeUser()
    const session = await signedIn(person)
    return { person, session, ...(await addPasskey(session)) }
  }

  it('sign-in: a passkey signs its user in, and each challenge only once', async () => {
    const { person, session, device } = await withPasskey()
    const client = browser()
    const answer = device.answer(await challengeOf('sign-in'), origin)
    expect((await present(answer, client)).status).toBe(200)
    expect(await client.email()).toBe(person.email)
    const { sessions } = (await client.call('GET', '/user/sessions')).json
    expect(sessions.map(({ method }: { method: string }) => method).sort()).toEqual(['passkey', 'token'])
    expect((await session.call('GET', '/user/passkeys')).json.passkeys).toMatchObject([
      { name: 'Phone', rpId: 'localhost', lastUsedAt: platform.now },
    ])
    // A copy of the answer, and another answer of the device to the same challenge.
    expect((await present(answer)).status).toBe(401)
    const challenge = await challengeOf('sign-in')
    const [one, other] = [device.answer(challenge, origin), device.answer(challenge, origin)]
    const statuses = [(await present(other)).status, (await present(one)).status]
    expect(statuses).toEqual([200, 401])
  })

  it('sign-in: refuses an answer that is wrong in one part, always with the same bytes', async () => {
    const { device } = await withPasskey()
    const stranger = await withPasskey()
    const registration = await challengeOf('registration', stranger.session)
    const fresh = () => challengeOf('sign-in')
    const wrong: Record<string, object> = {
      'another origin': device.answer(await fresh(), origin, { origin: 'https://evil.example' }),
      'another port': device.answer(await fresh(), origin, { origin: 'http://localhost:1' }),
      'another host': device.answer(await fresh(), origin, { rpId: 'evil.example' }),
      'no verification': device.answer(await fresh(), origin, { flags: 1 }),
      'nobody present': device.answer(await fresh(), origin, { flags: 4 }),
      'of a registration': device.answer(await fresh(), origin, { type: 'webauthn.create' }),
      'challenge of a registration': device.answer(
        { ...registration, options: { ...registration.options, rpId: 'localhost' } },
        origin,
      ),
      'another challenge': device.answer(await fresh(), origin, { challenge: 'x'.repeat(43) }),
      'another user': device.answer(await fresh(), origin, {
        userHandle: Buffer.from(stranger.person.userId).toString('base64url'),
      }),
      'an unknown passkey': { ...device.answer(await fresh(), origin), id: new SoftAuthenticator().id },
      'the passkey of another user': { ...device.answer(await fresh(), origin), id: stranger.device.id },
      'an altered challenge': { ...device.answer(await fresh(), origin), challenge: 'v1.key_x.y' },
    }
    const bytes = new Set<string>()
    for (const [name, answer] of Object.entries(wrong)) {
      const refused = await present(answer)
      expect(refused.status, name).toBe(401)
      bytes.add(await refused.text())
    }
    expect(bytes.size).toBe(1)
    const late = device.answer(await fresh(), origin)
    await clock.advance(5 * 60_000)
    expect((await present(late)).status).toBe(401)
  })

  it('sign-in: refuses a copied authenticator by its counter', async () => {
    const { device } = await withPasskey()
    expect((await present(device.answer(await challengeOf('sign-in'), origin, { counter: 7 }))).status).toBe(
      200,
    )
    for (const counter of [7, 3]) {
      const copy = device.answer(await challengeOf('sign-in'), origin, { counter })
      expect((await present(copy)).status, String(counter)).toBe(401)
    }
    expect((await present(device.answer(await challengeOf('sign-in'), origin, { counter: 8 }))).status).toBe(
      200,
    )
  })

  it('sign-in: a passkey ends when it or its user is removed, and others cannot remove it', async () => {
    const { person, session, device, passkeyId } = await withPasskey()
    const other = await signedIn(await platform.makeUser())
    expect((await other.call('DELETE', '/user/passkey', { passkeyId })).status).toBe(404)
    expect((await session.call('DELETE', '/user/passkey', { passkeyId })).status).toBe(200)
    expect((await present(device.answer(await challengeOf('sign-in'), origin))).status).toBe(401)
    const { device: second } = await addPasskey(session)
    const { status } = await platform.request('DELETE', '/user', {
      token: platform.admin.token,
      input: { userId: person.userId },
    })
    expect(status).toBe(200)
    expect((await present(second.answer(await challengeOf('sign-in'), origin))).status).toBe(401)
  })

  it('sign-in: adds a passkey only for the user of the challenge, at the address of it, once', async () => {
    const [one, other] = [
      await signedIn(await platform.makeUser()),
      await signedIn(await platform.makeUser()),
    ]
    const add = (client: WebClient, credential: object) =>
      client.call('POST', '/user/passkey', { name: 'x', credential })
    const device = new SoftAuthenticator()
    const challenge = await challengeOf('registration', one)
    const credential = device.register(challenge, origin)
    expect((await add(other, credential)).status).toBe(400)
    expect((await add(one, device.register(challenge, 'https://evil.example'))).status).toBe(400)
    expect((await add(one, device.register(challenge, origin, { flags: 1 }))).status).toBe(400)
    expect((await add(one, credential)).status).toBe(200)
    expect((await add(one, credential)).status).toBe(400)
    // The credential of another user.
    const again = device.register(await challengeOf('registration', other), origin)
    expect((await add(other, again)).status).toBe(400)
    expect((await browser().post('/console/passkey-challenge', { for: 'registration' })).status).toBe(401)
  })

  it('sign-in: an agent and a read-only token add no passkey', async () => {
    for (const limits of [{ kind: 'agent' }, { readOnly: true }]) {
      const made = await platform.request('POST', '/user/tokens', {
        token: platform.admin.token,
        input: { name: 'limited', ...limits },
      })
      const challenge = await challengeOf('registration', await signedIn(platform.admin))
      const credential = new SoftAuthenticator().register(challenge, origin)
      const added = await platform.request('POST', '/user/passkey', {
        token: made.json.token,
        input: { name: 'x', credential },
      })
      expect(added.status, JSON.stringify(limits)).toBe(403)
    }
  })

  it('sign-in: works at no IP address, and where there is a public address only there', async () => {
    expect(
      (await browser(platform.apiUrl).post('/console/passkey-challenge', { for: 'sign-in' })).status,
    ).toBe(403)
    expect(
      await (await browser(platform.apiUrl).send('GET', '/console/sign-in-methods')).json(),
    ).toMatchObject({
      passkey: false,
    })
    const publicUrl = 'https://longshore.example'
    const named = await TestPlatform.start({ reconciles: false, consoleDir: shell, publicUrl })
    const local = named.apiUrl.replace('127.0.0.1', 'localhost')
    expect((await browser(local).post('/console/passkey-challenge', { for: 'sign-in' })).status).toBe(403)
    await named.close()
  })
})
