import { readFileSync } from 'node:fs'
import { createAccount } from '../../src/contract/accounts.ts'
import { stopAppEnv, updateAppEnvVariables } from '../../src/contract/app-env-actions.ts'
import { getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { deployAppEnvImage } from '../../src/contract/deployments.ts'
import { ClusterClient } from '../../src/regions/kubernetes/client.ts'
import { median } from '../../testkit/figures.ts'
import { cluster } from '../../testkit/kubernetes/cluster.ts'
import type { ClusterInstallation } from '../../testkit/kubernetes/cluster-installation.ts'
import { shellImage, webScript } from '../../testkit/kubernetes/images.ts'
import { untilRead } from '../../testkit/until.ts'
import { deployed, onCluster, pause } from './on-cluster.ts'

const ticksASecond = 100
const resyncMs = 60_000
const resyncs = 3
/** This many run at a time. */
const atOnce = 20
/** This many are changed, one after the other. */
const changed = 60
const betweenMs = 1_000
const lookMs = 20
/** Fewer than the zClouds that an account has. */
const ofAccount = 60

/** Many environments, stopped, so that the nodes have room for them: each has its objects, and none has a container. */
export function many(amount = 500): Promise<string[]> {
  return onCluster(async (installation) => {
    const image = await shellImage('many', webScript)
    const ids: string[] = []
    let accountId = ''
    while (ids.length < amount) {
      if (ids.length % ofAccount === 0)
        ({ accountId } = await installation.client().call(createAccount, { name: `Account ${ids.length}` }))
      const some = Math.min(atOnce, amount - ids.length)
      const names = Array.from({ length: some }, (_, index) => `many ${ids.length + index}`)
      ids.push(...(await Promise.all(names.map((name) => stopped(installation, { name, image, accountId })))))
    }
    const { pid } = JSON.parse(readFileSync(`${installation.home}/run/serve.json`, 'utf8')) as { pid: number }
    const lines = await changes(installation, ids.slice(0, changed), image)
    await pause(resyncMs)
    const before = usedBy(pid)
    const { ofMinute, ofResync } = await cpuSeconds(pid)
    const after = usedBy(pid)
    lines.push(
      `${amount} environments: ${ofMinute.toFixed(2)} s of CPU a minute, ${ofResync.toFixed(2)} s of it above the usual second: the resync (goal: 2)`,
      `resident memory ${before.memoryMb} MB, ${resyncs} resyncs later ${after.memoryMb} MB`,
    )
    return lines
    // Metrics and alerts as often as they are: the clock of the other parts is faster.
  }, {})
}

/** CPU for each resync: of the process in all (`ofMinute`), and what exceeds the median second (`ofResync`). */
async function cpuSeconds(pid: number): Promise<{ ofMinute: number; ofResync: number }> {
  const seconds: number[] = []
  let last = usedBy(pid).cpuSeconds
  const endMs = performance.now() + resyncs * resyncMs
  while (performance.now() < endMs) {
    await pause(1_000)
    const now = usedBy(pid).cpuSeconds
    seconds.push(now - last)
    last = now
  }
  const usual = median(seconds)
  const sum = (values: number[]) => values.reduce((all, one) => all + one, 0)
  return {
    ofMinute: sum(seconds) / resyncs,
    ofResync: sum(seconds.map((one) => Math.max(0, one - usual))) / resyncs,
  }
}

async function stopped(
  installation: ClusterInstallation,
  options: { name: string; image: string; accountId: string },
): Promise<string> {
  const { appEnvId } = await deployed(installation, options)
  const client = installation.client()
  await client.call(stopAppEnv, { appEnvId })
  await untilRead(
    () => client.call(getAppEnvStatus, { appEnvId }),
    ({ containers }) => containers.running === 0,
    'no container',
    900_000,
  )
  return appEnvId
}

/** How long it takes until a new version is in the cluster, for more than a minute so that a resync comes in between. */
async function changes(installation: ClusterInstallation, ids: string[], image: string): Promise<string[]> {
  const client = installation.client()
  const clusterClient = new ClusterClient({ kubeconfig: cluster.kubeconfig })
  const taken: number[] = []
  const written: number[] = []
  for (const appEnvId of ids) {
    await client.call(updateAppEnvVariables, { appEnvId, set: [{ name: 'NEW', value: '1' }] })
    const selector = `longshore.dev/environment=${appEnvId}`
    const [found] = await clusterClient.list<{ metadata: ObjectName }>('Deployment', selector)
    const { namespace, name } = found!.metadata
    const read = async () => {
      const path = `apis/apps/v1/namespaces/${namespace}/deployments/${name}`
      const { spec } = await clusterClient.read<DeploymentLabels>(path)
      return spec.template.metadata.labels['longshore.dev/rollout']
    }
    const old = await read()
    const startedMs = performance.now()
    await client.call(deployAppEnvImage, { appEnvId, image })
    while ((await read()) === old) await pause(lookMs)
    taken.push(performance.now() - startedMs)
    written.push(await writeMs(clusterClient, namespace))
    await pause(betweenMs)
  }
  const [worst, late] = [Math.max(...taken), taken.filter((ms) => ms > 2_000).length]
  return [
    `a change is in the cluster after ${Math.round(median(taken))} ms, at most ${Math.round(worst)} ms, ${late} of ${taken.length} after more than 2000 (goal: 0)`,
    `meanwhile the API server took ${Math.round(median(written))} ms to write one object, at most ${Math.round(Math.max(...written))} ms`,
  ]
}

interface ObjectName {
  namespace: string
  name: string
}

interface DeploymentLabels {
  spec: { template: { metadata: { labels: Record<string, string> } } }
}

/** How long the API server takes for one write. */
async function writeMs(client: ClusterClient, namespace: string): Promise<number> {
  const startedMs = performance.now()
  await client.apply({
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'bench', namespace } },
    stringData: { now: String(startedMs) },
  })
  return performance.now() - startedMs
}

function usedBy(pid: number): { cpuSeconds: number; memoryMb: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  const cpuSeconds = (Number(fields[11]) + Number(fields[12])) / ticksASecond
  const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return { cpuSeconds, memoryMb: Math.round(Number(resident) / 1_024) }
}
