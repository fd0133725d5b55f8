import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import {
  applyAppEnvChanges,
  restartAppEnv,
  scaleAppEnvContainers,
} from '../../../src/contract/app-env-actions.ts'
import { deleteAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import type { DatabasePresetName } from '../../../src/contract/fields.ts'
import { DatabaseFixture, present, psql, redisCli, untilReads } from '../../../testkit/databases/fixture.ts'
import { databaseImageSource, ensureDatabaseImages } from '../../../testkit/databases/images.ts'
import { dockerAvailable } from '../../../testkit/engines/docker-available.ts'
import { leftOnDocker, testDocker } from '../../../testkit/engines/docker-images.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

const images = dockerAvailable ? await ensureDatabaseImages() : []
const clients = { postgres: await present('psql'), redis: await present('redis-cli') }
const engines = [
  { engine: 'process', postgres: clients.postgres, redis: clients.redis },
  {
    engine: 'docker',
    postgres: clients.postgres && images.includes('postgres'),
    redis: clients.redis && images.includes('redis'),
  },
] as const

for (const { engine, ...here } of engines) {
  describe.skipIf(!here.postgres && !here.redis)(
    `replicas on the ${engine} engine (skipped where no server is installed, or no Docker answers)`,
    () => {
      const installation = new Installation({
        LONGSHORE_ENGINE: engine,
        ...(engine === 'docker' ? { LONGSHORE_DATABASE_IMAGES: databaseImageSource } : {}),
      })
      const fixture = new DatabaseFixture(installation)
      const made: string[] = []
      beforeAll(() => installation.start().then(() => {}))
      afterAll(async () => {
        for (const appEnvId of made) await installation.client().call(deleteAppEnv, { appEnvId })
        await untilRead(
          async () =>
            engine === 'docker' ? (await Promise.all(made.map((one) => leftOnDocker(one)))).flat() : [],
          (left) => left.length === 0,
          'nothing left of them',
          180_000,
        )
        await installation.dispose()
      })

      async function make(
        context: TestContext,
        dockerPreset: DatabasePresetName,
        containers: number,
        version: string,
      ) {
        // Programs of this machine have one version, which is the default there.
        const wanted = {
          containers,
          zClouds: 1,
          ...(engine === 'docker' && { dockerPresetVersion: version }),
        }
        const appEnvId = await fixture.makeOrSkip(context, dockerPreset, wanted)
        made.push(appEnvId)
        return appEnvId
      }

      /** Addresses on loopback, the first container's first. */
      async function urls(appEnvId: string): Promise<string[]> {
        const { hosts } = await installation.client().call(getAppEnv, { appEnvId, decrypt: true })
        return hosts.filter(({ kind }) => kind === 'native').map(({ url }) => url)
      }

      /** `kill -9` of the first container while the others run on. */
      const killFirst = async (appEnvId: string) => {
        const [port] = (await urls(appEnvId)).map((url) => new URL(url).port)
        if (engine === 'docker') {
          const filters = { label: [`longshore.env=${appEnvId}`] }
          const all = await testDocker().listContainers({ filters })
          const found = all.find(({ Ports }) => Ports.some(({ PublicPort }) => String(PublicPort) === port))
          await testDocker()
            .getContainer(found?.Id ?? '')
            .kill({ signal: 'SIGKILL' })
        } else {
          const data = path.join(installation.home, 'engine', 'volumes', appEnvId, 'database', 'data')
          process.kill(
            Number(readFileSync(path.join(data, 'postmaster.pid'), 'utf8').split('\n')[0]),
            'SIGKILL',
          )
        }
      }

      it.skipIf(!here.postgres)(
        'PostgreSQL replicas follow the first container, take no writes, and come back after restarts and a scaling',
        async (context) => {
          const client = installation.client()
          const appEnvId = await make(context, 'POSTGRESQL', 2, '15')
          const [first = '', second = '', ...more] = await urls(appEnvId)
          expect(more).toEqual([])
          await psql(first, 'create table rows (n int); insert into rows values (1)')
          const rows = (url: string) => () =>
            psql(url, `select string_agg(n::text, ',' order by n) from rows`)
          await untilReads(rows(second), '1')
          expect(await psql(first, 'select count(*) from pg_stat_replication')).toBe('1')
          await expect(psql(second, 'insert into rows values (9)')).rejects.toThrow('read-only')
          await client.call(restartAppEnv, { appEnvId })
          await fixture.untilRunning(appEnvId)
          await psql(first, 'insert into rows values (2)')
          await untilReads(rows(second), '1,2')
          await installation.end('SIGKILL')
          await installation.start()
          await killFirst(appEnvId)
          await untilReads(() => psql(first, 'insert into rows values (3) returning n'), '3')
          await untilReads(rows(second), '1,2,3')
          await client.call(scaleAppEnvContainers, { appEnvId, containers: 3 })
          await client.call(applyAppEnvChanges, { appEnvId })
          await fixture.untilRunning(appEnvId)
          const scaled = await urls(appEnvId)
          expect(scaled.slice(0, 2)).toEqual([first, second])
          await psql(first, 'insert into rows values (4)')
          for (const url of scaled) await untilReads(rows(url), '1,2,3,4')
          expect(await psql(first, 'select count(*) from pg_stat_replication')).toBe('2')
          const { hosts } = await client.call(getAppEnv, { appEnvId })
          expect(hosts.filter(({ kind }) => kind === 'internal')).toHaveLength(engine === 'docker' ? 3 : 0)
        },
        300_000,
      )

      it.skipIf(!here.redis)(
        'Redis replicas follow the first container and take no writes',
        async (context) => {
          const appEnvId = await make(context, 'REDIS', 3, '7.2')
          const [first = '', ...others] = await urls(appEnvId)
          expect(others).toHaveLength(2)
          await redisCli(first, 'set', 'key', 'one')
          for (const url of others) {
            await untilReads(() => redisCli(url, 'get', 'key'), 'one')
            expect(await redisCli(url, 'set', 'key', 'mine')).toContain('READONLY')
          }
          expect(await redisCli(first, 'info', 'replication')).toContain('connected_slaves:2')
          await installation.client().call(restartAppEnv, { appEnvId })
          await fixture.untilRunning(appEnvId)
          for (const url of [first, ...others]) await untilReads(() => redisCli(url, 'get', 'key'), 'one')
        },
        300_000,
      )
    },
  )
}
