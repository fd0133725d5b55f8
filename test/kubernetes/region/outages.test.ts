import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnvPods, getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { createAppEnv, deleteAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { getJobRun, startJobRun } from '../../../src/contract/jobs.ts'
import { listRegions, type Region } from '../../../src/contract/regions.ts'
import { ApiProxy } from '../../../testkit/kubernetes/api-proxy.ts'
import { cluster, kubectl } from '../../../testkit/kubernetes/cluster.ts'
import { ClusterInstallation } from '../../../testkit/kubernetes/cluster-installation.ts'
import { shellImage, webScript } from '../../../testkit/kubernetes/images.ts'
import { noWindow, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { untilRead } from '../../../testkit/until.ts'

const limitMs = 240_000

describe.skipIf(!cluster.kubeconfig || !cluster.registry || !cluster.ingress)(
  'a cluster that goes away',
  () => {
    const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-outages-'))
    const kubeconfig = path.join(dir, 'kubeconfig')
    let installation: ClusterInstallation
    let proxy: ApiProxy
    let appEnvId = ''
    let host = ''
    beforeAll(async () => {
      proxy = new ApiProxy(cluster.kubeconfig!)
      installation = new ClusterInstallation(
        { LONGSHORE_CLOCK_SCALE: '60' },
        { kubeconfig, others: [{ name: 'local', engine: 'process' }], settings: { ingressClass: 'no-such' } },
      )
      await installation.start()
    })
    afterAll(async () => {
      await installation.dispose()
      await proxy.close()
      await kubectl(['delete', 'ingressclass', 'no-such', '--ignore-not-found'])
      rmSync(dir, { recursive: true, force: true })
    })

    const regionNamed = async (name: string): Promise<Region> => {
      const { regions } = await installation.client().call(listRegions, {})
      return regions.find(({ region }) => region === name)!
    }
    const untilAvailable = (available: boolean) =>
      untilRead(
        () => regionNamed('eu'),
        (region) => region.available === available,
        `a region that is ${available ? 'available' : 'away'}`,
        limitMs,
      )
    const check = (name: string) =>
      new Promise<{ code: number; out: string }>((resolve) => {
        const env = {
          ...process.env,
          LONGSHORE_URL: installation.ready.api.replace(/\/api\/.*/, ''),
          LONGSHORE_TOKEN: installation.token,
        }
        execFile(process.execPath, ['dist/longshore.js', 'region', 'check', name], { env }, (error, out) =>
          resolve({ code: error ? Number(error.code) : 0, out }),
        )
      })
    /** The objects of the environment with their ids, as `kind/name uid`. */
    const objects = async (kinds: string, id = appEnvId) => {
      const columns = '-o=jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid}{"\\n"}{end}'
      return (await kubectl(['get', kinds, '-A', '-l', `longshore.dev/environment=${id}`, columns]))
        .split('\n')
        .filter((line) => line !== '')
    }
    const untilServed = () =>
      untilRead(
        () => installation.request(host),
        ({ status, body }) => status === 200 && body === 'red',
        `an answer of ${host}`,
        limitMs,
      )
    const deployed = async (name: string) => {
      const client = installation.client()
      const { accountId } = installation.ready
      const { appId } = await client.call(createApp, { name, accountId, port: 8080, useImage: true })
      const made = await client.call(createAppEnv, {
        ...{ accountId, appId, name: 'prod', region: 'eu', ...noWindow },
        envVars: [{ name: 'COLOR', value: 'red', type: 'DEPLOY', isSecret: false }],
      })
      const image = await shellImage('outages', webScript)
      await client.call(deployAppEnvImage, { appEnvId: made.appEnvId, image })
      expect((await untilDeployed(installation, made.appEnvId)).currentDeployment?.failure).toBeNull()
      return made.appEnvId
    }

    it('does not stop the start: other regions serve, and it comes by itself', async () => {
      expect(await regionNamed('local')).toMatchObject({ available: true })
      const reason = 'The credentials of the cluster cannot be read'
      expect(await regionNamed('eu')).toMatchObject({ available: false, unavailableReason: reason })
      expect(installation.stderr).toContain(`Region eu: ${reason}`)
      expect(await check('eu')).toMatchObject({ code: 1, out: expect.stringContaining(reason) })
      expect((await check('local')).code).toBe(0)
      await proxy.open(kubeconfig)
      expect(await untilAvailable(true)).toMatchObject({ capabilities: { jobs: true, functions: true } })
    })

    it('region check fails for a part that the file asks for and the cluster lacks', async () => {
      const why =
        'The cluster has no ingress class no-such. Create it, or correct ingressClass of the region.'
      await expect
        .poll(async () => (await regionNamed('eu')).missing)
        .toEqual([{ capability: 'apps', reason: why }])
      const { code, out } = await check('eu')
      expect(code).toBe(1)
      expect(out).toContain(`✗ apps: ${why}`)
      expect(out).toMatch(/^✓ functions$/m)
    })

    it('keeps serving while its API server is away, and what happened meanwhile is found', async () => {
      const manifest = {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'IngressClass',
        metadata: { name: 'no-such', annotations: {} },
        spec: { controller: 'traefik.io/ingress-controller' },
      }
      await kubectl(['apply', '-f', '-'], manifest)
      appEnvId = await deployed('steady')
      const doomed = await deployed('doomed')
      const client = installation.client()
      host = (await client.call(getAppEnv, { appEnvId })).hosts[0]!.host
      await untilServed()
      const [before = ''] = await objects('pods')
      proxy.cut()
      expect((await untilAvailable(false)).unavailableReason).toContain('API server')
      expect(await installation.request(host)).toMatchObject({ status: 200 })
      await client.call(deleteAppEnv, { appEnvId: doomed })
      const [namespace = ''] = await installation.namespaces()
      await kubectl(['delete', 'pods', '-n', namespace, '-l', `longshore.dev/environment=${appEnvId}`])
      await kubectl(['delete', 'service', '-n', namespace, '-l', `longshore.dev/environment=${appEnvId}`])
      proxy.restore()
      await untilAvailable(true)
      await untilRead(
        async () =>
          (await client.call(getAppEnvPods, { appEnvId })).pods.filter(({ status }) => status === 'Running'),
        (pods) => pods.length === 1 && !before.includes(pods[0]!.name),
        'the pod that took the place of the deleted one',
        limitMs,
      )
      await untilRead(
        () => objects('deployments,ingresses', doomed),
        (left) => left.length === 0,
        'no orphan',
        limitMs,
      )
      // Drift of an object that no watch shows is repaired with the next resync.
      await untilServed()
    })

    it('is adopted after Longshore was killed: nothing is doubled or restarted, and drift is repaired', async () => {
      const kinds = 'deployments,replicasets,pods'
      const before = await untilRead(
        () => objects(kinds),
        (found) => found.length === 3,
        'one Deployment, one ReplicaSet and one pod: the deleted pod is gone',
        limitMs,
      )
      await installation.end('SIGKILL')
      const [namespace = ''] = await installation.namespaces()
      await kubectl(['delete', 'ingress', '-n', namespace, '-l', `longshore.dev/environment=${appEnvId}`])
      await installation.start()
      await untilServed()
      expect(await objects(kinds)).toEqual(before)
      const client = installation.client()
      expect((await client.call(getAppEnvStatus, { appEnvId })).containers.running).toBe(1)
      await kubectl(['delete', 'deployment', '-n', namespace, '-l', `longshore.dev/environment=${appEnvId}`])
      await untilRead(
        () => objects('deployments'),
        (found) => found.length === 1 && found[0] !== before[0],
        'a new Deployment',
        limitMs,
      )
      await untilServed()
    })

    it('does not repeat a job that runs while Longshore is killed and started again', async () => {
      const client = installation.client()
      const { accountId } = installation.ready
      const job = { name: 'slow', accountId, dockerPreset: 'JOB' as const, useImage: true }
      const { appId } = await client.call(createApp, job)
      const made = await client.call(createAppEnv, { accountId, appId, name: 'prod', region: 'eu' })
      const image = `${cluster.registry}/busybox:1`
      await client.call(deployAppEnvImage, { appEnvId: made.appEnvId, image })
      await untilDeployed(installation, made.appEnvId)
      const run = { appEnvId: made.appEnvId, command: 'sleep 20', shell: true, backoffLimit: 2 }
      const { jobRunId } = (await client.call(startJobRun, run)).jobRun
      const statusOf = async () => (await installation.client().call(getJobRun, { jobRunId })).jobRun
      await untilRead(statusOf, ({ status }) => status === 'RUNNING', 'a running job', limitMs)
      await untilRead(
        () => objects('pods', made.appEnvId),
        (pods) => pods.length === 1,
        'its pod',
        limitMs,
      )
      await installation.end('SIGKILL')
      await installation.start()
      const isOver = (status: string) => !['PENDING', 'RUNNING'].includes(status)
      const over = await untilRead(statusOf, ({ status }) => isOver(status), 'the end of the job', limitMs)
      expect(over).toMatchObject({ status: 'SUCCEEDED', attempt: 1, exitCode: 0 })
      expect(await objects('jobs', made.appEnvId)).toHaveLength(1)
      await installation.client().call(startJobRun, { ...run, command: 'sleep 600' })
      await untilRead(
        () => objects('jobs', made.appEnvId),
        ({ length }) => length === 2,
        'another job',
        limitMs,
      )
      await installation.client().call(deleteAppEnv, { appEnvId: made.appEnvId })
      await untilRead(
        () => objects('jobs,secrets', made.appEnvId),
        ({ length }) => length === 0,
        'no job of a deleted environment',
        limitMs,
      )
    })
  },
)
