import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { databasePresetOf } from '../../../../src/domain/databases/presets.ts'
import type { ContainerSpec, DatabaseSpec } from '../../../../src/engines/engine.ts'
import { HostDatabases } from '../../../../src/engines/process/databases/host-databases.ts'
import { engineFiles } from '../../../../src/engines/process/engine-files.ts'

let dir = ''
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'longshore-databases-'))
})
afterAll(() => rm(dir, { recursive: true, force: true }))

/** A machine with these programs, as `Redis 7.2`, for every preset but ClickHouse. */
const databases = (...titles: string[]) =>
  new HostDatabases(engineFiles(dir), async (preset) =>
    preset === 'CLICKHOUSE'
      ? []
      : titles.map((title) => ({ title, version: title.split(' ')[1] ?? '', server: '/nowhere/bin/server' })),
  )

function spec(version: string, change: Partial<DatabaseSpec> = {}) {
  const database = {
    dockerPreset: 'REDIS',
    version,
    user: 'u',
    password: 'p',
    adminPassword: 'a',
    database: 'd',
    parameters: {},
    ports: [{ name: 'redis', port: 6379, hostPort: 20_123 }],
    persistent: true,
    ...change,
  } as DatabaseSpec
  return [{ name: 'one', appEnvId: 'env_1', memoryMb: 512 } as ContainerSpec, database] as const
}

it('D4 a version is available where this machine has that version, and only then', async () => {
  const availability = await databases('Redis 7.2').availability(databasePresetOf('REDIS'))
  expect(availability).toMatchObject({
    available: true,
    versions: [
      {
        key: '7.4',
        available: false,
        unavailableReason: expect.stringContaining('This machine has Redis 7.2.'),
      },
      { key: '7.2', available: true },
    ],
  })
  const none = await databases('Redis 7.2').availability(databasePresetOf('CLICKHOUSE'))
  expect(none).toMatchObject({ available: false, unavailableReason: expect.stringContaining('does not run') })
})

it('D4 another version of this machine is a version of its own', async () => {
  const { versions } = await databases('Redis 7.0').availability(databasePresetOf('REDIS'))
  expect(versions?.map(({ key, available }) => [key, available])).toEqual([
    ['7.4', false],
    ['7.2', false],
    ['7.0', true],
  ])
  expect(versions?.at(-1)).toMatchObject({ label: 'Redis 7.0', image: 'process-database/redis:7.0' })
  const mysql = await databases('MariaDB 10.11').availability(databasePresetOf('MYSQL'))
  expect(mysql.versions?.filter(({ available }) => available)).toMatchObject([
    { key: 'mariadb-10.11', label: 'MariaDB 10.11', variant: 'mariadb' },
  ])
})

it('D4 a new database starts as the chosen version or not at all; one with data goes on', async () => {
  const machine = databases('Redis 7.2')
  expect(await machine.startRequest(...spec('7.2'))).toMatchObject({ name: 'one' })
  const message = expect.stringContaining('has Redis 7.2, not version 7.4')
  const refused = { reason: 'not supported', message }
  await expect(machine.startRequest(...spec('7.4'))).rejects.toMatchObject(refused)
  await mkdir(path.join(engineFiles(dir).volumes, 'env_1', 'database', 'data'), { recursive: true })
  await expect(machine.startRequest(...spec('7.4', { persistent: false }))).rejects.toMatchObject(refused)
  expect(await machine.startRequest(...spec('7.4'))).toMatchObject({ name: 'one' })
})
