import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { timestamp } from '../../../src/clock.ts'
import { createOAuthClients } from '../../../src/oauth/clients.ts'
import { insertOAuthClient } from '../../../src/store/repositories/oauth-clients.ts'
import type { Person } from '../../../testkit/oauth/person.ts'
import { type RawClient, registerAt } from '../../../testkit/oauth/raw-client.ts'
import { callback, startSignIn } from '../../../testkit/oauth/sign-in.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

describe('floods of strangers and clients', () => {
  let platform: TestPlatform
  let person: Person
  let client: RawClient
  beforeAll(async () => {
    ;({ platform, person, client } = await startSignIn())
  })
  afterAll(() => platform.close())

  const errorOf = async (answer: Promise<Response>) => {
    const { status } = await answer
    const { error } = (await (await answer).json()) as { error: string }
    return `${status} ${error}`
  }

  it('lets strangers open no write transaction, whatever codes and tokens they send', async () => {
    const from = { redirect_uri: callback, client_id: client.clientId }
    const cookie = `longshore-session-${new URL(platform.apiUrl).port}=${'x'.repeat(43)}`
    const page = { cookie, 'longshore-console': '1', origin: platform.apiUrl }
    let writes = 0
    const write = platform.db.write.bind(platform.db)
    const counted = vi.spyOn(platform.db, 'write').mockImplementation((work) => {
      writes += 1
      return write(work)
    })
    try {
      expect(await errorOf(client.exchange('lsc_unknown'))).toBe('400 invalid_grant')
      expect(await errorOf(client.refresh('lsr_unknown'))).toBe('400 invalid_grant')
      expect((await client.post('/oauth/revoke', { token: 'lsr_unknown', ...from })).status).toBe(200)
      const headers = { ...page, 'content-type': 'application/json' }
      const signIn = { method: 'POST', headers, body: JSON.stringify({ code: 'unknown' }) }
      expect((await fetch(`${platform.apiUrl}/console/session`, signIn)).status).toBe(401)
      const signOut = { method: 'DELETE', headers: page }
      expect((await fetch(`${platform.apiUrl}/console/session`, signOut)).status).toBe(200)
      expect(writes).toBe(0)
    } finally {
      counted.mockRestore()
    }
  })

  it('limits the refreshes of one sign-in', async () => {
    const code = (await person.approves(client.url())).searchParams.get('code')!
    let token = ((await (await client.exchange(code)).json()) as { refresh_token: string }).refresh_token
    const statuses = []
    for (let n = 0; n < 25; n += 1) {
      const answer = await client.refresh(token)
      statuses.push(answer.status)
      if (answer.status === 200) token = ((await answer.json()) as { refresh_token: string }).refresh_token
    }
    expect(statuses.slice(0, 20)).toEqual(Array(20).fill(200))
    expect(statuses.at(-1)).toBe(429)
  })

  it('limits registrations of one address', async () => {
    const other = await TestPlatform.start({ reconciles: false, oauth: {} })
    try {
      const statuses = []
      for (let n = 0; n < 25; n += 1) {
        statuses.push((await registerAt(other.apiUrl, { redirect_uris: [callback] })).status)
      }
      expect(statuses.slice(0, 20)).toEqual(Array(20).fill(201))
      expect(statuses.at(-1)).toBe(429)
    } finally {
      await other.close()
    }
  })

  it('takes registrations although strangers filled the table', async () => {
    const { db, clock } = platform
    const fetchDocument = () => Promise.reject(new Error('not used'))
    const register = () =>
      createOAuthClients({ db, clock, fetchDocument }).register({ redirect_uris: [callback] }, '203.0.113.1')
    const at = (minutes: number) => timestamp(clock.wallMs() - minutes * 60_000)
    await db.write(async (tx) => {
      for (let n = 0; n < 1_000; n += 1)
        await insertOAuthClient(
          tx,
          { clientId: `cli_filler${n}`, name: 'x', redirectUris: [callback] },
          at(20),
        )
    })
    expect((await register()).redirectUris).toEqual([callback])
    // A person may still be about to sign in with these.
    await db.write((tx) =>
      tx
        .updateTable('oauth_clients')
        .set({ created_at: at(1) })
        .execute(),
    )
    await expect(register()).rejects.toThrow(/Too many/)
    // Used once, and allowed nothing since.
    await db.write((tx) =>
      tx
        .updateTable('oauth_clients')
        .set({ used_at: at(20) })
        .execute(),
    )
    expect((await register()).redirectUris).toEqual([callback])
    await db.write((tx) => tx.deleteFrom('oauth_clients').where('client_id', 'like', 'cli_filler%').execute())
  })
})
