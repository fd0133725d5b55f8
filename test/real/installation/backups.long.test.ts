import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type BackupResponse,
  createAppEnvBackup,
  getAppEnvBackup,
  restoreAppEnvBackup,
} from '../../../src/contract/backups.ts'
import { DatabaseFixture, present } from '../../../testkit/databases/fixture.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

const run = promisify(execFile)
const here = {
  postgres: await present('psql'),
  redis: await present('redis-cli', 'redis-server'),
  mariadb: await present('mariadb', 'mariadbd'),
}

describe('backups of real databases on the process engine', () => {
  const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
  const fixture = new DatabaseFixture(installation)
  beforeAll(() => installation.start().then(() => {}))
  afterAll(() => installation.dispose())

  const ended = (backupId: string) =>
    untilRead(
      () => installation.client().call(getAppEnvBackup, { backupId }),
      ({ backup, restores }) => [backup, ...restores].every(({ finishedAt }) => finishedAt !== null),
      'the end of the copy',
      180_000,
    )

  async function backUp(appEnvId: string): Promise<BackupResponse> {
    const { backup } = await installation.client().call(createAppEnvBackup, { appEnvId })
    const done = (await ended(backup.backupId)).backup
    expect(done.failure).toBeNull()
    return done
  }

  async function restore(appEnvId: string, backupId: string) {
    await installation.client().call(restoreAppEnvBackup, { appEnvId, backupId })
    return (await ended(backupId)).restores[0]
  }

  it.skipIf(!here.postgres)(
    'PostgreSQL comes back row for row in another environment, while this one is written to (skipped where no PostgreSQL is installed)',
    async (context) => {
      const from = await fixture.makeOrSkip(context, 'POSTGRESQL')
      const into = await fixture.makeOrSkip(context, 'POSTGRESQL', { name: 'copy' })
      await fixture.sql(
        from,
        `create table rows (n int primary key, t text, b bytea);
         insert into rows select n, 'row ' || n || E'\\n\\u00e9', decode(md5(n::text), 'hex') from generate_series(1, 20000) n;
         create view odd as select * from rows where n % 2 = 1;
         create schema other; create table other.kept (id serial primary key);
         insert into other.kept select from generate_series(1, 7)`,
      )
      await fixture.sql(into, 'create table earlier (n int); insert into earlier values (1)')
      const sum = `select md5(string_agg(n || t || encode(b, 'hex'), ',' order by n)) || count(*) from rows`
      const before = await fixture.sql(from, sum)
      const { backupId, file } = await backUp(from)
      await fixture.sql(from, 'insert into rows values (0)')
      expect(await restore(into, backupId)).toMatchObject({ status: 'SUCCEEDED' })
      expect(await fixture.sql(into, sum)).toBe(before)
      expect(await fixture.sql(into, 'select count(*) from odd')).toBe('10000')
      expect(await fixture.sql(into, 'insert into other.kept default values returning id')).toBe('8')
      expect(await fixture.sql(into, `select to_regclass('earlier')`)).toBe('')
      expect(await fixture.sql(into, `select count(*) from pg_database where datname like 'ls_%'`)).toBe('0')
      expect(await fixture.sql(from, 'select count(*) from rows')).toBe('20001')
      const stored = path.join(installation.home, file ?? '')
      expect(statSync(stored).mode & 0o777).toBe(0o600)
      expect(readFileSync(stored).subarray(0, 5).toString()).toBe('PGDMP')
      const { password } = new URL(await fixture.url(from))
      expect(installation.stderr).not.toContain(password)
    },
    180_000,
  )

  it.skipIf(!here.postgres)(
    'the command line restores a PostgreSQL backup into a new environment, through a kill -9 of the platform (skipped where no PostgreSQL is installed)',
    async (context) => {
      const from = await fixture.makeOrSkip(context, 'POSTGRESQL', { name: 'third' })
      await fixture.sql(from, 'create table rows as select n from generate_series(1, 300000) n')
      const { backup } = await installation.client().call(createAppEnvBackup, { appEnvId: from })
      await installation.end('SIGKILL')
      await installation.start()
      expect((await ended(backup.backupId)).backup).toMatchObject({ status: 'SUCCEEDED', failure: null })
      const longshore = async (...args: string[]) => {
        const { LONGSHORE_URL: _url, ...env } = process.env
        const set = { ...env, LONGSHORE_URL: installation.ready.api, LONGSHORE_TOKEN: installation.token }
        return (await run(process.execPath, [path.resolve('dist/longshore.js'), ...args], { env: set }))
          .stdout
      }
      expect(await longshore('backup', 'list', '--env', from)).toContain(backup.backupId)
      await expect(longshore('restore', backup.backupId, '--env', from)).rejects.toThrow('--yes')
      const made = (await longshore('restore', backup.backupId, '--new-env', 'again')).trim()
      expect(made).toMatch(/^env_/)
      expect(await fixture.sql(made, 'select count(*), sum(n) from rows')).toBe('300000|45000150000')
      expect(await longshore('restore', '--help')).toContain('--new-env')
      // A restore that the end of the platform interrupts starts over; a finished one does not run again over newer rows.
      await fixture.sql(made, 'insert into rows values (0)')
      await installation.client().call(restoreAppEnvBackup, { appEnvId: made, backupId: backup.backupId })
      await untilRead(
        () => installation.client().call(getAppEnvBackup, { backupId: backup.backupId }),
        ({ restores }) => restores[0]?.status !== 'PENDING',
        'a restore under way',
      )
      await installation.end('SIGKILL')
      await installation.start()
      expect((await ended(backup.backupId)).restores[0]).toMatchObject({ status: 'SUCCEEDED', failure: null })
      expect(await fixture.sql(made, 'select count(*) from rows')).toBe('300000')
      expect(await fixture.sql(made, `select count(*) from pg_database where datname like 'ls_%'`)).toBe('0')
      await longshore('backup', 'delete', backup.backupId, '--yes')
      expect(await longshore('backup', 'list')).not.toContain(backup.backupId)
    },
    180_000,
  )

  it.skipIf(!here.redis)(
    'Redis comes back key for key, every type, expiry and database of it (skipped where no Redis is installed)',
    async (context) => {
      const from = await fixture.makeOrSkip(context, 'REDIS')
      const into = await fixture.makeOrSkip(context, 'REDIS', { name: 'copy' })
      const fill = `
        local function many(count, add) for n = 1, count do add(n) end end
        redis.call('set', 'text', string.rep('abc', 5000)); redis.call('set', 'number', 12345); redis.call('set', 'small', -3)
        many(3, function(n) redis.call('rpush', 'list', n); redis.call('sadd', 'ints', n); redis.call('sadd', 'set', 'm' .. n)
          redis.call('hset', 'hash', 'f' .. n, 'v' .. n); redis.call('zadd', 'zset', n / 3, 'm' .. n) end)
        many(2000, function(n) redis.call('rpush', 'long list', string.rep(n, 20)); redis.call('sadd', 'big set', 'member ' .. n)
          redis.call('sadd', 'big ints', n * 70000); redis.call('hset', 'big hash', n, string.rep('x', 80)); redis.call('zadd', 'big zset', n, 'z' .. n)
          redis.call('set', 'key ' .. n, n) redis.call('xadd', 'stream', n .. '-1', 'field', 'value ' .. n) end)
        redis.call('xgroup', 'create', 'stream', 'readers', '0'); redis.call('xreadgroup', 'group', 'readers', 'ada', 'count', 5, 'streams', 'stream', '>')
        redis.call('set', 'passing', 1, 'px', 3600000)
        return 'filled'`
      expect(await fixture.redis(from, 'eval', fill, '0')).toBe('filled')
      await fixture.redis(from, '-n', '3', 'set', 'elsewhere', 'three')
      await fixture.redis(
        from,
        'function',
        'load',
        `#!lua name=f\nredis.register_function('one', function() return 1 end)`,
      )
      await fixture.redis(into, 'set', 'earlier', '1')
      const digest = `
        local all = {}
        for _, key in ipairs(redis.call('keys', '*')) do
          local type, value = redis.call('type', key).ok, redis.call('dump', key)
          if type == 'set' or type == 'hash' then
            local parts = redis.call(type == 'set' and 'smembers' or 'hkeys', key)
            table.sort(parts)
            if type == 'hash' then for at, field in ipairs(parts) do parts[at] = field .. '=' .. redis.call('hget', key, field) end end
            value = table.concat(parts, ',')
          end
          all[#all + 1] = key .. ' ' .. type .. ' ' .. redis.sha1hex(value) .. ' ' .. redis.call('pexpiretime', key)
        end
        table.sort(all)
        return table.concat(all, '\\n')`
      const contents = async (appEnvId: string) => [
        await fixture.redis(appEnvId, 'eval', digest, '0'),
        await fixture.redis(appEnvId, 'dbsize'),
        await fixture.redis(appEnvId, '-n', '3', 'get', 'elsewhere'),
        await fixture.redis(appEnvId, 'fcall', 'one', '0'),
        await fixture.redis(appEnvId, 'xpending', 'stream', 'readers'),
      ]
      const before = await contents(from)
      const { backupId, file } = await backUp(from)
      expect(
        readFileSync(path.join(installation.home, file ?? ''))
          .subarray(0, 5)
          .toString(),
      ).toBe('REDIS')
      expect(await restore(into, backupId)).toMatchObject({ status: 'SUCCEEDED', failure: null })
      expect(await contents(into)).toEqual(before)
    },
    180_000,
  )

  it.skipIf(!here.mariadb)(
    'MariaDB comes back with its rows, views, triggers and routines (skipped where no MariaDB is installed)',
    async (context) => {
      const from = await fixture.makeOrSkip(context, 'MYSQL')
      const into = await fixture.makeOrSkip(context, 'MYSQL', { name: 'copy' })
      await fixture.mysql(
        from,
        `create table rows_ (n int primary key, t varchar(100), b varbinary(20));
         insert into rows_ select seq, concat('row ', seq, '\\n', '\u00e9', ' DEFINER=\`x\`@\`%\`'), unhex(md5(seq)) from seq_1_to_5000;
         create view odd as select * from rows_ where n % 2 = 1;
         create trigger mark before insert on rows_ for each row set new.t = upper(new.t);
         create procedure many() select count(*) from rows_`,
      )
      await fixture.mysql(into, 'create table earlier (n int)')
      const sum = `select md5(group_concat(md5(concat(n, t, hex(b))) order by n)), count(*) from rows_`
      const before = await fixture.mysql(from, `set group_concat_max_len = 10000000; ${sum}`)
      const { backupId } = await backUp(from)
      expect(await restore(into, backupId)).toMatchObject({ status: 'SUCCEEDED', failure: null })
      expect(await fixture.mysql(into, `set group_concat_max_len = 10000000; ${sum}`)).toBe(before)
      expect(await fixture.mysql(into, 'select count(*) from odd')).toBe('2500')
      expect(await fixture.mysql(into, 'call many()')).toBe('5000')
      expect(
        await fixture.mysql(into, `insert into rows_ values (0, 'up', ''); select t from rows_ where n = 0`),
      ).toBe('UP')
      expect(await fixture.mysql(into, `show tables like 'earlier'`)).toBe('')
    },
    180_000,
  )
})
