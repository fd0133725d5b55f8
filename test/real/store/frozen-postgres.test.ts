import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { AppError } from '../../../src/errors.ts'
import { Secret } from '../../../src/log.ts'
import type { Db } from '../../../src/store/db.ts'
import { openPostgresDb } from '../../../src/store/postgres/db.ts'
import { increment, keysIn, put } from '../../../testkit/store/db-suite.ts'
import { DroppingProxy } from '../../../testkit/store/dropping-proxy.ts'
import { noPostgres, PostgresServer } from '../../../testkit/store/postgres-server.ts'
import { untilRead } from '../../../testkit/until.ts'

/** A caller waits less than two seconds; a busy machine gets twice that. */
const mostMs = 4_000

describe.skipIf(noPostgres)(
  `PostgreSQL that keeps silent${noPostgres ? `: left out, ${noPostgres}` : ''}`,
  () => {
    let server: PostgresServer
    let proxy: DroppingProxy
    let db: Db
    beforeAll(async () => {
      server = await PostgresServer.start()
    })
    afterAll(() => server.stop())
    beforeEach(async () => {
      const database = await server.createDatabase()
      const folder = path.join(server.dir, `proxy-${database.name}`)
      mkdirSync(folder)
      proxy = new DroppingProxy(path.join(server.dir, '.s.PGSQL.5432'))
      await proxy.listen(path.join(folder, '.s.PGSQL.5432'))
      const url = new Secret(database.url.reveal().replace(server.dir, folder))
      db = await openPostgresDb({ url, poolSize: 4 })
      await put(db, 'before', '1')
    })
    afterEach(async () => {
      proxy.drops = false
      await db.close()
      proxy.close()
    })

    const ways: [name: string, freeze: () => void, thaw: () => void][] = [
      ['a server that is stopped', () => server.signalAll('SIGSTOP'), () => server.signalAll('SIGCONT')],
      ['a network that drops every byte', () => (proxy.drops = true), () => (proxy.drops = false)],
    ]

    it.each(ways)('%s: every kind of work fails soon, and goes on by itself', async (_name, freeze, thaw) => {
      const failed = async (work: () => Promise<unknown>) => {
        const sinceMs = performance.now()
        const error = await work().catch((thrown) => thrown)
        return { error, tookMs: performance.now() - sinceMs }
      }
      const kinds = [
        () => db.read(keysIn),
        () => db.write((tx) => increment(tx, 'count')),
        () => db.rehearse((tx) => increment(tx, 'count')),
      ]
      freeze()
      try {
        // More than there are connections, then another time while the server is known to be away.
        for (const work of [...kinds, ...kinds, ...kinds]) void work().catch(() => {})
        for (const { error, tookMs } of [
          ...(await Promise.all(kinds.map(failed))),
          ...(await Promise.all(kinds.map(failed))),
        ]) {
          expect(error).toBeInstanceOf(AppError)
          expect(error).toMatchObject({ kind: 'unavailable', message: 'The store is not available' })
          expect(tookMs).toBeLessThan(mostMs)
        }
      } finally {
        thaw()
      }
      await untilRead(
        () => db.read(keysIn),
        () => true,
        'the store again',
      )
      const counts = await Promise.all(
        Array.from({ length: 8 }, () => db.write((tx) => increment(tx, 'again'))),
      )
      expect(new Set(counts).size).toBe(8)
    })

    it('a slow statement of a server that answers is waited for', async () => {
      const slow = db.read((tx) => sql`select pg_sleep(3)`.execute(tx).then(() => 'done'))
      expect(await slow).toBe('done')
      expect(await db.read(keysIn)).toContain('before')
    })
  },
)
