import { execFile } from 'node:child_process'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DatabaseContainerSpec, Engine } from '../../../src/engines/engine.ts'
import { crc64 } from '../../../src/engines/redis/crc64.ts'
import { readRdb } from '../../../src/engines/redis/rdb-reader.ts'
import { present } from '../../../testkit/databases/fixture.ts'
import { ProcessInstallation } from '../../../testkit/engines/process-installation.ts'
import { until } from '../../../testkit/engines/suite-installation.ts'
import { freePort } from '../../../testkit/free-port.ts'

const run = promisify(execFile)
const hasPostgres = await present('psql')

describe.skipIf(!hasPostgres)('a PostgreSQL restore (skipped where no PostgreSQL is installed)', () => {
  let installation: ProcessInstallation
  let engine: Engine
  let spec: DatabaseContainerSpec
  const { signal } = new AbortController()

  beforeAll(async () => {
    installation = await ProcessInstallation.create()
    engine = await installation.open()
    const hostPort = await freePort()
    spec = {
      name: 'restore',
      podId: 'pod_1',
      appEnvId: 'env_1',
      accountId: 'acc_1',
      contentId: 'dep_1',
      image: '',
      port: 5432,
      env: {},
      cpuMillicores: 500,
      memoryMb: 512,
      internalHost: 'restore',
      database: {
        dockerPreset: 'POSTGRESQL',
        version: '15',
        user: 'u_one',
        password: 'secret1',
        adminPassword: 'secret2',
        database: 'data',
        parameters: {},
        ports: [{ name: 'native', port: 5432, hostPort }],
        persistent: true,
      },
    }
    await engine.apply(spec)
    await until('it answers', () => sql('select 1').catch(() => null))
  })
  afterAll(() => installation.destroy())

  async function sql(text: string): Promise<string> {
    const { user, password, database, ports } = spec.database
    const url = `postgresql://${user}:${password}@127.0.0.1:${ports[0]?.hostPort}/${database}`
    const env = { ...process.env, PGOPTIONS: '-c default_transaction_read_only=off' }
    return (await run('psql', ['-X', url, '-Atqc', text], { env })).stdout.trim()
  }

  async function dump(): Promise<Buffer> {
    return (await dumpWithAccess()).copy
  }

  async function dumpWithAccess() {
    const sink = new PassThrough()
    const whole = buffer(sink)
    const access = (await engine.dumpDatabase?.(spec, sink, signal)) ?? null
    sink.end()
    return { copy: await whole, access }
  }

  it('that came to its end is not repeated over newer rows; another one is', async () => {
    await sql('create table rows (n int); insert into rows values (1)')
    const copy = await dump()
    await engine.loadDatabase?.(spec, opening(copy), { restoreId: 'rst_one', access: null }, signal)
    await sql('insert into rows values (2)')
    await engine.loadDatabase?.(spec, opening(copy), { restoreId: 'rst_one', access: null }, signal)
    expect(await sql('select count(*) from rows')).toBe('2')
    await engine.loadDatabase?.(spec, opening(copy), { restoreId: 'rst_two', access: null }, signal)
    expect(await sql('select count(*) from rows')).toBe('1')
  })

  it('of half a copy changes nothing, says why without a password, and leaves no database behind for long', async () => {
    const copy = await dump()
    const half = copy.subarray(0, copy.length - 40)
    const failed = engine.loadDatabase?.(spec, opening(half), { restoreId: 'rst_half', access: null }, signal)
    await expect(failed).rejects.toThrow(/^(?!.*secret).*error/s)
    expect(await sql('select count(*) from rows')).toBe('1')
    await sql('insert into rows values (3)')
    await engine.loadDatabase?.(spec, opening(copy), { restoreId: 'rst_three', access: null }, signal)
    expect(await sql('select count(*) from rows')).toBe('1')
    expect(await sql(`select count(*) from pg_database where datname like 'ls_%'`)).toBe('0')
  })

  const accessOf = async () => ({
    secret: await sql(`select proacl from pg_proc where proname = 'secret'`),
    owned: await sql(`select relowner::regrole, relacl from pg_class where relname = 'owned'`),
    defaults: await sql('select defaclacl from pg_default_acl'),
    database: await sql(
      `select datconnlimit, (select string_agg(one::text, ' ' order by one::text) from unnest(datacl) one)
        from pg_database where datname = current_database()`,
    ),
    settings: await sql('select setrole::regrole, setconfig from pg_db_role_setting order by 1'),
  })

  it('keeps grants, owners, default privileges, settings and limits; of roles that are gone nothing, and no more for others', async () => {
    await sql(`create role app; create role report; create role "it's gone";
      create table owned (n int); alter table owned owner to app; grant select on owned to report;
      create function secret() returns text language sql security definer as $$ select 'x'::text $$;
      revoke execute on function secret() from public; grant execute on function secret() to "it's gone";
      alter default privileges grant select on tables to report;
      alter database data connection limit 17; revoke connect on database data from public;
      grant connect on database data to report; alter database data set work_mem = '5MB';
      alter database data set default_transaction_read_only = on;
      alter role report in database data set statement_timeout = '5s'`)
    const before = await accessOf()
    const { copy, access } = await dumpWithAccess()
    expect(access).toEqual({
      user: 'u_one',
      roles: [
        { name: 'app', owns: 1, granted: 0 },
        { name: "it's gone", owns: 0, granted: 1 },
        { name: 'report', owns: 0, granted: 2 },
      ],
      settings: ['default_transaction_read_only', 'statement_timeout', 'work_mem'],
      limitsConnections: true,
    })
    await engine.loadDatabase?.(spec, opening(copy), { restoreId: 'rst_kept', access }, signal)
    expect(await accessOf()).toEqual(before)

    // As in another environment: its user and roles have other names.
    await sql(`drop owned by "it's gone", report; drop role "it's gone", report;
      reassign owned by app to u_one; drop role app`)
    const elsewhere = { ...access!, user: 'u_other' }
    await engine.loadDatabase?.(spec, opening(copy), { restoreId: 'rst_lost', access: elsewhere }, signal)
    expect(await accessOf()).toMatchObject({
      secret: '{u_one=X/u_one}',
      owned: 'u_one|{u_one=arwdDxt/u_one}',
      defaults: '',
    })
    expect(await sql(`select string_agg(rolname, ' ') from pg_roles where rolname !~ '^pg_'`)).toBe('u_one')
    await sql('alter database data reset all')
  })

  it('evaluates functions as the original does, that name tables without a schema', async () => {
    await sql(`create function helper(i int) returns int immutable language sql as 'select i + 1';
      create function calls(i int) returns int immutable language sql as 'select helper(i)';
      create table generated (i int, j int generated always as (calls(i)) stored); insert into generated values (1);
      create index on generated ((calls(i)));
      create table most (n int); insert into most values (10);
      create function fits(i int) returns bool stable language sql as 'select i <= (select max(n) from most)';
      create table checked (i int check (fits(i))); insert into checked values (3);
      create materialized view seen as select calls(i) from generated`)
    const { copy, access } = await dumpWithAccess()
    await engine.loadDatabase?.(spec, opening(copy), { restoreId: 'rst_path', access }, signal)
    expect(await sql('select j, (select * from seen), (select count(*) from checked) from generated')).toBe(
      '2|2|1',
    )
  })

  it('that could not succeed is known when the backup is taken', async () => {
    // Its library is gone, as after a change of the image.
    await sql(`create function gone() returns language_handler language c as '$libdir/plpgsql', 'plpgsql_call_handler';
      update pg_proc set probin = '$libdir/gone' where proname = 'gone'`)
    await expect(dump()).rejects.toThrow(
      /^The copy could not be restored, because the server does not accept its structure again: .*could not access file/,
    )
    await sql(`delete from pg_proc where proname = 'gone'`)
    expect(await sql(`select count(*) from pg_database where datname like 'ls_%'`)).toBe('0')
  })
})

/** As it is opened before each reading. */
const opening = (copy: Buffer) => async () => Readable.from([copy])

describe('a dump of Redis', () => {
  it('is refused when it is none, and when it ends early', async () => {
    const items = async (text: string) => {
      for await (const _item of readRdb(Readable.from([Buffer.from(text, 'latin1')])));
    }
    await expect(items('REDISxxxx')).rejects.toThrow('not a Redis dump')
    await expect(items('REDIS0010\x00\x05ab')).rejects.toThrow('ends too early')
  })

  it('has values with the checksum that Redis computes', () => {
    expect(crc64(Buffer.from('123456789')).toString('hex')).toBe('cad9b8c414d9c6e9')
  })
})
