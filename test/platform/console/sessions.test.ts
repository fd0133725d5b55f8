import { rmSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { listAudit } from '../../../src/contract/audit.ts'
import { forgetOldSessions } from '../../../src/operations/access/console-sessions.ts'
import { rateLimitsOf } from '../../../src/operations/core/rate-limit.ts'
import { makeConsoleShell } from '../../../testkit/console/shell.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const minuteMs = 60_000
const clock = new TestClock()
let platform: TestPlatform
let origin = ''
const shell = makeConsoleShell()

beforeAll(async () => {
  platform = await TestPlatform.start({ clock, reconciles: false, consoleDir: shell })
  origin = platform.apiUrl
})
afterAll(async () => {
  await platform.close()
  rmSync(shell, { recursive: true })
})

interface Page {
  cookie?: string
  headers?: Record<string, string>
  body?: unknown
}

/** A request as the console's own page makes it, unless `headers` say otherwise. */
function send(method: string, pathname: string, { cookie, headers, body }: Page = {}): Promise<Response> {
  return fetch(origin + pathname, {
    method,
    redirect: 'manual',
    headers: {
      'longshore-console': '1',
      origin,
      'sec-fetch-site': 'same-origin',
      ...(cookie ? { cookie } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...headers,
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
}

const cookieOf = (answer: Response) => answer.headers.getSetCookie()[0]?.split(';')[0] ?? ''
const user = (cookie: string, headers?: Record<string, string>) =>
  send('GET', '/api/public/v1/user', { cookie, ...(headers ? { headers } : {}) })

async function signIn(token = platform.admin.token): Promise<string> {
  const answer = await send('POST', '/console/session', { body: { token } })
  expect(answer.status).toBe(200)
  return cookieOf(answer)
}

async function newToken(): Promise<{ token: string; tokenId: string }> {
  const made = await platform.request('POST', '/user/tokens', {
    token: platform.admin.token,
    input: { name: 'console' },
  })
  return made.json
}

async function newCode(token = platform.admin.token): Promise<string> {
  const answer = await fetch(`${origin}/console/sign-in-link`, {
    method: 'POST',
    headers: { authorization: token },
  })
  const { signInUrl } = (await answer.json()) as { signInUrl: string }
  expect(signInUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\/sign-in#[\w-]{43}$/)
  return new URL(signInUrl).hash.slice(1)
}

describe('signing in to the console', () => {
  it('sets a cookie that scripts and other sites never get, and stores only a hash of it', async () => {
    const answer = await send('POST', '/console/session', { body: { token: platform.admin.token } })
    const cookie = answer.headers.getSetCookie()[0] ?? ''
    expect(cookie).toMatch(
      /^longshore-session-\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=86400$/,
    )
    expect(await answer.text()).not.toContain(platform.admin.token)
    const stored = await platform.db.read((tx) => tx.selectFrom('console_sessions').selectAll().execute())
    expect(JSON.stringify(stored)).not.toContain(cookieOf(answer).split('=')[1])
    expect((await user(cookieOf(answer))).status).toBe(200)
  })

  it('uses a __Host- cookie with Secure behind TLS, and no other name there', async () => {
    const headers = { 'x-forwarded-proto': 'https', origin: origin.replace('http:', 'https:') }
    const answer = await send('POST', '/console/session', { headers, body: { token: platform.admin.token } })
    const cookie = answer.headers.getSetCookie()[0] ?? ''
    expect(cookie).toMatch(/^__Host-longshore-session-\d+=.*; Secure$/)
    expect((await user(cookieOf(answer), headers)).status).toBe(200)
    expect((await user(await signIn(), headers)).status).toBe(401)
  })

  it('takes a link once, also when it is used twice at the same time', async () => {
    const code = await newCode()
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => send('POST', '/console/session', { body: { code } })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401])
    expect((await send('POST', '/console/session', { body: { code } })).status).toBe(401)
  })

  it('refuses a link after ten minutes', async () => {
    const code = await newCode()
    await clock.advance(10 * minuteMs)
    const answer = await send('POST', '/console/session', { body: { code } })
    expect(answer.status).toBe(401)
    expect(await answer.json()).toMatchObject({ error: 'Sign-in link is not valid' })
  })

  it('counts wrong codes against the address like wrong tokens: 429 after 100 of them, and good ones go on', async () => {
    const limited = await TestPlatform.start({
      clock,
      reconciles: false,
      consoleDir: platform.options.consoleDir ?? '',
      rateLimits: rateLimitsOf(null),
    })
    try {
      const post = (body: unknown) =>
        fetch(`${limited.apiUrl}/console/session`, {
          method: 'POST',
          headers: { 'longshore-console': '1', 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      const statuses = new Set<number>()
      for (let nth = 1; nth <= 99; nth += 1) statuses.add((await post({ code: `wrong-${nth}` })).status)
      statuses.add((await post({ token: 'lsu_wrong' })).status)
      expect([...statuses]).toEqual([401])
      const refused = await post({ code: 'wrong' })
      expect([refused.status, refused.headers.has('retry-after')]).toEqual([429, true])
      expect((await post({ token: 'lsu_wrong' })).status).toBe(429)
      const { code } = await limited.sessions.createLink(limited.admin.token)
      expect((await post({ code })).status).toBe(200)
    } finally {
      await limited.close()
    }
  })

  it('refuses a link whose token was revoked meanwhile', async () => {
    const { token, tokenId } = await newToken()
    const code = await newCode(token)
    await platform.request('DELETE', '/user/token', { token: platform.admin.token, input: { tokenId } })
    expect((await send('POST', '/console/session', { body: { code } })).status).toBe(401)
  })

  it('gives a new id at every sign-in, and ends the one before (session fixation)', async () => {
    const planted = `longshore-session-${new URL(origin).port}=${'x'.repeat(43)}`
    const first = await send('POST', '/console/session', {
      cookie: planted,
      body: { token: platform.admin.token },
    })
    expect(cookieOf(first)).not.toBe(planted)
    expect((await user(planted)).status).toBe(401)
    await send('POST', '/console/session', { cookie: cookieOf(first), body: { token: platform.admin.token } })
    expect((await user(cookieOf(first))).status).toBe(401)
  })

  it('refuses environment tokens, wrong tokens and odd bodies', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const made = await platform.request('POST', '/app-env/token', {
      token: platform.admin.token,
      input: { appEnvId },
    })
    expect((await send('POST', '/console/session', { body: made.json })).status).toBe(403)
    expect((await send('POST', '/console/session', { body: { token: 'lsu_wrong' } })).status).toBe(401)
    for (const body of [{}, { token: 1 }, { token: 'a\nb' }, { token: 'a', code: 'b' }, { user: 'a' }])
      expect((await send('POST', '/console/session', { body })).status, JSON.stringify(body)).toBe(400)
  })
})

describe('a console session', () => {
  let cookie = ''
  beforeEach(async () => {
    cookie = await signIn()
  })

  it('means nothing without the header of the console, nor to pages of another origin (CSRF)', async () => {
    const without = await fetch(`${origin}/api/public/v1/user`, { headers: { cookie } })
    expect(without.status).toBe(401)
    const port = Number(new URL(origin).port)
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: `http://127.0.0.1:${port + 1}` },
      { origin: `http://localhost:${port}` },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'longshore-console': '2' },
    ]
    for (const headers of foreign) {
      expect((await user(cookie, headers)).status, JSON.stringify(headers)).toBe(403)
      const planted = await send('POST', '/console/session', {
        headers,
        body: { token: platform.admin.token },
      })
      expect(planted.status, JSON.stringify(headers)).toBe(403)
      expect((await send('DELETE', '/console/sessions', { cookie, headers })).status).toBe(403)
    }
    expect((await user(cookie)).status).toBe(200)
  })

  it('is no token: its id in Authorization is refused', async () => {
    const answer = await send('GET', '/api/public/v1/user', {
      headers: { authorization: cookie.split('=')[1]! },
    })
    expect(answer.status).toBe(401)
  })

  it('ends four hours after its last use, and 24 hours after sign-in whatever happens', async () => {
    await clock.advance(4 * 60 * minuteMs - 1000)
    expect((await user(cookie)).status).toBe(200)
    for (let hours = 7; hours <= 22; hours += 3) {
      await clock.advance(3 * 60 * minuteMs)
      expect((await user(cookie)).status).toBe(200)
    }
    await clock.advance(3 * 60 * minuteMs)
    expect((await user(cookie)).status).toBe(401)
    const idle = await signIn()
    await clock.advance(4 * 60 * minuteMs)
    expect((await user(idle)).status).toBe(401)
    await forgetOldSessions(platform)
    expect(await platform.db.read((tx) => tx.selectFrom('console_sessions').selectAll().execute())).toEqual(
      [],
    )
  })

  it('ends at once when its token is revoked', async () => {
    const { token, tokenId } = await newToken()
    const other = await signIn(token)
    expect((await user(other)).status).toBe(200)
    await platform.request('DELETE', '/user/token', { token: platform.admin.token, input: { tokenId } })
    expect((await user(other)).status).toBe(401)
    expect((await user(cookie)).status).toBe(200)
  })

  it('signs out: here, or everywhere with links that are still open', async () => {
    const [second, code] = [await signIn(), await newCode()]
    const here = await send('DELETE', '/console/session', { cookie })
    expect(here.headers.getSetCookie()[0]).toMatch(/^longshore-session-\d+=; .*Max-Age=0$/)
    expect((await user(cookie)).status).toBe(401)
    expect((await user(second)).status).toBe(200)
    const third = await signIn()
    expect((await send('DELETE', '/console/sessions', { cookie: third })).status).toBe(200)
    expect((await user(second)).status).toBe(401)
    expect((await send('POST', '/console/session', { body: { code } })).status).toBe(401)
  })

  it('writes under the surface console, with its own checks on reads and writes', async () => {
    const input = { accountId: platform.accountId, name: 'from the console' }
    const made = await send('PATCH', '/api/public/v1/account', {
      cookie,
      body: input,
      headers: { 'longshore-surface': 'mcp' },
    })
    expect(made.status).toBe(200)
    const { entries } = await platform.admin.client.call(listAudit, { accountId: platform.accountId })
    expect(entries[0]).toMatchObject({ operation: 'update-account', surface: 'console' })
  })

  it('answers 304 to a read whose answer did not change', async () => {
    const tag = (await user(cookie)).headers.get('etag') ?? ''
    const again = await user(cookie, { 'if-none-match': tag })
    expect([again.status, await again.text()]).toEqual([304, ''])
    expect((await user(cookie, { 'if-none-match': '"other"' })).status).toBe(200)
  })
})

it('a user has at most 50 sessions and 20 links: one more ends the longest idle session, or the oldest link', async () => {
  const { token } = await platform.makeUser()
  const [idle, used] = [await signIn(token), await signIn(token)]
  const codes = [await newCode(token)]
  await clock.advance(2 * minuteMs)
  expect((await user(used)).status).toBe(200)
  for (let made = 2; made < 51; made += 1) await signIn(token)
  expect([(await user(idle)).status, (await user(used)).status]).toEqual([401, 200])

  for (let made = 0; made < 20; made += 1) codes.push(await newCode(token))
  const statusOf = async (code: string) => (await send('POST', '/console/session', { body: { code } })).status
  expect([await statusOf(codes[0]!), await statusOf(codes.at(-1)!)]).toEqual([401, 200])
})
