import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAppEnv, deleteAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { listRegions } from '../../../src/contract/regions.ts'
import { ApiProxy } from '../../../testkit/kubernetes/api-proxy.ts'
import { cluster, kubectl } from '../../../testkit/kubernetes/cluster.ts'
import { ClusterInstallation } from '../../../testkit/kubernetes/cluster-installation.ts'
import { shellImage } from '../../../testkit/kubernetes/images.ts'
import { noWindow, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { untilRead } from '../../../testkit/until.ts'

const limitMs = 240_000
/** Adds a line to a file of the volume. */
const writeScript = 'echo "$COLOR" >> /data/lines'
/** And serves the file. */
const serveScript = `trap "exit 0" TERM; ${writeScript}; mkdir -p /tmp/www; cp /data/lines /tmp/www/index.html; httpd -f -p "$PORT" -h /tmp/www & wait`

describe.skipIf(!cluster.kubeconfig || !cluster.registry || !cluster.ingress)(
  'a deleted environment of a cluster, and the next one of its name',
  () => {
    const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-deletion-'))
    const kubeconfig = path.join(dir, 'kubeconfig')
    const proxy = new ApiProxy(cluster.kubeconfig!)
    let installation: ClusterInstallation
    let appId = ''
    beforeAll(async () => {
      await proxy.open(kubeconfig)
      installation = new ClusterInstallation({ LONGSHORE_CLOCK_SCALE: '60' }, { kubeconfig })
      await installation.start()
      const { accountId } = installation.ready
      const app = { name: 'heir', accountId, port: 8080, useImage: true }
      appId = (await installation.client().call(createApp, app)).appId
    }, limitMs)
    afterAll(async () => {
      await installation.dispose()
      await proxy.close()
      rmSync(dir, { recursive: true, force: true })
    })

    const create = async (cliEnvName: string, color: string, image: string): Promise<string> => {
      const { accountId } = installation.ready
      const { appEnvId } = await installation.client().call(createAppEnv, {
        ...{ accountId, appId, name: 'prod', cliEnvName, region: 'eu', ...noWindow },
        ...{ useVolume: true, mountPath: '/data' },
        envVars: [{ name: 'COLOR', value: color, type: 'DEPLOY', isSecret: false }],
      })
      await installation.client().call(deployAppEnvImage, { appEnvId, image })
      return appEnvId
    }
    const failureOf = async (appEnvId: string) =>
      (await untilDeployed(installation, appEnvId)).currentDeployment?.failure ?? null
    /** Names of objects with the label of the environment. Secrets and pods too. */
    const objectsOf = async (appEnvId: string): Promise<string[]> => {
      const kinds = 'deployments,services,ingresses,persistentvolumeclaims,secrets,pods'
      const printed = await kubectl([
        ...['get', kinds, '-A', '-o', 'name', '-l', `longshore.dev/environment=${appEnvId}`],
      ])
      return printed.split('\n').filter((line) => line !== '')
    }
    const untilGone = (appEnvId: string) =>
      untilRead(
        () => objectsOf(appEnvId),
        ({ length }) => length === 0,
        `nothing left of ${appEnvId}`,
        limitMs,
      )
    const served = async (appEnvId: string) => {
      const host = (await installation.client().call(getAppEnv, { appEnvId })).hosts[0]!.host
      const { body } = await untilRead(
        () => installation.request(host),
        ({ status }) => status === 200,
        `an answer of ${host}`,
        limitMs,
      )
      return body.split('\n')
    }
    const untilAvailable = (available: boolean) =>
      untilRead(
        async () => (await installation.client().call(listRegions, {})).regions[0]!,
        (region) => region.available === available,
        `a region that is ${available ? 'available' : 'away'}`,
        limitMs,
      )

    it('goes with the volume of a first version that failed; the next one finds no file of it', async () => {
      const failing = await shellImage('deletion-fails', `${writeScript}; exit 1`)
      const first = await create('heir-one', 'red', failing)
      expect(await failureOf(first)).not.toBeNull()
      await untilRead(
        () => objectsOf(first),
        (left) => left.length === 1 && left[0]!.includes('heir-one-data'),
        'the volume and nothing else',
        limitMs,
      )
      await installation.client().call(deleteAppEnv, { appEnvId: first })
      const next = await create('heir-one', 'blue', await shellImage('deletion', serveScript))
      expect(await failureOf(next)).toBeNull()
      expect(await served(next)).toEqual(['blue'])
      await untilGone(first)
    })

    it('takes nothing of the next one along when both are found after an outage', async () => {
      const image = await shellImage('deletion', serveScript)
      const first = await create('heir-two', 'red', image)
      expect(await failureOf(first)).toBeNull()
      expect(await served(first)).toEqual(['red'])
      proxy.cut()
      await untilAvailable(false)
      await installation.client().call(deleteAppEnv, { appEnvId: first })
      const next = await create('heir-two', 'blue', image)
      proxy.restore()
      await untilAvailable(true)
      expect(await failureOf(next)).toBeNull()
      await untilGone(first)
      expect(await served(next)).toEqual(['blue'])
      const kinds = (await objectsOf(next)).map((name) => name.split('/')[0]!.split('.')[0])
      expect([...new Set(kinds)].sort()).toEqual([
        ...['deployment', 'ingress', 'persistentvolumeclaim', 'pod', 'secret', 'service'],
      ])
    })
  },
)
