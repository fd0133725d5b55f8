import { SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listAudit } from '../../../src/contract/audit.ts'
import { listUserTokens, revokeUserToken } from '../../../src/contract/users.ts'
import { browse, TestAuthorizationServer } from '../../../testkit/oauth/authorization-server.ts'
import { callTool } from '../../../testkit/oauth/call-tool.ts'
import { OAuthHost } from '../../../testkit/oauth/host.ts'
import { SigningIssuer } from '../../../testkit/oauth/signing-issuer.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const redirectUri = 'http://127.0.0.1:33418/callback'
/** Where the external servers find the resource; the tests reach the platform at its own address. */
const publicUrl = 'https://longshore.example.com'
const resource = `${publicUrl}/mcp`

describe('a real authorization server', () => {
  it('signs the host in; roles and scopes of its token hold, and the audit log names the client', async () => {
    const account = { email: '', emailVerified: true }
    let server: TestAuthorizationServer | undefined
    let platform: TestPlatform | undefined
    try {
      // The resource is known only once the platform listens, and the platform needs the issuer: both have free ports.
      const scopes = 'environments:read environments:write'
      const known = { resource: '' }
      server = await TestAuthorizationServer.start({
        resource: () => known.resource,
        redirectUri,
        scopes,
        account: () => account,
      })
      platform = await TestPlatform.start({ reconciles: false, oauth: { issuer: server.issuer } })
      known.resource = `${platform.apiUrl}/mcp`
      account.email = platform.admin.email
      const host = new OAuthHost(known.resource, (url) => browse(url, redirectUri))
      host.information = { client_id: server.clientId }
      const agent = await host.connect()
      const { accountId } = platform
      await agent.does('create-app', { accountId, name: 'external', dockerPreset: 'CUSTOM', port: 8080 })
      await agent.close()
      const { tokens } = await platform.admin.client.call(listUserTokens, {})
      const shown = tokens.find(({ agent }) => agent !== null)
      expect(shown).toMatchObject({
        name: server.clientId,
        readOnly: false,
        agent: { scopes: scopes.split(' ') },
      })

      const audit = await platform.admin.client.call(listAudit, { accountId, limit: 1 })
      expect(audit.entries[0]).toMatchObject({
        operation: 'create-app',
        agent: server.clientId,
        surface: 'mcp',
      })

      account.email = 'stranger@example.com'
      const stranger = new OAuthHost(known.resource, (url) => browse(url, redirectUri))
      stranger.information = { client_id: server.clientId }
      await expect(stranger.connect()).rejects.toThrow()
      expect((await callTool(platform.apiUrl, stranger.held!.access_token, 'list-accounts')).status).toBe(401)
    } finally {
      await platform?.close()
      await server?.close()
    }
  })
})

