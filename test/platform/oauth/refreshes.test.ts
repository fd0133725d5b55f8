import { afterAll, beforeAll, expect, it } from 'vitest'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { Person } from '../../../testkit/oauth/person.ts'
import { RawClient } from '../../../testkit/oauth/raw-client.ts'
import { callback } from '../../../testkit/oauth/sign-in.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const clock = new TestClock()
let platform: TestPlatform
let person: Person
let client: RawClient
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false, clock, oauth: {}, consoleDir: 'dist/console' })
  person = await Person.signIn(platform, platform.admin.token)
  client = await RawClient.register(platform.apiUrl, callback)
})
afterAll(() => platform.close())

interface Tokens {
  access_token: string
  refresh_token: string
  expires_in: number
  error?: string
}
const signIn = async () => {
  const code = (await person.approves(client.url())).searchParams.get('code')!
  return (await (await client.exchange(code)).json()) as Tokens
}
const refresh = async (token: string) => (await (await client.refresh(token)).json()) as Tokens
const statusOf = ({ access_token }: Tokens) => client.statusOf(access_token)

it('two windows of a host that use one refresh token get the same new pair, for 30 seconds', async () => {
  const first = await signIn()
  const [one, other] = await Promise.all([refresh(first.refresh_token), refresh(first.refresh_token)])
  expect(other).toEqual(one)
  await clock.advance(20_000)
  const late = await refresh(first.refresh_token)
  expect(late).toEqual({ ...one, expires_in: one.expires_in - 20 })
  expect(await statusOf(late)).toBe(200)

  // A window that is one refresh behind the other gets the newest pair, so that both go on.
  const next = await refresh(one.refresh_token)
  expect(next.refresh_token).not.toBe(one.refresh_token)
  expect((await refresh(first.refresh_token)).refresh_token).toBe(next.refresh_token)
})

it('a used refresh token revokes everything of its sign-in after that', async () => {
  const first = await signIn()
  const second = await refresh(first.refresh_token)
  await clock.advance(30_000)
  expect(await statusOf(second)).toBe(200)
  expect((await refresh(first.refresh_token)).error).toBe('invalid_grant')
  expect(await statusOf(second)).toBe(401)
  expect((await refresh(second.refresh_token)).error).toBe('invalid_grant')
})

it('insufficient-scope: a used refresh token revokes also in the 30 seconds after such a refusal', async () => {
  const first = await signIn()
  const second = await refresh(first.refresh_token)
  await clock.advance(31_000)
  expect(await client.statusOf(second.access_token, 'delete-app', { appId: 'app_x' })).toBe(403)
  expect((await refresh(first.refresh_token)).error).toBe('invalid_grant')
  expect(await statusOf(second)).toBe(401)
})

it('a refresh for another resource does not spend the token', async () => {
  const first = await signIn()
  const wrong = await client.refresh(first.refresh_token, { resource: 'https://other.example.com' })
  expect(wrong.status).toBe(400)
  expect((await refresh(first.refresh_token)).error).toBeUndefined()
})

it('stores the next pair only sealed with the token that was used', async () => {
  const first = await signIn()
  const second = await refresh(first.refresh_token)
  const rows = await platform.db.read((tx) => tx.selectFrom('oauth_secrets').selectAll().execute())
  const text = JSON.stringify(rows)
  expect(rows.some(({ successor }) => successor !== null)).toBe(true)
  for (const { access_token, refresh_token } of [first, second]) {
    expect(text).not.toContain(access_token)
    expect(text).not.toContain(refresh_token)
  }
})
