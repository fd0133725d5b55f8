import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Person } from '../../../testkit/oauth/person.ts'
import { RawClient, registerAt } from '../../../testkit/oauth/raw-client.ts'
import { callback, startSignIn } from '../../../testkit/oauth/sign-in.ts'
import type { TestPlatform } from '../../../testkit/platform/test-platform.ts'

describe('redirect addresses', () => {
  let platform: TestPlatform
  let person: Person
  let client: RawClient
  beforeAll(async () => {
    ;({ platform, person, client } = await startSignIn())
  })
  afterAll(() => platform.close())

  it.each([
    'https://host.example.com/callback/',
    'https://host.example.com/callback/../evil',
    'https://host.example.com/callback?x=1',
    'https://host.example.com/callback#x',
    'https://host.example.com/Callback',
    'https://HOST.example.com/callback',
    'https://host.example.com:443/callback',
    'http://host.example.com/callback',
    'https://evil@host.example.com/callback',
    'https://host.example.com@evil.example/callback',
    'https://host.example.com.evil.example/callback',
    'https://host.example.com/callback%0d%0ax',
    'https://host.example.com\\@evil.example/callback',
    ' https://host.example.com/callback',
    'javascript:alert(1)//https://host.example.com/callback',
    'http://127.0.0.1/callback',
    '',
  ])('never answers at %j, only on the page', async (redirect_uri) => {
    expect(await person.sees(client.url({ redirect_uri }))).toMatchObject({
      error: 'This program cannot be connected',
    })
    await expect(person.approves(client.url({ redirect_uri }))).rejects.toThrow('cannot be connected')
    await expect(person.denies(client.url({ redirect_uri }))).rejects.toThrow('cannot be connected')
  })

  it('lets only the port of a loopback address differ (RFC 8252)', async () => {
    const app = await RawClient.register(platform.apiUrl, 'http://127.0.0.1/callback')
    const to = (redirect_uri: string) => person.sees(app.url({ redirect_uri }))
    expect(await to('http://127.0.0.1:51234/callback')).toHaveProperty('client')
    for (const other of [
      'http://127.0.0.1:51234/other',
      'http://localhost:51234/callback',
      'http://127.0.0.2:51234/callback',
      'http://127.0.0.1:51234@evil.example/callback',
      'https://127.0.0.1:51234/callback',
      'http://127.0.0.1:99999/callback',
    ]) {
      expect(await to(other), other).toHaveProperty('error')
    }
  })

  it.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'blob:https://x/y',
    'vbscript:x',
    'http://host.example.com/callback',
    'https://user@host.example.com/',
    'https://host.example.com/#x',
    'https://host.example.com/a/../b',
    'https://host.example.com/%2e%2e/b',
    'myapp:/callback',
  ])('registers no client with %s', async (redirectUri) => {
    const answer = await registerAt(platform.apiUrl, { redirect_uris: [callback, redirectUri] })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: 'invalid_redirect_uri' })
  })

  it('sends other errors only to the address of the client, with state and issuer', async () => {
    for (const [changes, error] of [
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ code_challenge: undefined }, 'invalid_request'],
      [{ code_challenge_method: 'plain' }, 'invalid_request'],
      [{ code_challenge_method: undefined }, 'invalid_request'],
      [{ response_mode: 'fragment' }, 'invalid_request'],
      [{ scope: 'root' }, 'invalid_scope'],
      [{ resource: 'https://other.example.com/mcp' }, 'invalid_target'],
      [{ request: 'x' }, 'request_not_supported'],
    ] as const) {
      const seen = await person.sees(client.url(changes))
      const to = new URL('redirectTo' in seen ? seen.redirectTo : 'about:blank')
      expect(`${to.origin}${to.pathname}`, JSON.stringify(changes)).toBe(callback)
      expect(Object.fromEntries(to.searchParams)).toMatchObject({
        error,
        state: 'the-state',
        iss: platform.apiUrl,
      })
    }
    // A parameter that comes twice is read differently by different programs.
    const twice = await person.sees(
      client.url({}, `&redirect_uri=${encodeURIComponent('https://evil.example/')}`),
    )
    expect(twice).toHaveProperty('error')
    expect(await person.sees(client.url({}, '&client_id=cli_other'))).toHaveProperty('error')
  })
})
