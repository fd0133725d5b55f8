import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getLogs } from '../../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { listInstances } from '../../../src/contract/instances.ts'
import { listRegions } from '../../../src/contract/regions.ts'
import { newToken } from '../../../src/domain/access/tokens.ts'
import { cluster } from '../../../testkit/kubernetes/cluster.ts'
import { ClusterInstallation } from '../../../testkit/kubernetes/cluster-installation.ts'
import { shellImage, webScript } from '../../../testkit/kubernetes/images.ts'
import { noWindow, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { PostgresServer } from '../../../testkit/store/postgres-server.ts'
import { untilRead } from '../../../testkit/until.ts'

const limitMs = 240_000

describe.skipIf(!cluster.kubeconfig || !cluster.registry || !cluster.ingress)(
  'a cluster region of two control planes',
  () => {
    const files = mkdtempSync(path.join(os.tmpdir(), 'longshore-files-'))
    let server: PostgresServer
    let planes: Record<'alder' | 'birch', ClusterInstallation>
    beforeAll(async () => {
      server = await PostgresServer.start()
      const { url } = await server.createDatabase()
      const settings = {
        LONGSHORE_DATABASE_URL: url.reveal(),
        LONGSHORE_MASTER_KEY: randomBytes(32).toString('hex'),
        LONGSHORE_BOOTSTRAP_TOKEN: newToken('user'),
        LONGSHORE_CLOCK_SCALE: '60',
        LONGSHORE_FILES_URL: pathToFileURL(files).href,
      }
      const alder = new ClusterInstallation({ ...settings, LONGSHORE_NODE: 'alder' })
      const { region } = alder
      const birch = new ClusterInstallation({ ...settings, LONGSHORE_NODE: 'birch' }, { region })
      planes = { alder, birch }
      await Promise.all([alder.start(), birch.start()])
    })
    afterAll(async () => {
      await Promise.all(Object.values(planes).map((one) => one.dispose()))
      await server.stop()
      rmSync(files, { recursive: true, force: true })
    })

    /** Who runs the region, as `observer` lists it. */
    const holder = async (observer: ClusterInstallation) => {
      const { instances } = await observer.client().call(listInstances, {})
      return instances.find(({ leases }) => leases.some(({ name }) => name === 'region eu'))?.node ?? null
    }

    it('is one region on both; the other one goes on when one dies, with its logs, and nothing is restarted', async () => {
      const first = (await untilRead(() => holder(planes.alder), Boolean, 'a holder')) as 'alder' | 'birch'
      const second = first === 'alder' ? planes.birch : planes.alder
      for (const plane of Object.values(planes)) {
        const { regions } = await untilRead(
          () => plane.client().call(listRegions, {}),
          (read) => read.regions.every(({ available }) => available),
          'an available region',
        )
        expect(regions).toMatchObject([{ region: 'eu', name: 'eu (kubernetes)' }])
        expect(regions[0]).not.toHaveProperty('node')
      }

      // Through the one that does not run it.
      const client = second.client()
      const { accountId } = second.ready
      const app = { name: 'web', accountId, port: 8080, useImage: true }
      const { appId } = await client.call(createApp, app)
      const made = await client.call(createAppEnv, {
        accountId,
        appId,
        name: 'prod',
        region: 'eu',
        ...noWindow,
      })
      const { appEnvId } = made
      const image = await shellImage('planes', webScript)
      await client.call(deployAppEnvImage, { appEnvId, image })
      expect((await untilDeployed(second, appEnvId)).currentDeployment?.failure).toBeNull()
      const { host } = (await client.call(getAppEnv, { appEnvId })).hosts[0]!
      const answers = () => second.request(host)
      await untilRead(answers, ({ status }) => status === 200, 'an answer', limitMs)
      const lines = () => client.call(getLogs, { appEnvId, search: 'listening on' })
      await untilRead(lines, ({ logs }) => logs.length === 1, 'its log')

      await planes[first].end('SIGKILL')
      expect(await answers()).toMatchObject({ status: 200 })
      const killedMs = performance.now()
      await untilRead(
        () => holder(second),
        (node) => node !== first && node !== null,
        'another holder',
        limitMs,
      )
      // Two expiries: one until it counts as gone, and one in which the other is sure not to have been away itself.
      expect(performance.now() - killedMs).toBeLessThan(60_000)
      await untilRead(lines, ({ logs }) => logs.length === 1, 'its log, read again')
      await client.call(deployAppEnvImage, { appEnvId, image })
      expect((await untilDeployed(second, appEnvId)).currentDeployment?.failure).toBeNull()
      await untilRead(lines, ({ logs }) => logs.length === 2, 'the lines of both containers')

      // The kept lines of a container that is gone are where the next holder finds them.
      await planes[first].start()
      await second.end('SIGTERM')
      await untilRead(
        () => holder(planes[first]),
        (node) => node === first,
        'the first one again',
        limitMs,
      )
      const again = () => planes[first].client().call(getLogs, { appEnvId, search: 'listening on' })
      const { logs } = await untilRead(
        again,
        (read) => read.logs.length === 2,
        'the lines of both containers',
      )
      expect(new Set(logs.map(({ podName }) => podName)).size).toBe(2)
    })
  },
)
