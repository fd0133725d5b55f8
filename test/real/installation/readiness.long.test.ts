import { randomBytes } from 'node:crypto'
import { renameSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp, listApps } from '../../../src/contract/apps.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { noPostgres, PostgresServer } from '../../../testkit/store/postgres-server.ts'
import { untilRead } from '../../../testkit/until.ts'

async function readinessOf(installation: Installation) {
  const answer = await fetch(new URL('/readyz', installation.ready.api))
  return { status: answer.status, body: await answer.text() }
}

const isReady = ({ status }: { status: number }) => status === 200

describe('/readyz of a real installation', () => {
  const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
  afterAll(() => installation.dispose())

  it('says that the data directory cannot be written, and is ready again by itself', async () => {
    await installation.start()
    const readiness = () => readinessOf(installation)
    await untilRead(readiness, isReady, 'ready')
    // Permissions do not bind root, and a full disk needs a mount; a missing folder fails the same way.
    const run = path.join(installation.home, 'run')
    renameSync(run, `${run}-away`)
    try {
      expect(await readiness()).toEqual({
        status: 503,
        body: expect.stringContaining(`The data directory ${installation.home} cannot be written (ENOENT)`),
      })
    } finally {
      renameSync(`${run}-away`, run)
    }
    await untilRead(readiness, isReady, 'ready again')
  })
})

describe.skipIf(noPostgres)(`/readyz with PostgreSQL${noPostgres ? `: left out, ${noPostgres}` : ''}`, () => {
  let server: PostgresServer
  let installation: Installation
  beforeAll(async () => {
    server = await PostgresServer.start()
    installation = new Installation({
      LONGSHORE_REGIONS: 'none',
      LONGSHORE_DATABASE_URL: (await server.createDatabase()).url.reveal(),
      LONGSHORE_MASTER_KEY: randomBytes(32).toString('hex'),
    })
    await installation.start()
  })
  afterAll(async () => {
    await installation?.dispose()
    await server?.stop()
  })

  const readOnly = async (value: 'on' | 'off') => {
    await server.query('postgres', `alter system set default_transaction_read_only = ${value}`)
    await server.query('postgres', 'select pg_reload_conf()')
  }

  it('is 503 with the remedy while the store can only be read, and 200 again by itself', async () => {
    const readiness = () => readinessOf(installation)
    const client = installation.client()
    const { accountId } = installation.ready
    const make = () => client.call(createApp, { accountId, name: 'app', dockerPreset: 'CUSTOM', port: 8080 })
    await untilRead(readiness, isReady, 'ready')
    await readOnly('on')
    const { body } = await untilRead(readiness, ({ status }) => status === 503, 'not ready')
    expect(body).toContain('The store can only be read')
    expect(body).toContain('give the address of the primary in LONGSHORE_DATABASE_URL')
    await expect(make()).rejects.toMatchObject({ kind: 'unavailable', message: 'The store can only be read' })
    expect((await client.call(listApps, { accountId })).apps).toEqual([])
    await readOnly('off')
    await untilRead(readiness, isReady, 'ready again')
    await make()
    expect((await client.call(listApps, { accountId })).apps).toHaveLength(1)
  })
})
