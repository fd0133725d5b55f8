import { randomUUID } from 'node:crypto'
import http from 'node:http'
import { getAppEnvStatus } from '../../src/contract/app-env-reads.ts'
import { createAppEnv, deleteAppEnv } from '../../src/contract/app-envs.ts'
import { createApp } from '../../src/contract/apps.ts'
import { deployAppEnvImage } from '../../src/contract/deployments.ts'
import { getJobRun, listJobRuns, startJobRun } from '../../src/contract/jobs.ts'
import type { Operation, OutputOf } from '../../src/contract/operation.ts'
import { cluster, kubectl } from '../../testkit/kubernetes/cluster.ts'
import type { ClusterInstallation } from '../../testkit/kubernetes/cluster-installation.ts'
import { shellImage, webScript } from '../../testkit/kubernetes/images.ts'
import { untilDeployed } from '../../testkit/platform/deploy.ts'
import { untilRead } from '../../testkit/until.ts'
import { deployed, onCluster, pause } from './on-cluster.ts'
import { controlPlane } from './processes.ts'

const apps = 4
const runsAtOnce = 6
const runsForOneDeployment = 2.5
const betweenFaultsMs = 8_000
const limitMs = 600_000

/**
 * Deployments, and two and a half times as many job runs, while Longshore and the programs of the cluster's control plane
 * (`CLUSTER_PIDS`) are killed one after the other. Each container of a job calls back, so that one too many is seen.
 */
export function restarts(deployments = 40): Promise<string[]> {
  return onCluster(async (installation) => {
    const image = await shellImage('restarts', webScript)
    const made: string[] = []
    for (let nth = 0; nth < apps; nth += 1)
      made.push((await deployed(installation, { name: `web ${nth}`, image })).appEnvId)
    const job = await jobOf(installation)
    const calls = await Calls.listen()
    const runs = Math.round(deployments * runsForOneDeployment)
    const faults = new Faults(installation)
    const faulting = faults.run()
    const startedMs = performance.now()
    try {
      await Promise.all([
        ...made.map((appEnvId) => deployOften(installation, appEnvId, image, Math.ceil(deployments / apps))),
        runOften(installation, job, runs, calls.address),
      ])
    } finally {
      faults.end()
      await faulting
      calls.close()
    }
    const seconds = Math.round((performance.now() - startedMs) / 1_000)
    const problems = [
      ...(await wrongRuns(installation, job, runs, calls)),
      ...(await wrongObjects(made)),
      ...(await orphans(installation, [...made, job])),
    ]
    return [
      `${faults.summary()} over ${deployments} deployments and ${runs} job runs in ${seconds} s: ${problems.length} lost, doubled or orphaned (goal: 0)`,
      ...problems.slice(0, 10),
    ]
  })
}

/** Breaks one program after the other until it is ended. */
class Faults {
  readonly #installation: ClusterInstallation
  readonly #made = new Map<string, number>()
  #isOver = false

  constructor(installation: ClusterInstallation) {
    this.#installation = installation
  }

  end(): void {
    this.#isOver = true
  }

  async run(): Promise<void> {
    const longshore = async () => {
      await this.#installation.end('SIGKILL')
      await this.#installation.start()
    }
    const ways = new Map([['Longshore', longshore]])
    const programs = controlPlane()
    for (const { name, restart } of programs) ways.set(name, restart)
    while (!this.#isOver) {
      // One that lost the API server ended by itself; in a cluster its node would start it again.
      for (const program of programs) if (program.isOver()) await program.restart()
      const all = [...ways]
      const [name, breakIt] = all[Math.floor(Math.random() * all.length)]!
      await breakIt()
      this.#made.set(name, (this.#made.get(name) ?? 0) + 1)
      await pause(betweenFaultsMs)
    }
  }

  summary(): string {
    return [...this.#made].map(([name, count]) => `${count} x kill -9 of ${name}`).join(', ')
  }
}

/** Counts how often the container of each run has called. */
class Calls {
  readonly counts = new Map<string, number>()
  readonly #server = http.createServer((request, response) => {
    const name = request.url!.slice(1)
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
    response.end()
  })

  static async listen(): Promise<Calls> {
    const calls = new Calls()
    await new Promise<void>((resolve) => calls.#server.listen(0, '0.0.0.0', resolve))
    return calls
  }

  /** As containers reach it: the registry runs on this machine too. */
  get address(): string {
    const { port } = this.#server.address() as { port: number }
    return `http://${cluster.registry!.split(':')[0]}:${port}`
  }

  close(): void {
    this.#server.close()
  }
}

