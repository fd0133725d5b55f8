import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { getAppEnvPods, getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { kubectl } from '../../testkit/kubernetes/cluster.ts'
import type { ClusterInstallation } from '../../testkit/kubernetes/cluster-installation.ts'
import { shellImage, webScript } from '../../testkit/kubernetes/images.ts'
import { untilRead } from '../../testkit/until.ts'
import { deployed, onCluster, pause, timed, withTwo } from './on-cluster.ts'

const everyMs = 20
const settleMs = 90_000

/** A node dies that runs one of the two containers of an app, and neither the ingress nor anything of Longshore. */
export function node(): Promise<string[]> {
  const script = process.env.CLUSTER_SCRIPT
  if (script === undefined)
    return Promise.resolve(['left out: set CLUSTER_SCRIPT to a program with kill-node N and start-node N'])
  const run = (command: string, name: string) =>
    promisify(execFile)(script, [command, name.replace(/\D/g, '')])
  return onCluster(async (installation) => {
    const image = await shellImage('node', webScript)
    const { appEnvId, host } = await deployed(installation, { name: 'node', image })
    await withTwo(installation, appEnvId)
    await untilRead(
      () => timed(host),
      ({ status }) => status === 200,
      'an answer',
    )
    const doomed = await nodeToKill(appEnvId)
    const load = new Load(host)
    await run('kill-node', doomed)
    try {
      const { knownMs, trueMs } = await untilTrue(installation, load, appEnvId, doomed)
      await pause(5_000)
      const { sent, lost, lastMs, slowestMs } = await load.end()
      const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
      return [
        `the environment shows one container less after ${seconds(knownMs)}, two on other nodes after ${seconds(trueMs)} (goal: 60)`,
        `${sent} requests, ${lost} lost, the last one sent ${seconds(lastMs)} after the node was killed; the slowest answer took ${seconds(slowestMs)}`,
      ]
    } finally {
      await load.end()
      await run('start-node', doomed)
    }
  })
}

/** 50 requests a second from its making to its end. */
class Load {
  readonly #answers: Promise<{ status: number; ms: number; atMs: number }>[] = []
  readonly #startedMs = performance.now()
  readonly #timer: NodeJS.Timeout

  constructor(host: string) {
    this.#timer = setInterval(() => {
      const atMs = this.sinceMs
      this.#answers.push(timed(host).then((answer) => ({ ...answer, atMs })))
    }, everyMs)
  }

  get sinceMs(): number {
    return performance.now() - this.#startedMs
  }

  async end(): Promise<{ sent: number; lost: number; lastMs: number; slowestMs: number }> {
    clearInterval(this.#timer)
    const all = await Promise.all(this.#answers)
    const lost = all.filter(({ status }) => status !== 200)
    return {
      sent: all.length,
      lost: lost.length,
      lastMs: Math.max(0, ...lost.map(({ atMs }) => atMs)),
      slowestMs: Math.max(...all.map(({ status, ms }) => (status === 200 ? ms : 0))),
    }
  }
}

/** When the environment showed that a container is lost, and when it showed two on other nodes. */
async function untilTrue(installation: ClusterInstallation, load: Load, appEnvId: string, doomed: string) {
  const client = installation.client()
  await untilRead(
    () => client.call(getAppEnvStatus, { appEnvId }),
    ({ containers }) => containers.ready < 2,
    'the lost container',
    settleMs,
  )
  const knownMs = load.sinceMs
  await untilRead(
    async () => (await client.call(getAppEnvPods, { appEnvId })).pods,
    (pods) => {
      const running = pods.filter(({ status }) => status === 'Running')
      return running.length === 2 && running.every((pod) => pod.containerReady && pod.nodeName !== doomed)
    },
    'two containers on other nodes',
    settleMs,
  )
  return { knownMs, trueMs: load.sinceMs }
}

async function nodeToKill(appEnvId: string): Promise<string> {
  const nodes = async (...which: string[]) =>
    (await kubectl(['get', 'pods', '-A', ...which, '-o=jsonpath={.items[*].spec.nodeName}'])).split(' ')
  const own = await nodes('-l', `longshore.dev/environment=${appEnvId}`)
  const ingress = await nodes('--field-selector', 'metadata.namespace=traefik')
  const found = own.find((name) => !ingress.includes(name))
  if (new Set(own).size < 2 || !found) throw new Error(`no node to kill: the containers run on ${own}`)
  return found
}
