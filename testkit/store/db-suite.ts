import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Db, Tx } from '../../src/store/db.ts'

/** One kind of store under test. */
interface StoreUnderTest {
  /** Before all tests. */
  prepare?(): Promise<void>
  /** A new, empty store, with the tables of Longshore. */
  open(): Promise<Db>
  /** After each test, the store closed. */
  remove(): Promise<void>
  /** After all tests. */
  end?(): Promise<void>
}

export const put = (db: Db, key: string, value: string) =>
  db.write((tx) => tx.insertInto('installation').values({ key, value }).execute())

export const keysOf = (db: Db) =>
  db.read(async (tx) => (await keysIn(tx)).filter((key) => key.startsWith('k')))

export async function keysIn(tx: Tx): Promise<string[]> {
  const rows = await tx.selectFrom('installation').select('key').orderBy('key').execute()
  return rows.map(({ key }) => key)
}

/** Adds 1 to a number with a separate read and write. */
export async function increment(tx: Tx, key: string): Promise<number> {
  const row = await tx.selectFrom('installation').select('value').where('key', '=', key).executeTakeFirst()
  // Lets other writers run between the read and the write.
  await new Promise((resolve) => setImmediate(resolve))
  const value = Number(row?.value ?? 0) + 1
  await tx
    .insertInto('installation')
    .values({ key, value: String(value) })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value: String(value) }))
    .execute()
  return value
}

/** Guarantees of every store. `store()` is the one of the running test. */
export function storeSuite(under: StoreUnderTest): { store: () => Db } {
  let db: Db
  beforeAll(async () => under.prepare?.())
  afterAll(async () => under.end?.())
  beforeEach(async () => {
    db = await under.open()
  })
  afterEach(async () => {
    await db.close()
    await under.remove()
  })

  it('stores a write completely, and a failed one not at all', async () => {
    await put(db, 'k1', 'one')
    const failing = db.write(async (tx) => {
      await tx.insertInto('installation').values({ key: 'k2', value: '2' }).execute()
      throw new Error('mine')
    })
    await expect(failing).rejects.toThrow('mine')
    expect(await keysOf(db)).toEqual(['k1'])
  })

  it('a dry run returns the result and stores nothing', async () => {
    const seen = await db.rehearse(async (tx) => {
      await tx.insertInto('installation').values({ key: 'k1', value: '1' }).execute()
      return keysIn(tx)
    })
    expect(seen).toEqual(['k1'])
    expect(await keysOf(db)).toEqual([])
  })

  it('a read sees one snapshot, whatever is written meanwhile', async () => {
    await put(db, 'k1', 'before')
    let written: Promise<unknown> = Promise.resolve()
    const seen = await db.read(async (tx) => {
      const first = await keysIn(tx)
      written = put(db, 'k2', 'meanwhile')
      // A store may let the write wait for the read, so only a while.
      await Promise.race([written, new Promise((resolve) => setTimeout(resolve, 100))])
      return [first, await keysIn(tx)]
    })
    await written
    expect(seen[1]).toEqual(seen[0])
    expect(await keysOf(db)).toEqual(['k1', 'k2'])
  })

  it('orders and compares text by bytes, whatever the language of the machine', async () => {
    for (const key of ['kb', 'kA', 'k_', 'ka', 'kB', 'kä', 'k0']) await put(db, key, '')
    expect(await keysOf(db)).toEqual(['k0', 'kA', 'kB', 'k_', 'ka', 'kb', 'kä'])
  })

  it('keeps 64-bit integers, fractions and null as numbers and null', async () => {
    const startedMs = 1_790_000_000_123
    const run = {
      container: 'c',
      app_env_id: 'e',
      account_id: 'a',
      z_clouds: 3_000_000_000,
      rate_multiplier: 3,
      started_ms: startedMs,
      finished_ms: null,
      node: null,
      seen_ms: null,
    }
    await db.write((tx) => tx.insertInto('container_runs').values(run).execute())
    const change = { alert_id: 'a', version: 1, app_env_id: 'e', at: 't', from_state: 'x', to_state: 'y' }
    await db.write((tx) =>
      tx
        .insertInto('alert_history')
        .values({ ...change, value: 0.1 })
        .execute(),
    )
    const read = await db.read(async (tx) => ({
      run: await tx.selectFrom('container_runs').selectAll().executeTakeFirstOrThrow(),
      sum: await tx
        .selectFrom('container_runs')
        .select((e) => [
          e.fn.sum<number>('z_clouds').as('sum'),
          e.fn.countAll<number>().as('count'),
          e.fn.max('started_ms').as('max'),
        ])
        .executeTakeFirstOrThrow(),
      value: (await tx.selectFrom('alert_history').select('value').executeTakeFirstOrThrow()).value,
    }))
    expect(read).toEqual({ run, sum: { sum: 3_000_000_000, count: 1, max: startedMs }, value: 0.1 })
  })

  it('loses no update of many writers at once', async () => {
    const results = await Promise.all(Array.from({ length: 60 }, () => db.write((tx) => increment(tx, 'k'))))
    expect([...results].sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1))
  })

  it('holds a limit that is counted before the insert', async () => {
    const most = 5
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        db.write(async (tx) => {
          if ((await keysIn(tx)).length >= most) return false
          await new Promise((resolve) => setImmediate(resolve))
          await tx
            .insertInto('installation')
            .values({ key: `k${index}`, value: '' })
            .execute()
          return true
        }),
      ),
    )
    expect(outcomes.filter((inserted) => inserted)).toHaveLength(most)
    expect(await keysOf(db)).toHaveLength(most)
  })

  it('tells a duplicate key from a race: the second writer of a key fails', async () => {
    await put(db, 'k1', 'one')
    await expect(put(db, 'k1', 'two')).rejects.toThrow()
    expect(await keysOf(db)).toEqual(['k1'])
  })

  it('gives every writer the number after the one before it', async () => {
    const numbers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        db.write(async (tx) => {
          const last = await tx
            .selectFrom('job_runs')
            .select((e) => e.fn.max('number').as('number'))
            .executeTakeFirst()
          const number = Number(last?.number ?? 0) + 1
          const run = { job_run_id: `run${index}`, app_env_id: 'e', number, status: 'x', record: '{}' }
          await tx
            .insertInto('job_runs')
            .values({ ...run, created_at: 't' })
            .execute()
          return number
        }),
      ),
    )
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
  })

  return { store: () => db }
}