/** Repeats a call until it is acknowledged, with one key, so that it has one effect. */
async function insist<Row extends Operation>(
  installation: ClusterInstallation,
  row: Row,
  input: Record<string, unknown>,
): Promise<OutputOf<Row>> {
  const idempotencyKey = randomUUID()
  for (;;) {
    try {
      return await installation.client().call(row, input, { idempotencyKey })
    } catch (error) {
      if (/^(?:invalid|not-found|forbidden)$/.test(String((error as { kind?: string }).kind))) throw error
      await pause(100)
    }
  }
}

async function jobOf(installation: ClusterInstallation): Promise<string> {
  const client = installation.client()
  const { accountId } = installation.ready
  const job = { name: 'job', accountId, dockerPreset: 'JOB' as const, useImage: true }
  const { appId } = await client.call(createApp, job)
  const jobConfig = { maxConcurrency: 100 }
  const { appEnvId } = await client.call(createAppEnv, {
    accountId,
    appId,
    name: 'prod',
    region: 'eu',
    jobConfig,
  })
  await client.call(deployAppEnvImage, { appEnvId, image: `${cluster.registry}/busybox:1` })
  await untilDeployed(installation, appEnvId)
  return appEnvId
}

async function deployOften(
  installation: ClusterInstallation,
  appEnvId: string,
  image: string,
  times: number,
): Promise<void> {
  for (let done = 0; done < times; done += 1) {
    await insist(installation, deployAppEnvImage, { appEnvId, image })
    const { currentDeployment } = await untilRead(
      () => insist(installation, getAppEnvStatus, { appEnvId }),
      ({ currentDeployment: one }) => one?.status === 'DEPLOYED' || one?.status === 'FAILED',
      'an end of the deployment',
      limitMs,
    )
    if (currentDeployment?.status !== 'DEPLOYED') throw new Error(JSON.stringify(currentDeployment))
  }
}

async function runOften(
  installation: ClusterInstallation,
  appEnvId: string,
  runs: number,
  address: string,
): Promise<void> {
  let started = 0
  const worker = async () => {
    while (started < runs) {
      started += 1
      const command = `wget -q -O /dev/null ${address}/run-${started}`
      const { jobRun } = await insist(installation, startJobRun, { appEnvId, command, shell: true })
      await untilRead(
        async () => (await insist(installation, getJobRun, { jobRunId: jobRun.jobRunId })).jobRun,
        ({ finishedAt }) => finishedAt !== null,
        `the end of ${command}`,
        limitMs,
      )
    }
  }
  await Promise.all(Array.from({ length: runsAtOnce }, worker))
}

/** Runs that did not succeed, or had another number of containers than attempts. */
async function wrongRuns(
  installation: ClusterInstallation,
  appEnvId: string,
  runs: number,
  { counts }: Calls,
): Promise<string[]> {
  const listed = []
  for (let offset = 0; offset === listed.length; offset += 200)
    listed.push(...(await installation.client().call(listJobRuns, { appEnvId, limit: 200, offset })).jobRuns)
  const problems = listed.length === runs ? [] : [`${listed.length} runs, not ${runs}`]
  for (const { snapshot, attempt, status } of listed) {
    const called = counts.get(snapshot.command.split('/').at(-1) ?? '') ?? 0
    if (status !== 'SUCCEEDED' || called !== attempt)
      problems.push(`${snapshot.command}: ${status}, ${attempt} attempts, ${called} containers`)
  }
  return problems
}

async function objects(kinds: string, selector: string): Promise<string[]> {
  const names = '-o=jsonpath={range .items[*]}{.kind}/{.metadata.name}{"\\n"}{end}'
  return (await kubectl(['get', kinds, '-A', '-l', selector, names]))
    .split('\n')
    .filter((line) => line !== '')
}

/** Each environment has one object of each kind, of its last version only. */
async function wrongObjects(appEnvIds: readonly string[]): Promise<string[]> {
  const kinds = ['Deployment', 'Ingress', 'Pod', 'Secret', 'Service']
  const found = []
  for (const appEnvId of appEnvIds) {
    const read = () => objects(kinds.join(','), `longshore.dev/environment=${appEnvId}`)
    const isOneEach = (all: string[]) => all.length === kinds.length
    const all = await untilRead(read, isOneEach, 'one object of each kind', 60_000).catch(read)
    if (!isOneEach(all)) found.push(`${appEnvId} has ${all.join(', ')}`)
  }
  return found
}

/** The objects that are left once every environment is deleted. */
async function orphans(installation: ClusterInstallation, appEnvIds: readonly string[]): Promise<string[]> {
  for (const appEnvId of appEnvIds) await installation.client().call(deleteAppEnv, { appEnvId })
  const left = []
  for (const appEnvId of appEnvIds) {
    const read = () =>
      objects('deployments,ingresses,pods,secrets,services,jobs', `longshore.dev/environment=${appEnvId}`)
    const all = await untilRead(read, ({ length }) => length === 0, 'nothing left', 120_000).catch(read)
    left.push(...all.map((name) => `${name} is left of ${appEnvId}`))
  }
  return left
}
