import http from 'node:http'
import { scaleAppEnvContainers } from '../../src/contract/app-env-actions.ts'
import { getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { deployAppEnvImage } from '../../src/contract/deployments.ts'
import { cluster } from '../../testkit/kubernetes/cluster.ts'
import { ClusterInstallation } from '../../testkit/kubernetes/cluster-installation.ts'
import { noWindow, untilDeployed } from '../../testkit/platform/deploy.ts'
import { untilRead } from '../../testkit/until.ts'

/** An installation on the cluster of the environment variables. */
export async function onCluster<T>(
  work: (installation: ClusterInstallation) => Promise<T>,
  env: NodeJS.ProcessEnv = { LONGSHORE_CLOCK_SCALE: '60' },
): Promise<T> {
  if (!cluster.kubeconfig || !cluster.ingress || !cluster.registry)
    throw new Error('set KUBECONFIG, REGISTRY, INGRESS and DOMAIN')
  // More settings of the regions file, such as annotations for the ingress.
  const settings = JSON.parse(process.env.REGION_SETTINGS ?? '{}') as object
  const installation = new ClusterInstallation(env, { settings })
  await installation.start()
  try {
    return await work(installation)
  } finally {
    await installation.dispose()
  }
}

interface Deployed {
  appEnvId: string
  host: string
}

/** An app or function with an image, deployed; `settings` are those of the environment. */
export async function deployed(
  installation: ClusterInstallation,
  options: { name: string; image: string; isFunction?: boolean; settings?: object; accountId?: string },
): Promise<Deployed> {
  const { name, image, isFunction = false, settings = {}, accountId = installation.ready.accountId } = options
  const client = installation.client()
  const preset = isFunction ? { dockerPreset: 'FUNCTION' as const } : {}
  const { appId } = await client.call(createApp, { name, accountId, port: 8080, useImage: true, ...preset })
  const { appEnvId } = await client.call(createAppEnv, {
    ...{ accountId, appId, name: 'prod', region: 'eu', ...noWindow },
    ...settings,
  })
  await client.call(deployAppEnvImage, { appEnvId, image })
  const { currentDeployment } = await untilDeployed(installation, appEnvId)
  if (currentDeployment?.status !== 'DEPLOYED') throw new Error(JSON.stringify(currentDeployment))
  const { hosts } = await client.call(getAppEnv, { appEnvId })
  return { appEnvId, host: hosts[0]!.host }
}

/** Two containers of an app, both ready. */
export async function withTwo(installation: ClusterInstallation, appEnvId: string): Promise<void> {
  const client = installation.client()
  await client.call(scaleAppEnvContainers, { appEnvId, containers: 2 })
  await untilRead(
    () => client.call(getAppEnvStatus, { appEnvId }),
    ({ containers }) => containers.ready === 2,
    'two containers',
  )
}

const agent = new http.Agent({ keepAlive: true })

const answerMs = 30_000

/** The status of one request through the cluster's ingress, and how long it took; status 0: no answer in 30 s. */
export function timed(host: string, pathname = '/'): Promise<{ status: number; ms: number }> {
  const { hostname, port } = new URL(cluster.ingress!)
  const startedMs = performance.now()
  return new Promise((resolve) => {
    const done = (status: number) => resolve({ status, ms: performance.now() - startedMs })
    const signal = AbortSignal.timeout(answerMs)
    http
      .get({ hostname, port, path: pathname, headers: { host }, agent, signal }, (answer) => {
        answer.once('end', () => done(answer.statusCode ?? 0)).resume()
        answer.once('error', () => done(0))
      })
      .once('error', () => done(0))
  })
}

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
