import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DatabaseContainerSpec, DatabaseSpec, Engine } from '../../../src/engines/engine.ts'
import { findDatabasePrograms, hostVersions } from '../../../src/engines/process/databases/programs.ts'
import { mysql, present, redisCli } from '../../../testkit/databases/fixture.ts'
import { ProcessInstallation } from '../../../testkit/engines/process-installation.ts'
import { until } from '../../../testkit/engines/suite-installation.ts'
import { freePort } from '../../../testkit/free-port.ts'

const { signal } = new AbortController()

/** A database of this machine's program, with copies as texts. */
class Database {
  readonly url: string
  readonly #installation: ProcessInstallation
  readonly #engine: Engine
  readonly #spec: DatabaseContainerSpec

  private constructor(installation: ProcessInstallation, engine: Engine, spec: DatabaseContainerSpec) {
    this.#installation = installation
    this.#engine = engine
    this.#spec = spec
    const { user, password, database, ports } = spec.database
    const name = spec.database.dockerPreset === 'MYSQL' ? [user, `/${database}`] : ['default', '']
    this.url = `db://${name[0]}:${password}@127.0.0.1:${ports[0]?.hostPort}${name[1]}`
  }

  static async start(dockerPreset: 'MYSQL' | 'REDIS'): Promise<Database> {
    const installation = await ProcessInstallation.create()
    const engine = await installation.open()
    const [program] = await findDatabasePrograms(dockerPreset)
    const version = hostVersions(dockerPreset, program!)[0]?.[0] ?? ''
    const database: DatabaseSpec = {
      ...{ dockerPreset, version, user: 'u_one', password: 'secret1', adminPassword: 'secret2' },
      ...{ database: 'data_one', parameters: {}, persistent: true },
      ports: [{ name: 'native', port: 1, hostPort: await freePort() }],
    }
    const spec = { ...installation.spec('', { port: 1 }), database }
    await engine.apply(spec)
    return new Database(installation, engine, spec)
  }

  destroy(): Promise<void> {
    return this.#installation.destroy()
  }

  async dump(): Promise<Buffer> {
    const sink = new PassThrough()
    const whole = buffer(sink)
    await this.#engine.dumpDatabase?.(this.#spec, sink, signal)
    sink.end()
    return await whole
  }

