import { type Clock, readBootTime } from '../../clock.ts'
import type { Engine } from '../../engines/engine.ts'
import { AppError } from '../../errors.ts'
import type { LogStore } from '../../files/log-store.ts'
import type { Log } from '../../log.ts'
import type { Db } from '../../store/db.ts'
import { listEnvironmentIdsIn } from '../../store/repositories/environments.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import { Worker } from '../../worker.ts'
import { JobScheduler } from '../jobs/scheduler.ts'
import { LogFollowers } from '../logs/followers.ts'
import { LogMasks } from '../logs/masks.ts'
import type { Builder, UploadFiles } from '../ports.ts'
import { ImageBuilder } from '../rollouts/image-builder.ts'
import { RolloutWriter } from '../rollouts/writer.ts'
import { UsageMeter } from '../usage-meter.ts'
import type { ClusterClient } from './client.ts'
import { ClusterEnvironment, type Observed } from './environment.ts'
import { jobKind, jobLabels } from './jobs/manifest.ts'
import { type ClusterOptions, label } from './manifests/workload.ts'
import { containerOfPod } from './pods.ts'
import type { WorkloadObject, WorkloadPod } from './status.ts'

const lookEveryMs = 2_000
/** Environments that are not changing are compared with the cluster this often, which repairs drift. */
const resyncEveryMs = 60_000

export interface ClusterRegionDeps {
  region: string
  options: ClusterOptions & { functionDomain?: string | undefined }
  installationId: string
  client: ClusterClient
  /** Builds images and runs the attempts of jobs. */
  engine: Engine
  db: Db
  clock: Clock
  log: Log
  logs: LogStore
  secrets: SecretBox
  builder: Builder
  uploads: UploadFiles
  nodeName: string
  clockScale: number
}

/**
 * Brings the environments of one cluster to their desired state, and the state of the cluster into the store. The
 * cluster schedules, restarts and scales by itself: nothing here is in the path of a request.
 */
export class ClusterRegion {
  readonly #deps: ClusterRegionDeps
  readonly #worker: Worker
  readonly #jobs: JobScheduler
  readonly #followers: LogFollowers
  readonly #usage: UsageMeter
  readonly #shared: ConstructorParameters<typeof ClusterEnvironment>[1]
  readonly #environments = new Map<string, ClusterEnvironment>()
  #woken = new Set<string>()
  #resyncAtMs = 0
  #problem: string | null = null

  constructor(deps: ClusterRegionDeps) {
    this.#deps = deps
    const { db, clock, log, logs, secrets, builder, uploads, engine, nodeName, clockScale } = deps
    const transitions = new RolloutWriter(db, () => clock.wallMs())
    const masks = new LogMasks(db, secrets)
    this.#followers = new LogFollowers(logs, masks, log)
    // Its own runs: the list of a machine does not have these containers.
    this.#usage = new UsageMeter(db, clock, log, `region:${deps.region}`)
    const images = new ImageBuilder({ db, clock, log, logs, masks, secrets, builder, uploads, transitions })
    const { installationId, options, client, region } = deps
    const wake = (appEnvId: string) => this.wake([appEnvId])
    this.#shared = {
      ...{ db, clock, log, secrets, engine, transitions, images, followers: this.#followers },
      ...{ installationId, options, client, region, wake, clockScale, accounts: new Set<string>() },
    }
    this.#jobs = new JobScheduler({
      ...{ db, clock, log, secrets, nodeName, clockScale, moment: readBootTime },
      regions: [region],
      engineOf: () => engine,
      list: async () => ({ containers: await engine.list(), isListed: () => true }),
      followers: this.#followers,
      usage: this.#usage,
    })
    this.#worker = new Worker({
      clock,
      everyMs: lookEveryMs,
      pass: () => this.#pass(),
      failed: (error) => this.#failed(error),
    })
  }

  get region(): string {
    return this.#deps.region
  }

  /** Why the cluster cannot be used; null when it can. */
  get problem(): string | null {
    return this.#problem
  }

  async start(): Promise<void> {
    await this.#usage.open()
    this.#worker.start()
    this.#jobs.wake()
  }

  /** Environments of other regions are left out; null: every environment of this one. */
  wake(appEnvIds: readonly string[] | null): void {
    if (appEnvIds === null) this.#resyncAtMs = 0
    for (const appEnvId of appEnvIds ?? []) this.#woken.add(appEnvId)
    this.#worker.wake()
    this.#jobs.wake()
  }

  async stop(): Promise<void> {
    for (const environment of this.#environments.values()) environment.abort()
    await Promise.all([this.#worker.stop(), this.#jobs.stop()])
    this.#followers.close()
    await this.#usage.settled()
  }

  async #pass(): Promise<void> {
    const { db, clock, region } = this.#deps
    const woken = this.#woken
    this.#woken = new Set()
    const listedAtMs = clock.wallMs()
    const observed = await this.#list()
    const own = new Set(await db.read((tx) => listEnvironmentIdsIn(tx, [region])))
    const isResync = clock.monotonicMs() >= this.#resyncAtMs
    if (isResync) this.#resyncAtMs = clock.monotonicMs() + resyncEveryMs
    for (const appEnvId of new Set([...own, ...observed.keys()])) {
      if (this.#worker.stopped) return
      const isDue = isResync || woken.has(appEnvId)
      await this.#environment(appEnvId).look(observed.get(appEnvId), own.has(appEnvId), isDue)
    }
    for (const appEnvId of this.#environments.keys())
      if (!own.has(appEnvId) && !observed.has(appEnvId)) this.#environments.delete(appEnvId)
    const jobs = await this.#deps.engine.list()
    const containers = [...observed.values()].flatMap(({ pods }) => pods.map(containerOfPod))
    await this.#usage.observe([...containers, ...jobs], listedAtMs)
    this.#problem = null
    this.#jobs.wake()
  }

  #environment(appEnvId: string): ClusterEnvironment {
    const known = this.#environments.get(appEnvId)
    if (known) return known
    const environment = new ClusterEnvironment(appEnvId, this.#shared)
    this.#environments.set(appEnvId, environment)
    return environment
  }

  /** What the cluster has, by environment. */
  async #list(): Promise<Map<string, Observed>> {
    const { client, installationId, options } = this.#deps
    const selector = `${label.installation}=${installationId},${label.environment}`
    const deployments = await client.list<WorkloadObject>('Deployment', selector)
    const services = options.functionDomain
      ? await client.list<WorkloadObject>('KnativeService', selector)
      : []
    const pods = await client.list<WorkloadPod>('Pod', `${selector},${jobLabels.kind}!=${jobKind}`)
    const found = new Map<string, Observed>()
    const at = (labels: Record<string, string> | undefined) => {
      const appEnvId = labels?.[label.environment] ?? ''
      const one = found.get(appEnvId) ?? { deployment: undefined, service: undefined, pods: [] }
      found.set(appEnvId, one)
      return one
    }
    for (const one of deployments) at(one.metadata.labels).deployment = one
    for (const one of services) at(one.metadata.labels).service = one
    for (const one of pods) at(one.metadata.labels).pods.push(one)
    return found
  }

  #failed(error: unknown): void {
    const isAway = error instanceof AppError
    this.#problem = isAway ? error.message : 'The cluster cannot be read'
    this.#deps.log[isAway ? 'warn' : 'error'](
      { err: error, region: this.#deps.region },
      'the cluster cannot be compared with the store; retrying',
    )
  }
}
