import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Secret } from '../../../src/log.ts'
import { createLog } from '../../../src/log.ts'
import type { Db } from '../../../src/store/db.ts'
import type { InstanceFacts } from '../../../src/store/membership.ts'
import { joinPostgres, openPostgresAlone } from '../../../src/store/postgres/db.ts'
import { noPostgres, PostgresServer } from '../../../testkit/store/postgres-server.ts'
import { untilRead } from '../../../testkit/until.ts'

const log = createLog('test', 'silent')
const facts: InstanceFacts = { version: '1', host: 'h', address: '', dataKey: '', regions: [] }

describe.skipIf(noPostgres)(
  `control planes and leases${noPostgres ? `: left out, ${noPostgres}` : ''}`,
  () => {
    let server: PostgresServer
    let database: { name: string; url: Secret }
    const open: { close(): Promise<void> }[] = []
    beforeAll(async () => {
      server = await PostgresServer.start()
    })
    afterAll(() => server.stop())
    beforeEach(async () => {
      database = await server.createDatabase()
    })
    afterEach(async () => {
      for (const one of open.splice(0)) await one.close()
    })

    async function join(node: string, { place = node, leases = [] as string[] } = {}) {
      let replaced: string | null = null
      const joined = await joinPostgres({
        ...{ url: database.url, poolSize: 3, node, place, log },
        onReplaced: (reason) => {
          replaced = reason
        },
      })
      const { membership } = joined
      const works = new Map<string, Db>()
      const woken: (readonly string[] | null)[] = []
      open.push({ close: () => membership.close().then(() => joined.db.close()) })
      membership.describe(() => facts)
      for (const name of leases) {
        membership.lease(name, (db) => {
          works.set(name, db)
          return { wake: () => woken.push([name]), stop: () => works.delete(name) }
        })
      }
      const spent: unknown[] = []
      await membership.start({
        environments: (appEnvIds) => woken.push(appEnvIds),
        spent: (calls) => spent.push(...calls),
      })
      return { ...joined, works, woken, spent, replaced: () => replaced }
    }
    const insert = (db: Db, key: string) =>
      db.write((tx) => tx.insertInto('installation').values({ key, value: '' }).execute())
    const keys = async () =>
      (await server.query(database.name, 'select key from installation order by key')).map(({ key }) => key)

    it('a stale holder can neither write nor read for its work, and stops it', async () => {
      const { works } = await join('one', { leases: ['work'] })
      const db = works.get('work') as Db
      await insert(db, 'before')
      await server.query(
        database.name,
        "update leases set instance_id = 'x', token = token + 1 where name = 'work'",
      )
      const refused = { kind: 'unavailable', message: 'Another control plane took over the work work' }
      await expect(insert(db, 'after')).rejects.toMatchObject(refused)
      await expect(
        db.read((tx) => tx.selectFrom('installation').selectAll().execute()),
      ).rejects.toMatchObject(refused)
      expect(await keys()).toEqual(['before'])
      await untilRead(
        async () => works.has('work'),
        (has) => !has,
        'the end of the work',
      )
    })

    it('a lease that names an instance which neither has nor should have it goes to the next one', async () => {
      const members = [await join('one', { leases: ['a', 'b'] }), await join('two', { leases: ['a', 'b'] })]
      const rowOf = async (name: string) =>
        (await server.query(database.name, 'select instance_id, token from leases order by name'))[
          name === 'a' ? 0 : 1
        ] as { instance_id: string; token: number }
      const apart = async () => members.map(({ works }) => [...works.keys()].join())
      await untilRead(apart, (held) => held.toSorted().join() === 'a,b', 'one lease for each')
      const [a, b] = [await rowOf('a'), await rowOf('b')]
      // As after a hand-back that failed: the row names the holder of the other lease.
      const update = `update leases set instance_id = '${a.instance_id}', token = token + 1 where name = 'b'`
      await server.query(database.name, update)
      await untilRead(
        () => rowOf('b'),
        (row) => row.instance_id === b.instance_id && Number(row.token) > Number(b.token) + 1,
        'the lease of its own holder',
      )
      await untilRead(apart, (held) => held.toSorted().join() === 'a,b', 'one lease for each again')
    })

    it('the calls that one let through are reported to the others, however many, and not to itself', async () => {
      const [one, two] = [await join('one'), await join('two')]
      const calls = Array.from(
        { length: 120 },
        (_, nth) => ['writes', `usr_${nth}${'x'.repeat(40)}`, nth] as const,
      )
      one.membership.announceSpent(calls)
      await untilRead(
        async () => two.spent.length,
        (length) => length === calls.length,
        'every report',
      )
      expect(two.spent).toEqual(calls)
      expect(one.spent).toEqual([])
    })

    it('the next holder waits for the write under way, which counts', async () => {
      const { works } = await join('one', { leases: ['work'] })
      const events: string[] = []
      let finish = () => {}
      const finished = new Promise<void>((resolve) => {
        finish = resolve
      })
      let begun = () => {}
      const hasBegun = new Promise<void>((resolve) => {
        begun = resolve
      })
      const write = (works.get('work') as Db)
        .write(async (tx) => {
          await tx.insertInto('installation').values({ key: 'under way', value: '' }).execute()
          begun()
          await finished
        })
        .then(() => events.push('written'))
      await hasBegun
      const taken = server
        .query(database.name, "update leases set instance_id = 'x', token = token + 1 where name = 'work'")
        .then(() => events.push('taken'))
      const waiting =
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
      await untilRead(
        () => server.query(database.name, waiting),
        (rows) => rows.length > 0,
        'a waiting holder',
      )
      finish()
      await Promise.all([write, taken])
      expect(events).toEqual(['written', 'taken'])
      expect(await keys()).toEqual(['under way'])
    })

    it('spreads the work, and moves it at once when an instance leaves', async () => {
      const leases = ['a', 'b', 'c', 'd']
      const one = await join('one', { leases })
      expect([...one.works.keys()].sort()).toEqual(leases)
      const two = await join('two', { leases })
      const counts = async () => [one.works.size, two.works.size]
      await untilRead(counts, (found) => `${found}` === '2,2', 'two parts each')
      expect([...one.works.keys(), ...two.works.keys()].sort()).toEqual(leases)
      const [last] = open.splice(1)
      await last?.close()
      await untilRead(counts, (found) => `${found}` === '4,0', 'all work back at the first one')
    })

    it('takes over the work of an instance that is gone, and ends its sessions', async () => {
      const one = await join('one', { leases: ['work'] })
      await server.query(
        database.name,
        `insert into instances (node, instance_id, place, record, started_ms, seen_ms) values ('gone', '0', 'gone', '', 0, 0);
       update leases set instance_id = '0', token = token + 1 where name = 'work'`,
      )
      await untilRead(
        async () => one.works.has('work'),
        (has) => !has,
        'the end of the work',
      )
      await untilRead(
        async () => one.works.has('work'),
        (has) => has,
        'the work again',
      )
      const [lease] = await server.query(database.name, "select token::int from leases where name = 'work'")
      expect(lease?.token).toBe(3)
    })

    it('announces changes to the others, and wakes the holder of a lease', async () => {
      const one = await join('one', { leases: ['work'] })
      const two = await join('two')
      two.membership.announce(['env_1', 'env_2'])
      two.membership.announce(['env_2', 'env_3'])
      two.membership.wakeLease('work')
      await untilRead(
        async () => one.woken,
        (woken) => woken.length === 2,
        'both messages',
      )
      expect([...one.woken].sort()).toEqual([['env_1', 'env_2', 'env_3'], ['work']])
      expect(two.woken).toEqual([])
    })

    it('a new process of the same place replaces the old one at once; one of another place is refused', async () => {
      const first = await join('one')
      await expect(join('one', { place: 'elsewhere' })).rejects.toMatchObject({
        kind: 'unavailable',
        message: 'Another control plane serves the machine one',
      })
      const second = await join('one')
      await expect(insert(first.membership.machineDb, 'k')).rejects.toMatchObject({ kind: 'unavailable' })
      await insert(second.membership.machineDb, 'k')
      await untilRead(
        async () => first.replaced(),
        (reason) => reason !== null,
        'the end of the first one',
      )
      expect(first.replaced()).toBe('another control plane took over the machine one')
    })

    it('no installation is copied into a database that is served, and none serves during a copy', async () => {
      await join('one')
      const alone = () => openPostgresAlone({ url: database.url, poolSize: 1 })
      await expect(alone()).rejects.toMatchObject({
        kind: 'unavailable',
        message: expect.stringMatching(/^A control plane serves the database/),
      })
      for (const one of open.splice(0)) await one.close()
      const db = await alone()
      await expect(join('one')).rejects.toMatchObject({
        message: expect.stringMatching(/is in exclusive use$/),
      })
      await db.close()
      await join('one')
    })

    it('knows where an environment is, and where it serves while it moves', async () => {
      const { db, membership } = await join('one')
      const of = { app_id: 'a', account_id: 'c', status: 'UPDATING', size: 1, record: '{}', revision: 1 }
      const row = { ...of, app_env_id: 'e', cli_env_name: 'e', region: 'eu', created_at: '' }
      await db.write((tx) =>
        tx
          .insertInto('app_envs')
          .values({ ...row, other_region: 'local', served_from: 'local' })
          .execute(),
      )
      expect(await membership.regionsOf('e')).toEqual({ region: 'eu', serving: 'local' })
      expect(await membership.regionsOf('none')).toBeNull()
    })

    it('comes back by itself after a restart of PostgreSQL', async () => {
      const { works, woken } = await join('one', { leases: ['work'] })
      await server.halt('SIGKILL')
      await server.launch()
      await untilRead(
        async () => woken,
        (all) => all.includes(null),
        'a look at everything',
      )
      const db = works.get('work') as Db
      await untilRead(
        () => insert(db, 'again').then(() => true),
        (done) => done,
        'a write',
      )
      expect(await keys()).toEqual(['again'])
    })
  },
)