  async load(
    copy: Buffer | string,
    more: { of?: Readable; by?: AbortSignal; adminPassword?: string } = {},
  ): Promise<void> {
    const { of, by = signal, adminPassword = this.#spec.database.adminPassword } = more
    const database = { ...this.#spec.database, adminPassword }
    const source = async () => of ?? Readable.from([Buffer.from(copy as string)])
    await this.#engine.loadDatabase?.(
      { ...this.#spec, database },
      source,
      { restoreId: 'rst_one', access: null },
      by,
    )
  }
}

const hasMariadb = await present('mariadbd', 'mariadb')
describe.skipIf(!hasMariadb)('a MySQL restore (skipped where no MariaDB is installed)', () => {
  let database: Database
  const sql = (text: string) => mysql(database.url, text)
  const schemas = () => sql("select count(*) from information_schema.schemata where schema_name like 'ls%'")

  beforeAll(async () => {
    database = await Database.start('MYSQL')
    await until('it answers', () => sql('select 1').catch(() => null))
    await sql(`create table t (n int primary key, word varchar(20)); create table log (n int);
      create view v as select n from t; create trigger more after insert on t for each row insert into log values (new.n);
      create function twice(x int) returns int deterministic return 2 * x; insert into t values (1, 'eins – ü')`)
  })
  afterAll(() => database.destroy())

  const state = () =>
    sql('select (select count(*) from v), (select count(*) from log), twice(21), (select max(word) from t)')
  const end = '\n-- Dump completed on 2026-01-01  0:00:00\n'

  it.each([
    [
      'that the server cannot load',
      `create table t (n int) collate utf8mb4_of_the_future_ci;${end}`,
      /Unknown collation/,
    ],
    ['that ends early', 'create table t (n int);\n', /ends too early/],
  ])('of a copy %s leaves the old data, views, triggers and routines', async (_what, copy, why) => {
    const failure = await database.load(copy).then(String, (error: Error) => error.message)
    expect(failure).toMatch(why)
    expect(failure).not.toMatch(/gone|secret/)
    expect(await state()).toBe('1\t1\t42\teins – ü')
    expect(await schemas()).toBe('0')
  })

  it('brings back rows, views, triggers and routines, also after one that was interrupted', async () => {
    const copy = await database.dump()
    const stop = new AbortController()
    const endless = new PassThrough()
    const interrupted = database.load('', { of: endless, by: stop.signal }).catch(() => 'interrupted')
    endless.write('create table begun (n int);\n')
    await until('it has begun', async () => ((await schemas()) === '1' ? true : null))
    stop.abort()
    expect(await interrupted).toBe('interrupted')
    expect(await state()).toBe('1\t1\t42\teins – ü')
    await sql("insert into t values (2, 'zwei'); drop view v; drop function twice")
    await database.load(copy)
    expect(await state()).toBe('1\t1\t42\teins – ü')
    await sql("insert into t values (3, 'drei')")
    expect(await sql('select count(*) from log')).toBe('2')
    expect(await schemas()).toBe('0')
    await expect(sql('create database ls_restore_new')).rejects.toThrow('denied')
  })

  it('without the administrator loads the copy directly, and says of a failure that the old data is gone', async () => {
    const copy = await database.dump()
    const adminPassword = 'another'
    const refused = `create table t (n int) collate utf8mb4_of_the_future_ci;${end}`
    await expect(database.load(refused, { adminPassword })).rejects.toThrow(
      /Unknown collation.* The old data is gone. Restore a backup again.$/,
    )
    await database.load(copy, { adminPassword })
    expect(await sql('select count(*) from t')).toBe('2')
  })
})

const hasRedis = await present('redis-server', 'redis-cli')
describe.skipIf(!hasRedis)('a Redis restore (skipped where no Redis is installed)', () => {
  let database: Database
  const redis = (...words: string[]) => redisCli(database.url.replace('db:', 'redis:'), ...words)

  beforeAll(async () => {
    database = await Database.start('REDIS')
    await until('it answers', () => redis('ping').catch(() => null))
    await redis('set', 'word', 'old')
  })
  afterAll(() => database.destroy())

  /** A dump of one key, as a server of that version of the format writes it. */
  const dumpOf = (version: string, type: number, value: number[]) =>
    Buffer.concat([
      Buffer.from(`REDIS${version}`),
      Buffer.from([type, 1, 107, ...value, 255]),
      Buffer.alloc(8),
    ])

  it.each([
    ['of a newer version', dumpOf('0099', 0, [1, 120]), /cannot load the copy. The data is as it was/],
    ['with a value that the server refuses', dumpOf('0010', 18, [1, 9, 1, 120]), /The data is as it was/],
    ['that ends early', dumpOf('0010', 0, [1, 120]).subarray(0, 13), /ends too early/],
  ])('of a copy %s leaves the old keys', async (_what, copy, why) => {
    await expect(database.load(copy)).rejects.toThrow(why)
    expect(await redis('get', 'word')).toBe('old')
    expect(await redis('dbsize')).toBe('1')
  })

  it('that fails after the old keys were removed says so', async () => {
    const copy = await database.dump()
    const code = Buffer.from('#!none name=f')
    const broken = Buffer.concat([
      Buffer.from('REDIS0010'),
      Buffer.from([245, code.length]),
      code,
      Buffer.from([255]),
    ])
    await expect(database.load(broken)).rejects.toThrow(
      /Redis answered: .* The old data is gone. Restore a backup again.$/,
    )
    await database.load(copy)
    expect(await redis('get', 'word')).toBe('old')
  })

  it('replaces the keys, and leaves none of its samples', async () => {
    const copy = await database.dump()
    await redis('set', 'word', 'newer')
    await redis('set', 'other', '1')
    await database.load(copy)
    expect(await redis('get', 'word')).toBe('old')
    expect(await redis('keys', '*')).toBe('word')
  })
})
