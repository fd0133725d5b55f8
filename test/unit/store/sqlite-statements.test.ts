import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { sql } from 'kysely'
import { afterAll, expect, it } from 'vitest'
import { openSqliteDb } from '../../../src/store/sqlite/db.ts'

const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-statements-'))
const file = path.join(dir, 'longshore.db')
const opened = [await openSqliteDb(file), await openSqliteDb(file)] as const
afterAll(async () => {
  for (const db of opened) await db.close()
  rmSync(dir, { recursive: true })
})

it('a statement that is kept sees a change of the schema by another program, and goes on after it failed', async () => {
  const [db, other] = opened
  await db.write(async (tx) => {
    await sql`create table kept (id integer primary key)`.execute(tx)
  })
  const insert = () => db.write((tx) => sql`insert into kept (id) values (1)`.execute(tx))
  const rows = () => db.read(async (tx) => (await sql`select * from kept`.execute(tx)).rows)
  await insert()
  expect(await rows()).toEqual([{ id: 1 }])
  await other.write((tx) => sql`alter table kept add column name text default 'x'`.execute(tx))
  expect(await rows()).toEqual([{ id: 1, name: 'x' }])
  await expect(insert()).rejects.toThrow(/UNIQUE/)
  await db.write((tx) => sql`delete from kept`.execute(tx))
  await insert()
  expect(await rows()).toEqual([{ id: 1, name: 'x' }])
})

it('a transaction under way when its database closes fails, and the process goes on', async () => {
  const db = await openSqliteDb(path.join(dir, 'closed.db'))
  await expect(
    db.write(async (tx) => {
      await sql`create table lost (id integer)`.execute(tx)
      await db.close()
      await sql`insert into lost (id) values (1)`.execute(tx)
    }),
  ).rejects.toThrow()
})

it('a boolean is refused, which libsql would end the process for', async () => {
  await expect(opened[0].read((tx) => sql`select ${true} as it`.execute(tx))).rejects.toThrow('no booleans')
})
