import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { Db } from '../../../src/store/db.ts'
import { openPostgresDb } from '../../../src/store/postgres/db.ts'
import { increment, keysIn, keysOf, put, storeSuite } from '../../../testkit/store/db-suite.ts'
import { noPostgres, PostgresServer } from '../../../testkit/store/postgres-server.ts'

const poolSize = 10

describe.skipIf(noPostgres)(`PostgreSQL${noPostgres ? `: left out, ${noPostgres}` : ''}`, () => {
  let server: PostgresServer
  let database: Awaited<ReturnType<PostgresServer['createDatabase']>>
  const { store } = storeSuite({
    async prepare() {
      server = await PostgresServer.start()
    },
    async open() {
      database = await server.createDatabase()
      return openPostgresDb({ url: database.url, poolSize })
    },
    remove: async () => {
      await server.dropDatabase(database.name)
    },
    end: () => server.stop(),
  })
  const another = () => openPostgresDb({ url: database.url, poolSize })

  it('a read is one snapshot and cannot write', async () => {
    const db = store()
    await put(db, 'k1', 'one')
    const seen = await db.read(async (tx) => {
      const before = await keysIn(tx)
      await put(db, 'k2', 'two')
      return [before, await keysIn(tx)]
    })
    expect(seen).toEqual([['k1'], ['k1']])
    await expect(
      db.read((tx) => tx.insertInto('installation').values({ key: 'k3', value: '' }).execute()),
    ).rejects.toThrow()
    expect(await keysOf(db)).toEqual(['k1', 'k2'])
  })

  it('two programs on one database lose no update and hold no lock forever', async () => {
    const other = await another()
    const writers = Array.from({ length: 40 }, (_, index) =>
      (index % 2 ? other : store()).write((tx) => increment(tx, 'k')),
    )
    const results = await Promise.all(writers)
    expect(new Set(results).size).toBe(40)
    await other.close()
  })

  it('a deadlock is resolved by running one of the two again', async () => {
    const db = store()
    const other = await another()
    await put(db, 'ka', '0')
    await put(db, 'kb', '0')
    const both = (on: Db, first: string, second: string) =>
      on.write(async (tx) => {
        for (const key of [first, second]) {
          await tx
            .updateTable('installation')
            .set({ value: sql`(value::int + 1)::text` })
            .where('key', '=', key)
            .execute()
        }
      })
    await Promise.all([
      ...Array.from({ length: 2 }, () => both(db, 'ka', 'kb')),
      ...Array.from({ length: 2 }, () => both(other, 'kb', 'ka')),
    ])
    const rows = await db.read((tx) =>
      tx.selectFrom('installation').select('value').where('key', 'like', 'k%').execute(),
    )
    expect(rows.map(({ value }) => value)).toEqual(['4', '4'])
    await other.close()
  })

  it('a statement that failed and was ignored does not make a write look stored', async () => {
    const db = store()
    const write = db.write(async (tx) => {
      await tx.insertInto('installation').values({ key: 'k1', value: '1' }).execute()
      await sql`select 1 / 0`.execute(tx).catch(() => {})
    })
    await expect(write).rejects.toThrow('nothing was stored')
    expect(await keysOf(db)).toEqual([])
  })

  it('refuses the character U+0000 as bad input', async () => {
    await expect(put(store(), 'k\0', '')).rejects.toMatchObject({ kind: 'invalid' })
  })

  it('a pool with no free connection answers unavailable', async () => {
    const db = await openPostgresDb({ url: database.url, poolSize: 1 })
    let free = () => {}
    const held = db.read(() => new Promise<void>((resolve) => (free = resolve)))
    await expect(keysOf(db)).rejects.toMatchObject({ kind: 'unavailable' })
    free()
    await held
    expect(await keysOf(db)).toEqual([])
    await db.close()
  })

  it('a full disk at the server fails the write, leaves nothing of it, and no read', async () => {
    const db = store()
    // What the server reports when a file cannot grow (SQLSTATE 53100), on the second statement.
    await server.query(
      database.name,
      `create function disk_full() returns trigger language plpgsql as $$ begin
         if new.key = 'k2' then raise exception 'could not extend file: No space left on device' using errcode = '53100'; end if;
         return new; end $$;
       create trigger disk_full before insert on installation for each row execute function disk_full()`,
    )
    const write = db.write(async (tx) => {
      for (const key of ['k1', 'k2']) await tx.insertInto('installation').values({ key, value: '' }).execute()
    })
    await expect(write).rejects.toMatchObject({ kind: 'unavailable', message: 'The store is not available' })
    expect(await keysOf(db)).toEqual([])
    await put(db, 'k3', 'space again')
    expect(await keysOf(db)).toEqual(['k3'])
  })

  it('a connection that the server ends is replaced; its transaction is unavailable, not lost silently', async () => {
    const db = store()
    const write = db.write(async (tx) => {
      await tx.insertInto('installation').values({ key: 'k1', value: '1' }).execute()
      await server.query(
        'postgres',
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database.name}'`,
      )
    })
    await expect(write).rejects.toMatchObject({ kind: 'unavailable' })
    await put(db, 'k2', '2')
    expect(await keysOf(db)).toEqual(['k2'])
  })

  it('text columns order by bytes and integers have 64 bits, in every table', async () => {
    const columns = await store().read((tx) =>
      sql<{ type: string; collation: string | null }>`
        select data_type as type, collation_name as collation from information_schema.columns
        where table_schema = current_schema()`.execute(tx),
    )
    const kinds = new Set(columns.rows.map(({ type, collation }) => `${type} ${collation ?? ''}`.trim()))
    expect([...kinds].sort()).toEqual(['bigint', 'double precision', 'text C'])
  })
})
