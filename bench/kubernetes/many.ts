import { readFileSync } from 'node:fs'
import { stopAppEnv, updateAppEnvVariables } from '../../src/contract/app-env-actions.ts'
import { getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { createAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { deployAppEnvImage } from '../../src/contract/deployments.ts'
import { kubectl } from '../../testkit/kubernetes/cluster.ts'
import type { ClusterInstallation } from '../../testkit/kubernetes/cluster-installation.ts'
import { shellImage, webScript } from '../../testkit/kubernetes/images.ts'
import { noWindow, until } from '../../testkit/platform/story.ts'
import { median, onCluster, pause } from './bed.ts'

const ticksASecond = 100
const resyncMs = 60_000

/** Many environments, stopped, so that the nodes have room for them: each has its objects, and none has a container. */
export function many(amount = 500): Promise<string[]> {
  return onCluster(async (installation) => {
    const client = installation.client()
    const image = await shellImage('many', webScript)
    const { accountId } = installation.ready
    const ids: string[] = []
    for (let index = 0; index < amount; index += 1) {
      const { appId } = await client.call(createApp, {
        ...{ name: `many ${index}`, accountId, port: 8080, useImage: true },
      })
      const values = { accountId, appId, name: 'prod', region: 'eu', ...noWindow }
      const { appEnvId } = await client.call(createAppEnv, values)
      await client.call(deployAppEnvImage, { appEnvId, image })
      await client.call(stopAppEnv, { appEnvId })
      ids.push(appEnvId)
    }
    for (const appEnvId of ids)
      await until(
        () => client.call(getAppEnvStatus, { appEnvId }),
        ({ currentDeployment, containers }) =>
          currentDeployment?.status === 'DEPLOYED' && containers.running === 0,
        'a deployed environment',
        900_000,
      )
    const { pid } = JSON.parse(readFileSync(`${installation.home}/run/serve.json`, 'utf8')) as { pid: number }
    const lines = [await changes(installation, ids.slice(0, 20), image)]
    await pause(resyncMs)
    const before = usedBy(pid)
    const minutes = 3
    await pause(minutes * resyncMs)
    const after = usedBy(pid)
    const cpu = (after.cpuSeconds - before.cpuSeconds) / minutes
    lines.push(
      `${amount} environments: ${cpu.toFixed(2)} s of CPU a minute, with its resync (goal: 2 for a resync)`,
      `resident memory ${before.memoryMb} MB, ${minutes} resyncs later ${after.memoryMb} MB`,
    )
    return lines
  })
}

/** How long it takes until a new version is in the cluster. */
async function changes(installation: ClusterInstallation, ids: string[], image: string): Promise<string> {
  const client = installation.client()
  const taken: number[] = []
  for (const appEnvId of ids) {
    await client.call(updateAppEnvVariables, { appEnvId, set: [{ name: 'NEW', value: '1' }] })
    const read = () =>
      kubectl([
        ...['get', 'deployments', '-A', '-l', `longshore.dev/environment=${appEnvId}`],
        '-o=jsonpath={.items[0].spec.template.metadata.labels.longshore\\.dev/rollout}',
      ])
    const old = await read()
    const startedMs = performance.now()
    await client.call(deployAppEnvImage, { appEnvId, image })
    await until(read, (now) => now !== old, 'the new version')
    taken.push(performance.now() - startedMs)
  }
  const worst = Math.max(...taken)
  return `a change is in the cluster after ${Math.round(median(taken))} ms, at most ${Math.round(worst)} ms (goal: 2000)`
}

function usedBy(pid: number): { cpuSeconds: number; memoryMb: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  const cpuSeconds = (Number(fields[11]) + Number(fields[12])) / ticksASecond
  const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return { cpuSeconds, memoryMb: Math.round(Number(resident) / 1_024) }
}
