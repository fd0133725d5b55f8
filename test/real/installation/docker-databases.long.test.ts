import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { applyAppEnvChanges, restartAppEnv } from '../../../src/contract/app-env-actions.ts'
import { getAppEnvPods } from '../../../src/contract/app-env-reads.ts'
import { deleteAppEnv, getAppEnv, updateAppEnv } from '../../../src/contract/app-envs.ts'
import { createAppEnvBackup, getAppEnvBackup, restoreAppEnvBackup } from '../../../src/contract/backups.ts'
import { redeployAppEnv } from '../../../src/contract/deployments.ts'
import { containerName } from '../../../src/engines/docker/names.ts'
import { DatabaseFixture, present, untilReads } from '../../../testkit/databases/fixture.ts'
import { databaseImageSource, ensureDatabaseImages } from '../../../testkit/databases/images.ts'
import { dockerAvailable } from '../../../testkit/engines/docker-available.ts'
import { leftOnDocker, testDocker } from '../../../testkit/engines/docker-images.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

const images = dockerAvailable ? await ensureDatabaseImages() : []
const here = {
  postgres: images.includes('postgres') && (await present('psql')),
  redis: images.includes('redis') && (await present('redis-cli')),
}

describe.skipIf(!here.postgres && !here.redis)(
  'managed databases on the docker engine (skipped where no Docker answers, or no server is installed to make an image of)',
  () => {
    const installation = new Installation({
      LONGSHORE_ENGINE: 'docker',
      LONGSHORE_DATABASE_IMAGES: databaseImageSource,
    })
    const fixture = new DatabaseFixture(installation)
    const docker = testDocker()
    const made: string[] = []
    beforeAll(() => installation.start().then(() => {}))
    afterAll(async () => {
      const client = installation.client()
      for (const appEnvId of made) await client.call(deleteAppEnv, { appEnvId })
      await untilRead(
        async () => (await Promise.all(made.map((appEnvId) => leftOnDocker(appEnvId)))).flat(),
        (left) => left.length === 0,
        'no container and no volume of them',
        180_000,
      )
      await installation.dispose()
    })

    async function make(...wanted: Parameters<DatabaseFixture['make']>): Promise<string> {
      const appEnvId = await fixture.make(...wanted)
      made.push(appEnvId)
      return appEnvId
    }

    async function containerOf(appEnvId: string) {
      const { pods } = await installation.client().call(getAppEnvPods, { appEnvId })
      const pod = pods.find(({ status }) => status === 'Running')
      const filters = { label: [`longshore.pod=${pod?.podId}`] }
      const [found] = await docker.listContainers({ filters })
      return docker.getContainer(found?.Id ?? containerName('none'))
    }

    it.skipIf(!here.postgres)(
      'D5 PostgreSQL on loopback keeps its rows through restart, kill -9 of container and platform, redeploy and new parameters',
      async () => {
        const client = installation.client()
        const appEnvId = await make('POSTGRESQL', { dockerPresetVersion: '15' })
        const { hosts } = await client.call(getAppEnv, { appEnvId })
        expect(hosts.map(({ kind }) => kind)).toEqual(['native', 'internal'])
        const rows = () => fixture.sql(appEnvId, `select string_agg(n::text, ',' order by n) from rows`)
        const add = 'insert into rows values'
        await fixture.sql(appEnvId, `create table rows (n int); ${add} (1)`)
        await client.call(restartAppEnv, { appEnvId })
        await fixture.untilRunning(appEnvId)
        await untilReads(rows, '1')
        await fixture.sql(appEnvId, `${add} (2)`)
        await (await containerOf(appEnvId)).kill({ signal: 'SIGKILL' })
        await untilReads(rows, '1,2')
        await fixture.sql(appEnvId, `${add} (3)`)
        await installation.end('SIGKILL')
        await installation.start()
        await fixture.sql(appEnvId, `${add} (4)`)
        await client.call(updateAppEnv, {
          appEnvId,
          databaseSettings: { postgresql: { parameters: { work_mem: '9MB' } } },
        })
        await client.call(applyAppEnvChanges, { appEnvId })
        await untilReads(() => fixture.sql(appEnvId, 'show work_mem'), '9MB')
        await client.call(redeployAppEnv, { appEnvId })
        await fixture.untilRunning(appEnvId)
        await untilReads(rows, '1,2,3,4')
      },
      300_000,
    )

    it.skipIf(!here.postgres)(
      'a PostgreSQL backup is taken and restored inside its container, which never shows the password as an argument',
      async () => {
        const client = installation.client()
        const from = await make('POSTGRESQL', { name: 'from', dockerPresetVersion: '15' })
        const into = await make('POSTGRESQL', { name: 'into', dockerPresetVersion: '15' })
        const rows = 'create table rows as select n, md5(n::text) t from generate_series(1, 50000) n'
        await fixture.sql(from, rows)
        const { backupId } = (await client.call(createAppEnvBackup, { appEnvId: from })).backup
        const end = () =>
          untilRead(
            () => client.call(getAppEnvBackup, { backupId }),
            ({ backup, restores }) => [backup, ...restores].every(({ finishedAt }) => finishedAt !== null),
            'its end',
            180_000,
          )
        expect((await end()).backup).toMatchObject({ status: 'SUCCEEDED', failure: null })
        await client.call(restoreAppEnvBackup, { appEnvId: into, backupId })
        expect((await end()).restores).toMatchObject([{ status: 'SUCCEEDED', failure: null }])
        const sum = `select md5(string_agg(n || t, ',' order by n)) from rows`
        expect(await fixture.sql(into, sum)).toBe(await fixture.sql(from, sum))
        const { password } = new URL(await fixture.url(from))
        const processes: string[][] = (await (await containerOf(from)).top()).Processes
        expect(processes.flat().join(' ')).toContain('postgres')
        expect(processes.flat().join(' ')).not.toContain(password)
        expect(installation.stderr).not.toContain(password)
      },
      300_000,
    )

    it.skipIf(!here.redis)(
      'Redis keeps what it has written through restart, kill -9 and redeploy, and comes back from a backup',
      async () => {
        const client = installation.client()
        const appEnvId = await make('REDIS', { dockerPresetVersion: '7.2' })
        const redis = (...words: string[]) => fixture.redis(appEnvId, ...words)
        const value = () => redis('get', 'key')
        /** The writes in the file of Redis; the last second of writes may be missing. */
        const written = () =>
          untilRead(
            () => redis('info', 'persistence'),
            (text) => /aof_buffer_length:0\b/.test(text),
            'all in the file',
          )
        expect(await redis('set', 'key', 'one')).toBe('OK')
        await client.call(restartAppEnv, { appEnvId })
        await fixture.untilRunning(appEnvId)
        await untilReads(value, 'one')
        await redis('set', 'key', 'two')
        await written()
        await (await containerOf(appEnvId)).kill({ signal: 'SIGKILL' })
        await untilReads(value, 'two')
        const { backupId } = (await client.call(createAppEnvBackup, { appEnvId })).backup
        const end = () =>
          untilRead(
            () => client.call(getAppEnvBackup, { backupId }),
            ({ backup, restores }) => [backup, ...restores].every(({ finishedAt }) => finishedAt !== null),
            'its end',
            180_000,
          )
        expect((await end()).backup.status).toBe('SUCCEEDED')
        await redis('set', 'key', 'three')
        await client.call(restoreAppEnvBackup, { appEnvId, backupId })
        expect((await end()).restores[0]?.status).toBe('SUCCEEDED')
        expect(await value()).toBe('two')
        await client.call(redeployAppEnv, { appEnvId })
        await fixture.untilRunning(appEnvId)
        await untilReads(value, 'two')
      },
      300_000,
    )
  },
)
