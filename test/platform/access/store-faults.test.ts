import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnv } from '../../../src/contract/app-envs.ts'
import { listUserTokens } from '../../../src/contract/users.ts'
import { type Fault, FaultyDb } from '../../../testkit/fakes/faulty-db.ts'
import { Person } from '../../../testkit/oauth/person.ts'
import { RawClient, registerAt } from '../../../testkit/oauth/raw-client.ts'
import { failEachWrite } from '../../../testkit/platform/fault-fixture.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const redirectUri = 'https://host.example.com/callback'
const secret = 'sk_live_canary_9f8e7d6c'
let platform: TestPlatform
let person: Person
let db!: FaultyDb

beforeAll(async () => {
  platform = await TestPlatform.start({
    reconciles: false,
    oauth: {},
    consoleDir: 'dist/console',
    wrapDb: (real) => {
      db = new FaultyDb(real)
      return db
    },
  })
  person = await Person.signIn(platform, platform.admin.token)
})
afterAll(() => platform.close())

/** A client that gets a 503 sends the same once more. */
async function sent(send: () => Promise<Response>): Promise<Response> {
  const answer = await send()
  if (answer.status !== 503) return answer
  expect(answer.headers.get('retry-after')).not.toBeNull()
  return send()
}

const agents = async () =>
  (await platform.admin.client.call(listUserTokens, {})).tokens.filter(({ agent }) => agent !== null)

interface Tokens {
  access_token: string
  refresh_token: string
}

/** From the start, once more if a step says that it was done before: its answer was lost. */
async function signIn(client: RawClient): Promise<Tokens> {
  for (let attempt = 1; ; attempt += 1) {
    const code = (await approved(client)).searchParams.get('code')!
    const answer = await sent(() => client.exchange(code))
    if (answer.status === 200) return (await answer.json()) as Tokens
    expect(await answer.json()).toMatchObject({ error: 'invalid_grant' })
    expect(attempt).toBe(1)
  }
}

async function approved(client: RawClient): Promise<URL> {
  try {
    return await person.approves(client.url())
  } catch (error) {
    expect(String(error)).toContain('503')
    return person.approves(client.url())
  }
}

/** An agent signs in, renews its token and signs out. */
async function agentScenario(): Promise<void> {
  const registered = await sent(() =>
    registerAt(platform.apiUrl, { redirect_uris: [redirectUri], client_name: 'Raw client' }),
  )
  const { client_id } = (await registered.json()) as { client_id: string }
  const client = new RawClient(platform.apiUrl, client_id, redirectUri)
  let tokens = await signIn(client)
  expect(await client.statusOf(tokens.access_token)).toBe(200)
  const renewed = await sent(() => client.refresh(tokens.refresh_token))
  // A refresh token that comes twice revokes the whole sign-in, so the person signs in again.
  tokens = renewed.status === 200 ? ((await renewed.json()) as Tokens) : await signIn(client)
  expect(await client.statusOf(tokens.access_token)).toBe(200)
  expect(await agents()).toHaveLength(1)
  const revoked = await sent(() =>
    client.post('/oauth/revoke', { token: tokens.refresh_token, client_id: client.clientId }),
  )
  expect(revoked.status).toBe(200)
  expect(await client.statusOf(tokens.access_token)).toBe(401)
  expect(await agents()).toEqual([])
}

/** An agent asks for a secret, which a person enters on the page. */
async function secretScenario(): Promise<void> {
  const { appEnvId } = await platform.makeEnvironment({
    by: { call: (row, input) => retried(() => platform.admin.client.call(row, input)) },
  })
  const request = () =>
    platform.request('POST', '/app-env/secret-request', {
      token: platform.admin.token,
      input: { appEnvId, variable: 'STRIPE_KEY' },
    })
  let answer = await request()
  if (answer.status === 503) answer = await request()
  const { url } = answer.json
  const submitted = await sent(() =>
    fetch(url, { method: 'POST', body: new URLSearchParams({ value: secret }) }),
  )
  // 404 is the page of a link that was used: the first answer was lost.
  expect(db.fault === 'answer-lost' ? [200, 404] : [200]).toContain(submitted.status)
  expect((await fetch(url)).status).toBe(404)
  const read = () => platform.admin.client.call(getAppEnv, { appEnvId, decrypt: true })
  const { envVars } = await retried(read)
  expect(envVars).toMatchObject([{ name: 'STRIPE_KEY', value: secret, isSecret: true }])
}

async function retried<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if ((error as { kind?: unknown }).kind !== 'unavailable') throw error
    return call()
  }
}

describe.each<Fault>(['rolled-back', 'answer-lost'])('a store of which one write fails (%s)', (fault) => {
  it.each([
    ['sign-in of an agent', agentScenario],
    ['link for a secret', secretScenario],
  ])('leaves no half %s', async (_name, scenario) => {
    const failed = await failEachWrite(db, fault, scenario)
    expect(failed.size).toBeGreaterThan(2)
  })
})