describe('tokens of an external authorization server', () => {
  let platform: TestPlatform
  let issuer: SigningIssuer
  beforeAll(async () => {
    issuer = await SigningIssuer.start()
    platform = await TestPlatform.start({ reconciles: false, oauth: { issuer: issuer.issuer, publicUrl } })
  })
  afterAll(async () => {
    await platform?.close()
    await issuer?.close()
  })

  const person = async () => {
    const user = await platform.makeUser()
    const claims = { email: user.email, sub: user.email, scope: 'environments:read' }
    return { user, claims }
  }
  const statusOf = async (token: string, name = 'list-accounts') =>
    (await callTool(platform.apiUrl, token, name)).status

  it('publishes the issuer and the resource', async () => {
    const answer = await fetch(`${platform.apiUrl}/.well-known/oauth-protected-resource/mcp`)
    expect(await answer.json()).toMatchObject({ resource, authorization_servers: [issuer.issuer] })
    expect((await fetch(`${platform.apiUrl}/.well-known/oauth-authorization-server`)).status).toBe(404)
    expect((await fetch(`${platform.apiUrl}/oauth/token`, { method: 'POST' })).status).toBe(404)
  })

  it('takes scopes from scope, scp, roles and permissions; none allow nothing', async () => {
    const { claims } = await person()
    const words = 'environments:read'
    for (const given of [
      { scope: words },
      { scp: [words] },
      { roles: [words] },
      { permissions: [words, 'x'] },
    ]) {
      const { scope: _, ...rest } = claims
      expect(await statusOf(await issuer.sign(resource, { ...rest, ...given }))).toBe(200)
    }
    const none = await callTool(
      platform.apiUrl,
      await issuer.sign(resource, { ...claims, scope: 'openid' }),
      'list-accounts',
    )
    expect(none.status).toBe(403)
    expect(none.headers.get('www-authenticate')).toContain('scope="environments:read"')
    const token = await issuer.sign(resource, claims)
    expect(await statusOf(token, 'create-app')).toBe(403)
  })

  it('knows the person by a verified address or by the id of the user, and by nothing else', async () => {
    const { user, claims } = await person()
    expect(await statusOf(await issuer.sign(resource, { ...claims, email: user.email.toUpperCase() }))).toBe(
      200,
    )
    expect(await statusOf(await issuer.sign(resource, { scope: claims.scope, sub: user.userId }))).toBe(200)
    for (const wrong of [{ email_verified: false }, { email_verified: 'true' }, { email: 'x@example.com' }]) {
      expect(await statusOf(await issuer.sign(resource, { ...claims, ...wrong }))).toBe(401)
    }
  })

  it('folds ASCII letters only: an address that looks like another one does not sign in', async () => {
    const { json } = await platform.request('POST', '/member', {
      token: platform.admin.token,
      input: { accountId: platform.accountId, email: 'kim.åsa@example.com', name: 'Kim' },
    })
    expect(json.membershipId).toBeDefined()
    const signIn = async (email: string) =>
      statusOf(await issuer.sign(resource, { email, sub: email, scope: 'environments:read' }))
    for (const same of ['kim.åsa@example.com', 'KIM.åsA@Example.com', 'kim.a\u030asa@example.com'])
      expect(await signIn(same), same).toBe(200)
    for (const other of ['\u212aim.åsa@example.com', 'kim.Åsa@example.com', 'kіm.åsa@example.com'])
      expect(await signIn(other), other).toBe(401)
  })

  it('refuses tokens for another audience, issuer or time, of another kind, and forged ones', async () => {
    const { claims } = await person()
    const nowSeconds = Math.floor(Date.now() / 1000)
    for (const wrong of [
      { aud: 'https://other.example.com/mcp' },
      { aud: publicUrl },
      { aud: 'registered-host' },
      { aud: undefined },
      { iss: 'https://other.example.com' },
      { exp: nowSeconds - 60 },
      { exp: undefined },
      { nbf: nowSeconds + 600 },
      { sub: undefined },
    ]) {
      expect(
        await statusOf(await issuer.sign(resource, { ...claims, ...wrong })),
        JSON.stringify(wrong),
      ).toBe(401)
    }
    expect(await statusOf(await issuer.sign(resource, claims, { typ: 'logout+jwt' }))).toBe(401)
    const good = { ...claims, iss: issuer.issuer, aud: resource, iat: nowSeconds, exp: nowSeconds + 60 }
    expect(await statusOf(new UnsecuredJWT(good).encode())).toBe(401)
    // The public key as the secret of a symmetric signature.
    const secret = new TextEncoder().encode(JSON.stringify(await issuer.publicKey()))
    const symmetric = await new SignJWT(good).setProtectedHeader({ alg: 'HS256', kid: 'first' }).sign(secret)
    expect(await statusOf(symmetric)).toBe(401)
    const [head, , mac] = (await issuer.sign(resource, claims)).split('.')
    const other = Buffer.from(JSON.stringify({ ...good, scope: 'environments:write' })).toString('base64url')
    expect(await statusOf(`${head}.${other}.${mac}`)).toBe(401)
  })

  it('is not accepted by the API, which the token is not for', async () => {
    const { claims } = await person()
    const token = await issuer.sign(resource, claims)
    expect(await statusOf(token)).toBe(200)
    expect((await platform.request('GET', '/accounts', { token })).status).toBe(401)
  })

  it('reads the keys once, and again when they rotate', async () => {
    const { claims } = await person()
    expect(await statusOf(await issuer.sign(resource, claims))).toBe(200)
    const before = issuer.reads
    for (let n = 0; n < 3; n += 1) expect(await statusOf(await issuer.sign(resource, claims))).toBe(200)
    expect(issuer.reads).toBe(before)
    const old = await issuer.sign(resource, claims)
    await issuer.newKey('second')
    expect(await statusOf(await issuer.sign(resource, claims, { kid: 'second' }))).toBe(200)
    expect(await statusOf(old)).toBe(401)
    await issuer.newKey('first')
  })

  it('takes a token without a key id, whichever of the published keys signed it', async () => {
    const rotating = await SigningIssuer.start()
    const other = await TestPlatform.start({
      reconciles: false,
      oauth: { issuer: rotating.issuer, publicUrl },
    })
    try {
      await rotating.newKey('second', { beside: true })
      await rotating.newKey('third')
      rotating.published = ['first', 'second']
      const claims = { sub: other.admin.userId, scope: 'environments:read' }
      const status = async (kid: string, more = {}) => {
        const token = await rotating.sign(resource, { ...claims, ...more }, { kid, namesKey: false })
        return (await callTool(other.apiUrl, token, 'list-accounts')).status
      }
      expect(await status('first')).toBe(200)
      expect(await status('second')).toBe(200)
      expect(await status('third')).toBe(401)
      expect(await status('second', { aud: 'https://other.example.com/mcp' })).toBe(401)
    } finally {
      await other.close()
      await rotating.close()
    }
  })

  it('ends a client that the person revokes, until a token that is issued later', async () => {
    const { user, claims } = await person()
    const token = await issuer.sign(resource, { ...claims, iat: Math.floor(Date.now() / 1000) - 60 })
    expect(await statusOf(token)).toBe(200)
    const [grant] = (await user.client.call(listUserTokens, {})).tokens.filter(({ agent }) => agent)
    await user.client.call(revokeUserToken, { tokenId: grant!.tokenId })
    expect(await statusOf(token)).toBe(401)
    const later = await issuer.sign(resource, { ...claims, iat: Math.floor(Date.now() / 1000) + 2 })
    expect(await statusOf(later)).toBe(200)
    // The later token brings no earlier one back, with its own scopes or others.
    expect(await statusOf(token)).toBe(401)
    const wider = { ...claims, scope: 'environments:read environments:write' }
    const earlier = await issuer.sign(resource, { ...wider, iat: Math.floor(Date.now() / 1000) - 60 })
    expect(await statusOf(earlier)).toBe(401)
    expect(await statusOf(later)).toBe(200)
  })

  it('a token whose time of issue lies ahead ends with the revocation too; one from the future is refused', async () => {
    const { user, claims } = await person()
    const inSeconds = (seconds: number) => ({ ...claims, iat: Math.floor(Date.now() / 1000) + seconds })
    const ahead = await issuer.sign(resource, inSeconds(4))
    expect(await statusOf(ahead)).toBe(200)
    const [grant] = (await user.client.call(listUserTokens, {})).tokens.filter(({ agent }) => agent)
    await user.client.call(revokeUserToken, { tokenId: grant!.tokenId })
    expect(await statusOf(ahead)).toBe(401)
    for (const seconds of [60, 86_400 * 365, 1e15])
      expect(await statusOf(await issuer.sign(resource, inSeconds(seconds)))).toBe(401)
  })

  it('answers 503, which is no refusal of the token, while only the address of the keys is broken', async () => {
    const broken = await SigningIssuer.start()
    const other = await TestPlatform.start({ reconciles: false, oauth: { issuer: broken.issuer, publicUrl } })
    try {
      const token = await broken.sign(resource, { sub: other.admin.userId, scope: 'environments:read' })
      const status = async () => (await callTool(other.apiUrl, token, 'list-accounts')).status
      for (const [answer, body] of [
        [500, 'oops'],
        [302, ''],
        [200, '<html>maintenance</html>'],
        [200, '{"keys":"none"}'],
        [200, JSON.stringify({ keys: [], padding: 'x'.repeat(300_000) })],
      ] as const) {
        broken.insteadOfKeys = { status: answer, body }
        expect(await status(), body.slice(0, 20)).toBe(503)
      }
      broken.insteadOfKeys = null
      expect(await status()).toBe(200)
    } finally {
      await other.close()
      await broken.close()
    }
  })

  it('takes a token that never ends in practice', async () => {
    const { claims } = await person()
    expect(await statusOf(await issuer.sign(resource, { ...claims, exp: 1e18 }))).toBe(200)
  })

  it('answers 503 while the keys of the server cannot be read, and to tokens of Longshore as ever', async () => {
    const away = await SigningIssuer.start()
    away.isAway = true
    const other = await TestPlatform.start({ reconciles: false, oauth: { issuer: away.issuer, publicUrl } })
    try {
      const answer = await callTool(other.apiUrl, await away.sign(resource), 'list-accounts')
      expect(answer.status).toBe(503)
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
      expect((await callTool(other.apiUrl, other.admin.token, 'list-accounts')).status).toBe(200)
    } finally {
      await other.close()
      await away.close()
    }
  })
})
