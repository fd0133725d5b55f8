import { existsSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { updateAppEnvVariables } from '../../../src/contract/app-env-actions.ts'
import { getLogs } from '../../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { createAppEnvBackup, getAppEnvBackup, restoreAppEnvBackup } from '../../../src/contract/backups.ts'
import { notifyCodeUpload, requestDeployStorageKey } from '../../../src/contract/deployments.ts'
import { secretMask } from '../../../src/contract/fields.ts'
import { listRegions } from '../../../src/contract/regions.ts'
import { BucketFiles } from '../../../src/files/bucket.ts'
import { DatabaseFixture, present } from '../../../testkit/databases/fixture.ts'
import { FaultyLink } from '../../../testkit/files/faulty-link.ts'
import { noS3Server, S3Server, s3Credentials, withS3Credentials } from '../../../testkit/files/s3-server.ts'
import { ControlPlanes } from '../../../testkit/platform/control-planes.ts'
import { deploy, noWindow, sampleSource, tgz, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { Canaries } from '../../../testkit/secrets/canaries.ts'
import { noPostgres, PostgresServer } from '../../../testkit/store/postgres-server.ts'
import { untilRead } from '../../../testkit/until.ts'

const leftOut = noPostgres ?? noS3Server
const hasRedis = await present('redis-cli', 'redis-server')

describe.skipIf(leftOut)(
  `control planes with files in a bucket${leftOut ? `: left out, ${leftOut}` : ''}`,
  () => {
    withS3Credentials()
    let server: PostgresServer
    let bucket: S3Server
    let link: FaultyLink
    let planes: ControlPlanes
    const north = () => planes.at('north-machine')
    const south = () => planes.at('south-machine')

    beforeAll(async () => {
      server = await PostgresServer.start()
      bucket = await S3Server.start()
      link = await FaultyLink.start(bucket.port)
      planes = await ControlPlanes.start(
        server,
        { 'north-machine': 'north=process', 'south-machine': 'south=process' },
        { ...s3Credentials, LONGSHORE_FILES_URL: `s3://files/tests?endpoint=${link.endpoint}` },
      )
    })
    afterAll(async () => {
      await planes?.dispose()
      link?.close()
      await bucket?.close()
      await server?.stop()
    })

    const stored = async (folder: string) => {
      const address = { kind: 'bucket', bucket: 'files', prefix: 'tests/', region: undefined } as const
      const storage = new BucketFiles({ ...address, endpoint: bucket.endpoint })
      const keys = (await storage.list(folder)).map(({ key }) => key)
      return { keys, texts: () => Promise.all(keys.map((key) => storage.text(key))) }
    }
    const filesOf = (home: string, folder: string) =>
      existsSync(path.join(home, folder)) ? readdirSync(path.join(home, folder)) : []

    async function makeApp(name: string): Promise<string> {
      const client = south().client()
      const { accountId } = south().ready
      const { appId } = await client.call(createApp, { accountId, name, dockerPreset: 'CUSTOM', port: 8080 })
      const input = { accountId, appId, name: 'prod', region: 'north', ...noWindow }
      return (await client.call(createAppEnv, input)).appEnvId
    }

    it('an archive sent to one machine is built on another', async () => {
      const appEnvId = await makeApp('web')
      await deploy(south(), appEnvId, sampleSource('node:22-alpine'))
      expect((await untilDeployed(south(), appEnvId)).currentDeployment).toMatchObject({ failure: null })
      const { hosts } = await north().client().call(getAppEnv, { appEnvId })
      expect((await north().request(hosts[0]?.host ?? '')).status).toBe(200)
      expect((await stored('uploads')).keys).toHaveLength(1)
      for (const plane of [north(), south()]) expect(filesOf(plane.home, 'uploads')).toEqual([])
    })

    it('a bucket that is away is 503 with the remedy, and the same upload works when it is back', async () => {
      const appEnvId = await makeApp('patient')
      const client = south().client()
      const { uploadUrl, storageKey } = await client.call(requestDeployStorageKey, { appEnvId })
      const body = new Uint8Array(await tgz(sampleSource('node:22-alpine')))
      link.mode = 'refuse'
      const refused = await fetch(uploadUrl, { method: 'PUT', body })
      expect(refused.status).toBe(503)
      expect(refused.headers.get('retry-after')).toBe('10')
      expect(await refused.json()).toMatchObject({
        error: 'The file storage does not answer',
        details: expect.stringContaining('LONGSHORE_FILES_URL'),
      })
      // What needs no file goes on.
      await client.call(getAppEnv, { appEnvId })
      link.mode = 'pass'
      expect((await fetch(uploadUrl, { method: 'PUT', body })).status).toBe(200)

      // A build waits for the bucket.
      link.mode = 'refuse'
      await client.call(notifyCodeUpload, { appEnvId, storageKey })
      await untilRead(
        async () => north().stderr,
        (text) => text.includes('cannot make an image; retrying'),
        'a build that waits',
      )
      link.mode = 'pass'
      expect((await untilDeployed(south(), appEnvId)).currentDeployment).toMatchObject({ failure: null })
    })

    it('kept logs outlive the disk of a machine; a bucket that is away is 503 for those, and for nothing else', async () => {
      const appEnvId = await makeApp('logged')
      const client = south().client()
      const secrets = new Canaries()
      const value = secrets.plant('variable of a build', (core) => core)
      await client.call(updateAppEnvVariables, { appEnvId, set: [{ name: 'KEY', value, type: 'BUILD' }] })
      const source = sampleSource('node:22-alpine')
      source.Dockerfile = source.Dockerfile!.replace('CMD', 'ARG KEY\nRUN echo "key $KEY"\nCMD')
      await deploy(south(), appEnvId, source)
      await untilDeployed(south(), appEnvId)
      const build = async () => (await client.call(getLogs, { appEnvId, type: 'BUILD' })).logs
      const before = await build()
      expect(before.length).toBeGreaterThan(0)
      await north().end('SIGTERM')
      const kept = await stored('kept-logs')
      expect(kept.keys).toContain(`kept-logs/north-machine/${appEnvId}/00000001.jsonl`)
      const text = (await kept.texts()).join('\n')
      expect(text).toContain(`key ${secretMask}`)
      expect(secrets.foundIn([{ where: 'bucket', text }])).toEqual([])
      rmSync(path.join(north().home, 'logs'), { recursive: true })
      await north().start()
      const after = await untilRead(build, (logs) => logs.length > 0, 'the logs of the bucket')
      expect(after).toEqual(expect.arrayContaining(before))

      link.mode = 'refuse'
      await expect(build()).rejects.toMatchObject({
        kind: 'unavailable',
        message: 'The file storage does not answer',
        details: expect.stringContaining('LONGSHORE_FILES_URL'),
      })
      const { hosts } = await client.call(getAppEnv, { appEnvId })
      expect((await north().request(hosts[0]?.host ?? '')).status).toBe(200)
      link.mode = 'pass'
      expect(await build()).toEqual(after)
    })

    it.skipIf(!hasRedis)(
      'a backup taken on one machine is restored on another (skipped without Redis)',
      async (context) => {
        await untilRead(
          async () => (await north().client().call(listRegions, {})).regions,
          (regions) => regions.every(({ capabilities }) => capabilities.databases.includes('REDIS')),
          'both machines know that they can run Redis',
        )
        const fixture = new DatabaseFixture(north())
        const from = await fixture.makeOrSkip(context, 'REDIS', { region: 'north', name: 'from' })
        const into = await fixture.makeOrSkip(context, 'REDIS', { region: 'south', name: 'into' })
        await fixture.redis(from, 'set', 'key', 'kept')
        const client = south().client()
        const { backup } = await client.call(createAppEnvBackup, { appEnvId: from })
        const { backupId } = backup
        const ended = () =>
          untilRead(
            () => client.call(getAppEnvBackup, { backupId }),
            (found) => [found.backup, ...found.restores].every(({ finishedAt }) => finishedAt !== null),
            'the end of the copy',
          )
        expect((await ended()).backup.failure).toBeNull()
        expect((await stored('backups')).keys).toEqual([`backups/${from}/${backupId}.rdb`])
        expect(filesOf(north().home, 'backups')).toEqual([])
        await client.call(restoreAppEnvBackup, { appEnvId: into, backupId })
        expect((await ended()).restores).toMatchObject([{ status: 'SUCCEEDED', failure: null }])
        expect(await fixture.redis(into, 'get', 'key')).toBe('kept')
        await expect.poll(() => filesOf(south().home, 'builds')).toEqual([])
      },
    )
  },
)
