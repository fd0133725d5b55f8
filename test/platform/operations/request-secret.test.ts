import { afterAll, beforeAll, expect, it } from 'vitest'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const canary = 'sk_live_canary_9f8e7d6c'
let platform: TestPlatform
const clock = new TestClock()

beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false, clock })
})
afterAll(() => platform.close())

async function requested(token = platform.admin.token, variable = 'STRIPE_KEY') {
  const { appEnvId } = await platform.makeEnvironment()
  const input = { appEnvId, variable }
  const answer = await platform.request('POST', '/app-env/secret-request', { token, input })
  return { appEnvId, answer, url: answer.json.url as string }
}

function submit(url: string, value: string): Promise<Response> {
  return fetch(url, { method: 'POST', body: new URLSearchParams({ value }) })
}

async function variablesOf(appEnvId: string) {
  const input = { appEnvId, decrypt: true }
  const { json } = await platform.request('GET', '/app-env', { token: platform.admin.token, input })
  return json.envVars as { name: string; value: string; isSecret: boolean }[]
}

it('a person enters a secret on a page without script, and no other caller sees it', async () => {
  const { appEnvId, url, answer } = await requested()
  expect(answer.json).toEqual({
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/console\/secret\/[\w-]{43}$/),
    expiresAt: new Date(clock.wallMs() + 15 * 60_000).toISOString(),
  })
  const page = await fetch(url)
  const html = await page.text()
  const read = { token: platform.admin.token, input: { appEnvId } }
  const { cliEnvName } = (await platform.request('GET', '/app-env', read)).json
  expect(html).toContain(`<code>${cliEnvName}</code>`)
  expect(html).toContain('STRIPE_KEY')
  expect(html).not.toContain('<script')
  expect(Object.fromEntries(page.headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
    'x-frame-options': 'DENY',
    'content-security-policy': expect.stringMatching(/^default-src 'none'; style-src 'sha256-/),
  })

  // Opening the page again, as previews of links do, does not use it up.
  expect((await fetch(url)).status).toBe(200)
  const saved = await submit(url, `${canary}\r\nsecond line`)
  expect(saved.status).toBe(200)
  expect(await saved.text()).not.toContain(canary)
  expect(await variablesOf(appEnvId)).toMatchObject([
    { name: 'STRIPE_KEY', value: `${canary}\nsecond line`, isSecret: true },
  ])
})

it('the link works once, and at most one of two submissions at once is saved', async () => {
  const { appEnvId, url } = await requested()
  const statuses = await Promise.all([submit(url, 'first'), submit(url, 'second')])
  expect(statuses.map(({ status }) => status).sort()).toEqual([200, 404])
  expect((await fetch(url)).status).toBe(404)
  expect((await submit(url, 'third')).status).toBe(404)
  expect((await variablesOf(appEnvId))[0]!.value).toMatch(/^(?:first|second)$/)
})

it('a form of thousands of fields, which takes long to parse, is refused', async () => {
  const { url } = await requested()
  const fields = 'a&'.repeat(100_000)
  const refused = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `${fields}value=x`,
  })
  expect(refused.status).toBe(400)
  expect(await refused.text()).toContain('Too many fields')
  expect((await submit(url, 'x')).status).toBe(200)
})

it('a refused value does not use up the link', async () => {
  const { appEnvId, url } = await requested()
  const set = [{ name: 'STRIPE_KEY', value: 'before', isSecret: true }]
  await platform.request('PATCH', '/app-env/variables', {
    token: platform.admin.token,
    input: { appEnvId, set },
  })
  const empty = await submit(url, '')
  expect(empty.status).toBe(400)
  expect(await empty.text()).toContain('This value cannot be saved')
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(400)
  for (const mask of ['***SECRET***', ' ***SECRET*** ', 'a***SECRET***'])
    expect((await submit(url, mask)).status, mask).toBe(400)
  expect((await submit(url, 'good')).status).toBe(200)
  expect((await variablesOf(appEnvId))[0]!.value).toBe('good')
})

it('expires after 15 minutes, and unknown codes look the same', async () => {
  const { url, appEnvId } = await requested()
  await clock.advance(15 * 60_000)
  const late = await submit(url, canary)
  const unknown = await submit(url.replace(/[\w-]{43}$/, 'x'.repeat(43)), canary)
  expect([late.status, unknown.status]).toEqual([404, 404])
  expect(await late.text()).toBe(await unknown.text())
  expect(await variablesOf(appEnvId)).toEqual([])
})

it('acts with the permissions that the requester has when the value is entered', async () => {
  const member = await platform.makeUser()
  const mine = await requested(member.token)
  await platform.request('DELETE', '/member', {
    token: platform.admin.token,
    input: { accountId: platform.accountId, membershipId: member.membershipId },
  })
  const refused = await submit(mine.url, canary)
  expect(refused.status).toBeGreaterThanOrEqual(400)
  expect(await variablesOf(mine.appEnvId)).toEqual([])

  const stranger = await platform.makeUser({ accountId: await platform.makeAccount('Other') })
  expect((await requested(stranger.token)).answer.status).toBe(404)
})

it('the audit log names the variable and the surface, never the value or the link', async () => {
  const { appEnvId, url } = await requested()
  await submit(url, canary)
  const input = { accountId: platform.accountId, limit: 200 }
  const { json } = await platform.request('GET', '/audit', { token: platform.admin.token, input })
  const [entry] = json.entries
  expect(entry).toMatchObject({
    operation: 'update-app-env-variables',
    surface: 'link',
    objectId: appEnvId,
    principal: { id: platform.admin.userId },
  })
  expect(JSON.stringify(entry)).toContain('STRIPE_KEY')
  expect(JSON.stringify(json)).not.toContain(canary)
  expect(JSON.stringify(json)).not.toContain(url.split('/').at(-1))
})

it('the code of a link is no token', async () => {
  const { url, appEnvId } = await requested()
  const token = url.split('/').at(-1)!
  const { status } = await platform.request('GET', '/app-env', { token, input: { appEnvId } })
  expect(status).toBe(401)
})

it('limits open links of an environment', async () => {
  const { appEnvId } = await requested()
  const ask = () =>
    platform.request('POST', '/app-env/secret-request', {
      token: platform.admin.token,
      input: { appEnvId, variable: 'KEY' },
    })
  for (let open = 1; open < 20; open++) expect((await ask()).status).toBe(200)
  expect((await ask()).json).toMatchObject({ error: 'Too many open links' })
})

it('the tool tells the agent to hand the link over', async () => {
  const session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
  const { appEnvId } = await platform.makeEnvironment()
  const { text } = await session.call('request-secret', { appEnvId, variable: 'KEY' })
  await session.close()
  expect(text).toMatch(/^Give the person this link; on it they enter KEY, which you never see: http/)
})
