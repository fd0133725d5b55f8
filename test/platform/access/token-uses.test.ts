import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AppError } from '../../../src/errors.ts'
import type { Db } from '../../../src/store/db.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const minuteMs = 60_000
let clock: TestClock
let platform: TestPlatform
let writes: Promise<unknown>[]
let isAway: boolean

/** Collects the writes, and fails them while the store is away. */
function watched(db: Db): Db {
  return {
    read: (work) => db.read(work),
    rehearse: (work) => db.rehearse(work),
    close: () => db.close(),
    write(work) {
      const away = new AppError('unavailable', 'The store cannot be written')
      const write = isAway ? Promise.reject(away) : db.write(work)
      writes.push(write)
      return write
    },
  }
}

beforeEach(async () => {
  clock = new TestClock()
  isAway = false
  writes = []
  platform = await TestPlatform.start({ clock, reconciles: false, wrapDb: watched })
})
afterEach(() => platform.close())

const read = async (token: string) =>
  expect((await platform.request('GET', '/user', { token })).status).toBe(200)

async function makeToken(): Promise<{ token: string; tokenId: string }> {
  const { token } = platform.admin
  const made = await platform.request('POST', '/user/tokens', { token, input: { name: 'agent' } })
  writes = []
  return made.json
}

async function lastUse(tokenId: string): Promise<string | null> {
  const { json } = await platform.request('GET', '/user/tokens', { token: platform.admin.token })
  return json.tokens.find((one: { tokenId: string }) => one.tokenId === tokenId).lastUsedAt
}

/** Moves the clock on, and waits until what fell due is written. Resolves to the number of writes. */
async function advance(ms: number): Promise<number> {
  writes = []
  await clock.advance(ms)
  await Promise.allSettled(writes)
  await new Promise((resolve) => setImmediate(resolve))
  return writes.length
}

async function storedUse(tokenId: string): Promise<string | null> {
  const rows = await platform.db.read((tx) => tx.selectFrom('token_uses').selectAll().execute())
  return rows.find((row) => row.token_id === tokenId)?.used_at ?? null
}

describe('the last use of a token', () => {
  it('is listed at once, and stored with one write a minute however often tokens are used', async () => {
    const [{ token, tokenId }, other] = [await makeToken(), await makeToken()]
    expect(await lastUse(tokenId)).toBeNull()
    for (let round = 0; round < 5; round += 1) {
      await read(token)
      expect(await advance(10_000)).toBe(0)
    }
    await read(other.token)
    const usedAt = new Date(clock.wallMs() - 10_000).toISOString()
    expect([await lastUse(tokenId), await storedUse(tokenId)]).toEqual([usedAt, null])
    expect(await advance(10_000)).toBe(1)
    expect([await lastUse(tokenId), await storedUse(tokenId)]).toEqual([usedAt, usedAt])
    expect(await storedUse(other.tokenId)).not.toBeNull()
    // The list above was a use of the admin's token; after that no token is used, so nothing is written.
    expect(await advance(minuteMs)).toBe(1)
    expect(await advance(minuteMs)).toBe(0)
    await read(token)
    const again = platform.now
    await advance(minuteMs)
    expect(await storedUse(tokenId)).toBe(again)
  })

  it('survives a restart, and counts uses over the console, which act with the token', async () => {
    const { token, tokenId } = await makeToken()
    const { sessionId } = await platform.sessions.signIn({ token })
    await platform.runner.authenticate(sessionId, { address: '', reads: true, credential: 'session' })
    const usedAt = platform.now
    await platform.restart(async () => expect(await storedUse(tokenId)).toBe(usedAt))
    await clock.advance(1_000)
    expect(await lastUse(tokenId)).toBe(usedAt)
  })

  it('never fails a request or the stop: while the store is away it waits for the next minute', async () => {
    const { token, tokenId } = await makeToken()
    isAway = true
    await read(token)
    const usedAt = platform.now
    expect(await advance(minuteMs)).toBe(1)
    await read(platform.admin.token)
    expect([await lastUse(tokenId), await storedUse(tokenId)]).toEqual([usedAt, null])
    isAway = false
    await advance(minuteMs)
    expect(await storedUse(tokenId)).toBe(usedAt)
    await read(token)
    isAway = true
    await platform.restart()
    expect(await storedUse(tokenId)).toBe(usedAt)
  })

  it('goes with the token, also when the token is revoked before its last use is stored', async () => {
    const [stored, noted] = [await makeToken(), await makeToken()]
    await read(stored.token)
    await advance(minuteMs)
    expect(await storedUse(stored.tokenId)).not.toBeNull()
    await read(noted.token)
    for (const { tokenId } of [stored, noted]) {
      await platform.request('DELETE', '/user/token', { token: platform.admin.token, input: { tokenId } })
    }
    await advance(minuteMs)
    expect([await storedUse(stored.tokenId), await storedUse(noted.tokenId)]).toEqual([null, null])
  })

  it('of another user stays when a caller names that token', async () => {
    const { token, tokenId } = await makeToken()
    await read(token)
    await advance(minuteMs)
    const user = await platform.makeUser()
    const refused = await platform.request('DELETE', '/user/token', { token: user.token, input: { tokenId } })
    expect(refused.status).toBe(404)
    expect(await storedUse(tokenId)).not.toBeNull()
  })
})
