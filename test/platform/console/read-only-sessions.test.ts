import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
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

async function newCode(token = platform.admin.token): Promise<string> {
  const answer = await fetch(`${origin}/console/sign-in-link`, {
    method: 'POST',
    headers: { authorization: token },
  })
  const { signInUrl } = (await answer.json()) as { signInUrl: string }
  expect(signInUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/console\/sign-in#[\w-]{43}$/)
  return new URL(signInUrl).hash.slice(1)
}

it('read-only-token: the session of a read-only token ends itself only, in no way one of another token', async () => {
  const input = { name: 'reader', readOnly: true }
  const made = await platform.request('POST', '/user/tokens', { token: platform.admin.token, input })
  const [cookie, reader, code] = [await signIn(), await signIn(made.json.token), await newCode()]
  const refused = await send('DELETE', '/console/sessions', { cookie: reader })
  expect(refused.status).toBe(403)
  expect(await refused.json()).toMatchObject({ error: 'This token is read-only' })
  expect((await user(reader)).status).toBe(200)
  // Nor by as many sessions and links as one token has at most: its own oldest ones go.
  await clock.advance(minuteMs)
  for (let nth = 0; nth < 51; nth += 1) await signIn(made.json.token)
  for (let nth = 0; nth < 21; nth += 1) await newCode(made.json.token)
  expect((await user(cookie)).status).toBe(200)
  expect((await user(reader)).status).toBe(401)
  expect((await send('POST', '/console/session', { body: { code } })).status).toBe(200)
  const own = await signIn(made.json.token)
  expect((await send('DELETE', '/console/session', { cookie: own })).status).toBe(200)
  expect((await user(own)).status).toBe(401)
})
