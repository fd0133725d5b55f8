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
    return (await run('psql', ['-X', url, '-Atqc', text])).stdout.trim()
  }

  async function dump(): Promise<Buffer> {
    const sink = new PassThrough()
    const whole = buffer(sink)
    await engine.dumpDatabase?.(spec, sink, signal)
    sink.end()
    return await whole
  }

  it('that came to its end is not repeated over newer rows; another one is', async () => {
    await sql('create table rows (n int); insert into rows values (1)')
    const copy = await dump()
    await engine.loadDatabase?.(spec, opening(copy), 'rst_one', signal)
    await sql('insert into rows values (2)')
    await engine.loadDatabase?.(spec, opening(copy), 'rst_one', signal)
    expect(await sql('select count(*) from rows')).toBe('2')
    await engine.loadDatabase?.(spec, opening(copy), 'rst_two', signal)
    expect(await sql('select count(*) from rows')).toBe('1')
  })

  it('of half a copy changes nothing, says why without a password, and leaves no database behind for long', async () => {
    const copy = await dump()
    const half = copy.subarray(0, copy.length - 40)
    const failed = engine.loadDatabase?.(spec, opening(half), 'rst_half', signal)
    await expect(failed).rejects.toThrow(/^(?!.*secret).*error/s)
    expect(await sql('select count(*) from rows')).toBe('1')
    await sql('insert into rows values (3)')
    await engine.loadDatabase?.(spec, opening(copy), 'rst_three', signal)
    expect(await sql('select count(*) from rows')).toBe('1')
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
