import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  restartAppEnv,
  scaleAppEnvContainers,
  startAppEnv,
  stopAppEnv,
  updateAppEnvVariables,
} from '../../../src/contract/app-env-actions.ts'
import { getAppEnvPods, getAppEnvStatus, getLogs } from '../../../src/contract/app-env-reads.ts'
import { createAppEnv, deleteAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { getAppEnvUsage } from '../../../src/contract/measurements.ts'
import { listRegions } from '../../../src/contract/regions.ts'

import { cluster, kubectl, kubectlWarnings } from '../../../testkit/kubernetes/cluster.ts'
import { ClusterInstallation } from '../../../testkit/kubernetes/cluster-installation.ts'
import { shellImage, webScript } from '../../../testkit/kubernetes/images.ts'
import { noWindow, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { untilRead } from '../../../testkit/until.ts'

const limitMs = 300_000
/** Answers how often a container of the environment has started. */
const countingScript = `trap "exit 0" TERM; n=$(cat /data/n 2>/dev/null || echo 0); mkdir -p /tmp/www; echo $((n + 1)) | tee /data/n > /tmp/www/index.html; httpd -f -p "$PORT" -h /tmp/www & wait`

describe.skipIf(!cluster.kubeconfig || !cluster.registry || !cluster.ingress)('a cluster region', () => {
  let installation: ClusterInstallation
  let image = ''
  beforeAll(async () => {
    image = await shellImage('web', webScript)
    installation = new ClusterInstallation({ LONGSHORE_CLOCK_SCALE: '60' })
    await installation.start()
  })
  afterAll(() => installation.dispose())

  async function make(
    name: string,
    { useVolume = false, ...values }: { dockerPreset?: 'FUNCTION'; useVolume?: boolean } = {},
  ) {
    const client = installation.client()
    const { accountId } = installation.ready
    const { appId } = await client.call(createApp, { name, accountId, port: 8080, useImage: true, ...values })
    const functionConfig = values.dockerPreset ? { functionConfig: { idleTimeoutSeconds: 300 } } : {}
    const { appEnvId } = await client.call(createAppEnv, {
      ...{
        accountId,
        appId,
        name: 'prod',
        region: 'eu',
        ...noWindow,
        ...functionConfig,
        ...(useVolume ? { useVolume } : {}),
      },
      envVars: [{ name: 'COLOR', value: 'blue', type: 'DEPLOY', isSecret: false }],
    })
    const { hosts } = await client.call(getAppEnv, { appEnvId })
    return { client, appEnvId, host: hosts[0]!.host }
  }

  const untilServed = (host: string, body: string) =>
    untilRead(
      () => installation.request(host),
      (answer) => answer.status === 200 && answer.body === body,
      `${body} from ${host}`,
      limitMs,
    )

  it('F5 says what it can run', async () => {
    const regions = async () => (await installation.client().call(listRegions, {})).regions
    // What its registry has is found in the background.
    await expect.poll(regions).toEqual([
      expect.objectContaining({
        ...{ region: 'eu', engine: 'kubernetes', available: true, functionDomain: cluster.domain },
        capabilities: {
          ...{ functions: true, apps: true, jobs: true, builds: false, autoscaling: true, volumes: true },
          // No operator runs here, so no PostgreSQL.
          databases: ['MYSQL', 'REDIS', 'MONGODB', 'COUCHDB', 'RABBITMQ', 'CLICKHOUSE'],
        },
      }),
    ])
  })

  it('3.3 an app deploys, scales, keeps its good version, stops, starts and goes', async () => {
    const { client, appEnvId, host } = await make('web')
    await client.call(deployAppEnvImage, { appEnvId, image })
    expect((await untilDeployed(installation, appEnvId)).currentDeployment).toMatchObject({
      status: 'DEPLOYED',
      failure: null,
    })
    await untilServed(host, 'blue')
    const { logs } = await untilRead(
      () => client.call(getLogs, { appEnvId }),
      (read) => read.logs.some(({ message }) => message.includes('listening on 8080')),
      'the log of the container',
    )
    expect(logs.length).toBeGreaterThan(0)

    await client.call(scaleAppEnvContainers, { appEnvId, containers: 2 })
    await untilRead(
      () => client.call(getAppEnvPods, { appEnvId }),
      ({ pods }) => pods.filter(({ containerReady }) => containerReady).length === 2,
      'two ready containers',
      limitMs,
    )

    await client.call(deployAppEnvImage, { appEnvId, image: `${image}-missing` })
    const failed = await untilRead(
      () => client.call(getAppEnvStatus, { appEnvId }),
      ({ currentDeployment }) => currentDeployment?.status === 'FAILED',
      'a failed deployment',
      limitMs,
    )
    expect(failed.currentDeployment?.failure?.reason).toBe('image pull')
    await untilServed(host, 'blue')

    await client.call(stopAppEnv, { appEnvId })
    await untilRead(
      () => client.call(getAppEnvStatus, { appEnvId }),
      ({ containers }) => containers.running === 0,
      'no container',
      limitMs,
    )
    await client.call(startAppEnv, { appEnvId })
    await untilServed(host, 'blue')
    const { containerSeconds } = await untilRead(
      () => client.call(getAppEnvUsage, { appEnvId }),
      (usage) => usage.containerSeconds > 0,
      'usage',
    )
    expect(containerSeconds).toBeGreaterThan(0)

    await client.call(deleteAppEnv, { appEnvId })
    const [namespace = ''] = await installation.namespaces()
    await untilRead(
      () =>
        kubectl([
          ...['get', 'deployments,services,ingresses,secrets,poddisruptionbudgets', '-n', namespace],
          ...['-l', `longshore.dev/environment=${appEnvId}`, '-o', 'name'],
        ]),
      (names) => names.trim() === '',
      'no object of the deleted environment',
      limitMs,
    )
  })

  it('a first version that fails leaves no container behind', async () => {
    const { client, appEnvId } = await make('broken')
    const ending = await shellImage('ending', 'exit 3')
    await client.call(deployAppEnvImage, { appEnvId, image: ending })
    const { currentDeployment } = await untilDeployed(installation, appEnvId)
    expect(currentDeployment).toMatchObject({ status: 'FAILED', failure: { reason: 'exits-at-once' } })
    await untilRead(
      () =>
        kubectl([
          'get',
          'deployments,pods',
          '-A',
          '-o',
          'name',
          '-l',
          `longshore.dev/environment=${appEnvId}`,
        ]),
      (names) => names.trim() === '',
      'no container',
      limitMs,
    )
  })

  it('3.3 variables are in a Secret only, and drift is repaired', async () => {
    const { client, appEnvId, host } = await make('drift')
    await client.call(deployAppEnvImage, { appEnvId, image })
    await untilDeployed(installation, appEnvId)
    await untilServed(host, 'blue')
    const [namespace = ''] = await installation.namespaces()
    const own = ['-n', namespace, '-l', `longshore.dev/environment=${appEnvId}`]
    expect(await kubectl(['get', 'deployments', ...own, '-o', 'yaml'])).not.toContain('blue')
    await kubectl(['delete', 'ingress', ...own])
    await client.call(restartAppEnv, { appEnvId })
    await untilServed(host, 'blue')
    await client.call(updateAppEnvVariables, {
      appEnvId,
      set: [{ name: 'COLOR', value: 'green', isSecret: true }],
    })
    await client.call(deployAppEnvImage, { appEnvId, image })
    await untilServed(host, 'green')
  })

  it('Pod Security: enforces baseline, and of restricted only the user other than root is left out', async () => {
    const { client, appEnvId } = await make('secure')
    await client.call(deployAppEnvImage, { appEnvId, image })
    expect((await untilDeployed(installation, appEnvId)).currentDeployment?.failure).toBeNull()
    const [namespace = ''] = await installation.namespaces()
    const container = { name: 'app', image, securityContext: { privileged: true } }
    const privileged = {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'no' } },
      spec: { containers: [container] },
    }
    const create = kubectl(['create', '-n', namespace, '--dry-run=server', '-f', '-'], privileged)
    await expect(create).rejects.toThrow('violates PodSecurity "baseline')
    // Of the pods that run there.
    const enforced = 'pod-security.kubernetes.io/enforce=restricted'
    const warnings = await kubectlWarnings([
      ...['label', 'namespace', namespace, enforced, '--overwrite', '--dry-run=server'],
    ])
    expect(warnings).toContain('violate the new PodSecurity')
    expect(warnings).toContain('runAsNonRoot != true')
    expect(warnings).not.toMatch(/allowPrivilegeEscalation|capabilities|seccompProfile|hostPath/)
  })

  it('useVolume: the volume outlives deployments and goes with the environment', async () => {
    const counting = await shellImage('counting', countingScript)
    const { client, appEnvId, host } = await make('keeper', { useVolume: true })
    await client.call(deployAppEnvImage, { appEnvId, image: counting })
    expect((await untilDeployed(installation, appEnvId)).currentDeployment?.failure).toBeNull()
    await untilServed(host, '1')
    await client.call(deployAppEnvImage, { appEnvId, image: counting })
    await untilServed(host, '2')
    const [namespace = ''] = await installation.namespaces()
    const claims = () =>
      kubectl([
        ...['get', 'persistentvolumeclaims', '-n', namespace, '-o', 'name'],
        ...['-l', `longshore.dev/environment=${appEnvId}`],
      ])
    expect(await claims()).toContain('keeper-prod-data')
    await client.call(deleteAppEnv, { appEnvId })
    await untilRead(claims, (names) => names.trim() === '', 'no volume', limitMs)
  })

  it('a pod that the cluster ended and replaced, as by an eviction, is none that starts', async () => {
    const { client, appEnvId } = await make('evicted')
    await client.call(deployAppEnvImage, { appEnvId, image })
    await untilDeployed(installation, appEnvId)
    const [namespace = ''] = await installation.namespaces()
    const own = ['-n', namespace, '-l', `longshore.dev/environment=${appEnvId}`, '-o', 'name']
    const name = (await kubectl(['get', 'pods', ...own])).trim()
    // The one end by a kubelet that an API call can cause: the object of the pod stays, as after an eviction.
    const patch = ['--type', 'merge', '-p', '{"spec":{"activeDeadlineSeconds":1}}']
    await kubectl(['patch', '-n', namespace, name, ...patch])
    await untilRead(
      () => client.call(getAppEnvPods, { appEnvId }),
      ({ pods }) => pods.length === 1 && pods[0]!.containerReady && `pod/${pods[0]!.name}` !== name,
      'the replacement alone',
      limitMs,
    )
    expect((await kubectl(['get', 'pods', ...own])).split('\n')).toContain(name)
  })

  it('F1 F2 a function goes to zero and starts on a request', async () => {
    const { client, appEnvId, host } = await make('func', { dockerPreset: 'FUNCTION' })
    await client.call(deployAppEnvImage, { appEnvId, image })
    expect((await untilDeployed(installation, appEnvId)).currentDeployment?.failure).toBeNull()
    await untilServed(host, 'blue')
    await untilRead(
      () => client.call(getAppEnvStatus, { appEnvId }),
      ({ containers }) => containers.running === 0,
      'no container',
      limitMs,
    )
    await untilServed(host, 'blue')
    const { pods } = await client.call(getAppEnvPods, { appEnvId })
    expect(pods.length).toBeGreaterThan(0)
  })
})
