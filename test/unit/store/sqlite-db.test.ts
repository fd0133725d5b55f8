import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { openSqliteDb } from '../../../src/store/sqlite/db.ts'
import { keysOf, put, storeSuite } from '../../../testkit/store/db-suite.ts'

describe('SQLite', () => {
  let dir: string
  const { store } = storeSuite({
    async open() {
      dir = await mkdtemp(path.join(tmpdir(), 'longshore-test-'))
      return openSqliteDb(path.join(dir, 'store.db'))
    },
    remove: () => rm(dir, { recursive: true }),
  })

  const pages = (limit: number) =>
    store().read((tx) => sql.raw(`PRAGMA max_page_count = ${limit}`).execute(tx))

  it('a full disk: writes are unavailable and change nothing, reads go on, and it comes back by itself', async () => {
    const db = store()
    await put(db, 'k1', 'one')
    await pages(1)
    const big = 'x'.repeat(200_000)
    for (let tries = 0; tries < 3; tries++) {
      await expect(put(db, `k-full-${tries}`, big)).rejects.toMatchObject({
        kind: 'unavailable',
        message: 'The store cannot be written',
        retryAfterSeconds: 5,
      })
    }
    await expect(
      db.rehearse((tx) => tx.insertInto('installation').values({ key: 'k', value: big }).execute()),
    ).rejects.toMatchObject({ kind: 'unavailable' })
    expect(await keysOf(db)).toEqual(['k1'])
    await pages(1_000_000)
    await put(db, 'k2', big)
    expect(await keysOf(db)).toEqual(['k1', 'k2'])
  })

  it('the event loop has its turn between statements that move much text', async () => {
    let rounds = 0
    const countRound = () => {
      rounds += 1
      next = setImmediate(countRound)
    }
    let next = setImmediate(countRound)
    const text = 'x'.repeat(300_000)
    await store().write(async (tx) => {
      for (const key of ['a', 'b', 'c'])
        await tx.insertInto('installation').values({ key, value: text }).execute()
      await tx.selectFrom('installation').selectAll().execute()
    })
    clearImmediate(next)
    expect(rounds).toBeGreaterThanOrEqual(4)
  })
})
