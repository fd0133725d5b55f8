import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { createAppEnv, deleteAppEnv, getAppEnv, updateAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { cluster, kubectl } from '../../../testkit/kubernetes/cluster.ts'
import { builderSettings, ClusterInstallation } from '../../../testkit/kubernetes/cluster-installation.ts'
import { canPushImages, nodeImage, pushNodeImage } from '../../../testkit/kubernetes/pushed-images.ts'
import { deploy, noWindow, sampleSource, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { copyVolume, moveBackFromCluster, moveWithVolume } from '../../../testkit/platform/volume-move.ts'
import { untilRead } from '../../../testkit/until.ts'

const limitMs = 240_000
const testLimitMs = 600_000
/** How often the edge in front of both regions reads the address; less than the minute that the old one stays. */
const edgeReadsEveryMs = 500

describe.skipIf(!cluster.kubeconfig || !cluster.ingress || !cluster.buildkit || !canPushImages)(
  'an environment moves between a machine and a cluster',
  () => {
    let installation: ClusterInstallation
    beforeAll(async () => {
      await pushNodeImage()
      installation = new ClusterInstallation(
        { LONGSHORE_CLOCK_SCALE: '5' },
        { others: [{ name: 'local', engine: 'process' }], settings: builderSettings },
      )
      await installation.start()
    }, limitMs)
    afterAll(() => installation.dispose())

    it(
      '3.3 there and back: no request through an edge that follows its address fails',
      async () => {
        const client = installation.client()
        const { accountId } = installation.ready
        const { appId } = await client.call(createApp, { name: 'mover', accountId, port: 8080, ...noWindow })
        const input = { accountId, appId, name: 'prod', region: 'local' }
        const { appEnvId } = await client.call(createAppEnv, input)
        await deploy(installation, appEnvId, sampleSource(nodeImage))
        expect((await untilDeployed(installation, appEnvId)).currentDeployment?.failure).toBeNull()
        const addressOf = async () => (await client.call(getAppEnv, { appEnvId })).hosts[0]!.host
        const edge = await requestsThroughAnEdge(installation, addressOf)
        const untilMoved = (region: string) =>
          untilRead(
            () => client.call(getAppEnv, { appEnvId }),
            (environment) => {
              const { changingRegion, status } = environment
              return environment.region === region && !changingRegion && status === 'RUNNING'
            },
            `a move to ${region}`,
            limitMs,
          )

        const machineHost = await addressOf()
        await client.call(updateAppEnv, { appEnvId, region: 'eu' })
        expect(await addressOf()).toBe(machineHost)
        await untilMoved('eu')
        const clusterHost = await addressOf()
        expect(clusterHost).not.toBe(machineHost)
        await edge.untilServedBy(clusterHost)
        // For a minute the old address answers too, then it is gone.
        expect((await installation.request(machineHost)).status).toBe(200)
        await untilRead(
          () => installation.request(machineHost),
          ({ status }) => status === 404,
          '404',
          limitMs,
        )

        await client.call(updateAppEnv, { appEnvId, region: 'local' })
        await untilMoved('local')
        await edge.untilServedBy(machineHost)
        expect((await installation.request(clusterHost)).status).toBe(200)
        const [namespace = ''] = await installation.namespaces()
        await untilRead(
          () =>
            kubectl([
              ...['get', 'deployments,services,ingresses,secrets,pods', '-n', namespace, '-o', 'name'],
              ...['-l', `longshore.dev/environment=${appEnvId}`],
            ]),
          (names) => names.trim() === '',
          'nothing left in the cluster',
          limitMs,
        )
        const { failures, served } = await edge.end()
        expect(failures).toEqual([])
        expect(served).toBeGreaterThan(100)
      },
      testLimitMs,
    )

    it(
      'with a volume: its files come along, there and back, and neither region keeps a copy',
      async () => {
        const appEnvId = await moveWithVolume(installation, {
          base: nodeImage,
          regions: ['local', 'eu', 'local'],
        })
        const [namespace = ''] = await installation.namespaces()
        await untilRead(
          () => kubectl(['get', 'persistentvolumeclaims,deployments,jobs', '-n', namespace, '-o', 'name']),
          (names) => names.trim() === '',
          'nothing left in the cluster',
          limitMs,
        )
        await installation.client().call(deleteAppEnv, { appEnvId })
      },
      testLimitMs,
    )

    it(
      'with a volume, of a version that does not start there: it goes on where it was, with its files, twice',
      async () => {
        const appEnvId = await moveBackFromCluster(installation, { base: nodeImage, from: 'local', to: 'eu' })
        // The container in the cluster may still be being removed.
        const containers = async () =>
          (await installation.client().call(getAppEnvStatus, { appEnvId })).containers
        await expect.poll(containers).toEqual({ desired: 1, running: 1, ready: 1 })
        await installation.client().call(deleteAppEnv, { appEnvId })
      },
      testLimitMs,
    )

    it(
      'the files of a volume come along into another environment by backup and restore',
      () => copyVolume(installation, { base: nodeImage, regions: ['local', 'eu'] }),
      testLimitMs,
    )
  },
)

/**
 * Sends requests one after the other, four at a time, to the address that an edge in front of both regions has: it reads
 * the address again and again, as a resolver does.
 */
async function requestsThroughAnEdge(installation: ClusterInstallation, addressOf: () => Promise<string>) {
  let address = await addressOf()
  let isOver = false
  const failures: string[] = []
  const served = new Map<string, number>()
  const follow = async () => {
    while (!isOver) {
      address = await addressOf().catch(() => address)
      await pause(edgeReadsEveryMs)
    }
  }
  const ask = async () => {
    while (!isOver) {
      const host = address
      const answer = await installation.request(host).catch((error: Error) => ({ status: error.message }))
      if (answer.status !== 200) failures.push(`${host}: ${answer.status}`)
      served.set(host, (served.get(host) ?? 0) + 1)
      await pause(25)
    }
  }
  const running = Promise.all([follow(), ask(), ask(), ask(), ask()])
  return {
    untilServedBy: (host: string) =>
      untilRead(
        async () => served.get(host) ?? 0,
        (count) => count > 50,
        `requests to ${host}`,
      ),
    async end() {
      isOver = true
      await running
      return { failures, served: [...served.values()].reduce((one, other) => one + other, 0) }
    },
  }
}
