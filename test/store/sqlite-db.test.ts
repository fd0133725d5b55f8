import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Db } from '../../src/store/db.ts'
import { openSqliteDb } from '../../src/store/sqlite-db.ts'

let dir: string
let db: Db
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'longshore-test-'))
  db = await openSqliteDb(path.join(dir, 'store.db'))
})
afterEach(async () => {
  await db.close()
  await rm(dir, { recursive: true })
})

const pages = (limit: number) => db.read((tx) => sql.raw(`PRAGMA max_page_count = ${limit}`).execute(tx))
const put = (key: string, value: string) =>
  db.write((tx) => tx.insertInto('installation').values({ key, value }).execute())
const keys = async () =>
  (
    await db.read((tx) =>
      tx.selectFrom('installation').select('key').where('key', 'like', 'k%').orderBy('key').execute(),
    )
  ).map(({ key }) => key)

it('a full disk: writes are unavailable and change nothing, reads go on, and it comes back by itself', async () => {
  await put('k1', 'one')
  await pages(1)
  const big = 'x'.repeat(200_000)
  for (let tries = 0; tries < 3; tries++) {
    await expect(put(`k-full-${tries}`, big)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'The store cannot be written',
      retryAfterSeconds: 5,
    })
  }
  await expect(
    db.rehearse((tx) => tx.insertInto('installation').values({ key: 'k', value: big }).execute()),
  ).rejects.toMatchObject({ kind: 'unavailable' })
  expect(await keys()).toEqual(['k1'])
  await pages(1_000_000)
  await put('k2', big)
  expect(await keys()).toEqual(['k1', 'k2'])
})

it('rolls back whatever a failed write did', async () => {
  await expect(
    db.write(async (tx) => {
      await tx.insertInto('installation').values({ key: 'k1', value: '1' }).execute()
      throw new Error('mine')
    }),
  ).rejects.toThrow('mine')
  expect(await keys()).toEqual([])
})
