import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Secret } from '../../../src/log.ts'
import { openPostgresDb } from '../../../src/store/postgres/db.ts'
import { readPostgresUrl } from '../../../src/store/postgres/url.ts'
import { noPostgres, PostgresServer } from '../../../testkit/store/postgres-server.ts'

const open = (url: string) => openPostgresDb({ url: new Secret(url), poolSize: 2 })

describe.skipIf(noPostgres)(
  `a database that cannot be used${noPostgres ? `: left out, ${noPostgres}` : ''}`,
  () => {
    let server: PostgresServer
    beforeAll(async () => {
      server = await PostgresServer.start()
    })
    afterAll(() => server.stop())

    const made = async (...statements: string[]) => {
      const { name, url } = await server.createDatabase()
      for (const statement of statements) await server.query(name, statement)
      return { name, url: url.reveal() }
    }
    /** The error, after a look that neither it nor its details name the password. */
    const refusal = async (url: string): Promise<{ kind: string; message: string; details: string }> => {
      const error = await open(url).then(
        async (db) => {
          await db.close()
          throw new Error('it was opened')
        },
        (reason) => reason,
      )
      expect(`${error.message} ${error.details}`).not.toContain(server.password)
      return error
    }

    it('names a wrong password, a missing database and a server that does not answer', async () => {
      const { url } = await made()
      expect(await refusal(url.replace(server.password, 'wrong'))).toMatchObject({
        kind: 'unavailable',
        message: expect.stringMatching(/refuses the user or the password$/),
      })
      expect((await refusal(server.url('missing'))).message).toMatch(/^There is no database .*\/missing$/)
      const away = await refusal('postgres://longshore:x@127.0.0.1:1/d')
      expect(away.message).toBe('PostgreSQL does not answer at 127.0.0.1:1/d')
      expect(away.details).toContain('ECONNREFUSED')
    })

    it('refuses the database of another program and changes nothing in it', async () => {
      const { name, url } = await made('create table customers (id int)')
      expect((await refusal(url)).message).toMatch(/belongs to another program$/)
      const tables = await server.query(name, "select tablename from pg_tables where schemaname = 'public'")
      expect(tables).toEqual([{ tablename: 'customers' }])
    })

    it('refuses a program whose own table is named migrations', async () => {
      const foreign = await made('create table migrations (id int, migration text, batch int)')
      expect((await refusal(foreign.url)).message).toMatch(/belongs to another program$/)
      const alike = await made(
        'create table migrations (number int, name text)',
        "insert into migrations values (1, 'theirs')",
      )
      expect((await refusal(alike.url)).message).toMatch(/belongs to another program$/)
    })

    it('refuses tables of a newer version', async () => {
      const { name, url } = await made()
      await (await open(url)).close()
      await server.query(name, "insert into migrations values (9999, 'later')")
      const { message, details } = await refusal(url)
      expect(message).toBe('This store was written by a newer Longshore')
      expect(details).toContain('9999')
    })

    it('refuses a database that can only be read, and one without UTF-8', async () => {
      const { name, url } = await made()
      await server.query(name, `alter database ${name} set default_transaction_read_only = on`)
      expect((await refusal(url)).message).toMatch(/can only be read$/)
      await server.query(
        'postgres',
        "create database latin encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'",
      )
      expect((await refusal(server.url('latin'))).message).toMatch(/is not encoded in UTF-8$/)
    })

    it('refuses a user that may not create tables', async () => {
      const { name, url } = await made("create role poor login password 'poor'")
      // Anybody may until PostgreSQL 15.
      await server.query(name, 'revoke create on schema public from public')
      const poor = url.replace(`longshore:${server.password}`, 'poor:poor')
      expect((await refusal(poor)).message).toMatch(new RegExp(`may not create tables in .*/${name}$`))
    })

    it('names a server that takes no more connections', async () => {
      const { name, url } = await made("create role late login password 'late'")
      await server.query(name, `alter database ${name} connection limit 0`)
      const error = await refusal(url.replace(`longshore:${server.password}`, 'late:late'))
      expect(error.message).toMatch(/has too few connections, memory or disk$/)
      expect(error.details).toContain('Raise max_connections')
    })

    it('two programs that start on an empty database at once migrate it once', async () => {
      const { name, url } = await made()
      const opened = await Promise.all([open(url), open(url), open(url)])
      await Promise.all(opened.map((db) => db.close()))
      const rows = await server.query(
        name,
        'select number::int, count(*)::int as times from migrations group by number',
      )
      expect(rows.length).toBeGreaterThan(1)
      expect(rows.every(({ times }) => times === 1)).toBe(true)
    })
  },
)

describe('the URL of a database', () => {
  const problem = (url: string) => {
    try {
      readPostgresUrl(url)
      return ''
    } catch (error) {
      return (error as { details: string }).details
    }
  }

  it('reads user, password, host, port and database', () => {
    const address = readPostgresUrl(
      'postgres://us%40er:p%3Aw@db.example.com:6432/long%20shore?sslmode=disable',
    )
    expect(address).toMatchObject({ user: 'us@er', host: 'db.example.com', port: 6432, ssl: false })
    expect(address).toMatchObject({ database: 'long shore', label: 'db.example.com:6432/long shore' })
    expect(address.password?.reveal()).toBe('p:w')
    expect(JSON.stringify(address)).not.toContain('p:w')
  })

  it('checks the certificate of another machine unless it says otherwise', () => {
    expect(readPostgresUrl('postgres://u@db.example.com/d').ssl).toEqual({})
    expect(readPostgresUrl('postgres://u@localhost/d').ssl).toBe(false)
    expect(readPostgresUrl('postgres://u@h/d?sslmode=require').ssl).toEqual({ rejectUnauthorized: false })
  })

  it.each([
    ['postgres://u:p@h/d?sslmode=prefer', /^Sslmode must be one of/],
    ['postgres://u:p@h/d?sslmdoe=disable', /^The parameter sslmdoe is unknown/],
    ['postgres://u:p@h/d?sslrootcert=/nowhere/ca.pem', /^Sslrootcert cannot be read \(ENOENT\)/],
    ['postgres://h/d', /^It must name a user/],
    ['postgres://u:p@h/', /^It must name a user/],
    ['postgres://u:p%@h/d', /^Its percent-encoding is broken/],
  ])('refuses %s', (url, said) => {
    expect(problem(url)).toMatch(said)
  })
})
