import { spawnSync } from 'node:child_process'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Secret } from '../../../src/log.ts'
import { openPostgresDb } from '../../../src/store/postgres/db.ts'
import { freePort } from '../../../testkit/free-port.ts'
import { noPostgres, PostgresServer } from '../../../testkit/store/postgres-server.ts'

const noOpenssl = spawnSync('openssl', ['version']).error ? 'openssl is not installed' : null
const absent = noPostgres ?? noOpenssl

describe.skipIf(absent)(`PostgreSQL over TLS${absent ? `: left out, ${absent}` : ''}`, () => {
  let server: PostgresServer
  let port: number
  beforeAll(async () => {
    port = await freePort()
    server = await PostgresServer.start(port)
  })
  afterAll(() => server.stop())

  /** Whether the connection is encrypted. */
  async function isEncrypted(host: string, search: string): Promise<boolean> {
    const url = `postgres://longshore:${server.password}@${host}:${port}/postgres${search}`
    const db = await openPostgresDb({ url: new Secret(url), poolSize: 1 })
    try {
      const { rows } = await db.read((tx) =>
        sql<{ ssl: boolean }>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`.execute(tx),
      )
      return rows[0]?.ssl === true
    } finally {
      await db.close()
    }
  }

  it('encrypts as sslmode says, and checks the server with sslrootcert', async () => {
    const ca = `&sslrootcert=${server.certificate}`
    expect(await isEncrypted('localhost', '?sslmode=disable')).toBe(false)
    expect(await isEncrypted('localhost', '?sslmode=require')).toBe(true)
    expect(await isEncrypted('localhost', `?sslmode=verify-full${ca}`)).toBe(true)
    expect(await isEncrypted('127.0.0.1', `?sslmode=verify-ca${ca}`)).toBe(true)
  })

  it('refuses a certificate of an unknown signer and one for another name', async () => {
    const message = expect.stringMatching(/^No trusted TLS connection to PostgreSQL at /)
    await expect(isEncrypted('localhost', '?sslmode=verify-full')).rejects.toMatchObject({ message })
    const other = `?sslmode=verify-full&sslrootcert=${server.certificate}`
    await expect(isEncrypted('127.0.0.1', other)).rejects.toMatchObject({ message })
  })
})
