import { type Clock, readBootTime } from '../../clock.ts'
import type { CopyLimits } from '../../domain/backups/backup.ts'
import { AppError, logLevelOf } from '../../errors.ts'
import type { LogStore } from '../../files/log-store.ts'
import type { Log } from '../../log.ts'
import type { Db } from '../../store/db.ts'
import { listEnvironmentIdsIn } from '../../store/repositories/environments-in-regions.ts'
import { listDeletedEnvironments } from '../../store/repositories/removals.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import { Worker } from '../../worker.ts'
import { type BackupStore, BackupWorker } from '../backups/worker.ts'
import { JobScheduler } from '../jobs/scheduler.ts'
import { LogFollowers } from '../logs/followers.ts'
import { LogMasks } from '../logs/masks.ts'
import type { Builder, UploadFiles } from '../ports.ts'
import { ImageBuilder } from '../rollouts/image-builder.ts'
import { RolloutWriter } from '../rollouts/writer.ts'
import { UsageMeter } from '../usage-meter.ts'
import { ClusterAccounts } from './accounts.ts'
import { type ClusterCache, environmentOf } from './cache.ts'
import { type ClusterClient, clusterAway } from './client.ts'
import type { ClusterEngine } from './engine.ts'
import { ClusterEnvironment, type Depth } from './environment.ts'
import { NotListed } from './informer.ts'
import type { ClusterOptions } from './manifests/workload.ts'
import { NameClaims } from './owned-names.ts'
import { runsOfPod } from './pods.ts'
import { listObjects } from './resync.ts'
import { WorkQueue } from './work-queue.ts'

const lookEveryMs = 2_000
/** Interval for comparing the desired with the actual objects, which finds drift that no watch reports. */
const resyncEveryMs = 60_000
/** Interval for checking the capabilities of the cluster; while it is unreachable, every pass checks them. */
const checkEveryMs = 30_000
/** Environments that are worked on at the same time; of these, how many by a resync. */
const lanes = 8
const backgroundLanes = 4
/** From the least to the most. */
const depths: readonly Depth[] = ['events', 'stored', 'all']

export interface ClusterRegionDeps {
  region: string
  options: ClusterOptions & { functionDomain?: string | undefined }
  installationId: string
  client: ClusterClient
  cache: ClusterCache
  /** Builds images, runs the attempts of jobs, and checks the features of the cluster. */
  engine: ClusterEngine
  db: Db
  clock: Clock
  log: Log
  logs: LogStore
  secrets: SecretBox
  builder: Builder
  uploads: UploadFiles
  backups: BackupStore
  nodeName: string
  clockScale: number
  copyLimits?: CopyLimits
}

/**
 * Brings the environments of one cluster to their desired state, and the state of the cluster into the store. The
 * cluster schedules, restarts and scales by itself: nothing here is in the path of a request.
 */
export class ClusterRegion {
  readonly #deps: ClusterRegionDeps
  readonly #worker: Worker
  readonly #jobs: JobScheduler
  readonly #backups: BackupWorker
  readonly #followers: LogFollowers
  readonly #usage: UsageMeter
  readonly #shared: ConstructorParameters<typeof ClusterEnvironment>[1]
  readonly #environments = new Map<string, ClusterEnvironment>()
  readonly #queue: WorkQueue<Depth>
  readonly #accounts: ClusterAccounts
  #isMetering = false
  #resyncAtMs = 0
  #checkAtMs = 0
  #problem: AppError | null

  constructor(deps: ClusterRegionDeps) {
    this.#deps = deps
    this.#problem = deps.engine.problem
    const { db, clock, log, logs, secrets, builder, uploads, engine, nodeName, clockScale } = deps
    const rollouts = new RolloutWriter(db, () => clock.wallMs())
    const masks = new LogMasks(db, secrets)
    this.#followers = new LogFollowers(logs, masks, log)
    // Its own runs: the list of a machine does not have these containers.
    this.#usage = new UsageMeter(db, clock, log, `region:${deps.region}`)
    const images = new ImageBuilder({ db, clock, log, logs, masks, secrets, builder, uploads, rollouts })
    const { installationId, options, client, region } = deps
    const wake = (appEnvId: string) => this.wake([appEnvId])
    this.#accounts = new ClusterAccounts({ client, installationId, options })
    this.#shared = {
      ...{ db, clock, log, logs, secrets, engine, rollouts, images, followers: this.#followers },
      ...{ installationId, options, client, region, wake, clockScale, accounts: this.#accounts },
      claims: new NameClaims(),
      removeJobs: (appEnvId) => this.#removeJobs(appEnvId),
    }
    this.#jobs = new JobScheduler({
      ...{ db, clock, log, secrets, nodeName, clockScale, bootTime: readBootTime },
      regions: [region],
      engineOf: () => engine,
      list: () => this.#listJobs(),
      followers: this.#followers,
      usage: this.#usage,
    })
    this.#backups = new BackupWorker({
      ...{ db, clock, log, secrets, masks, files: deps.backups, regions: [region], limits: deps.copyLimits },
      engineOf: () => engine,
      moved: wake,
    })
    this.#queue = new WorkQueue({
      ...{ lanes, backgroundLanes },
      work: (appEnvId, depth) => this.#look(appEnvId, depth),
      merge: (before, now) => depths[Math.max(depths.indexOf(before), depths.indexOf(now))]!,
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
    return this.#problem?.message ?? null
  }

  start(): void {
    this.#checkAtMs = this.#deps.clock.monotonicMs() + checkEveryMs
    this.#deps.cache.start({
      changed: (appEnvId) => {
        this.#queue.add(appEnvId, 'cluster', 'events')
        this.#worker.wake()
      },
      jobsChanged: () => this.#jobs.wake(),
      stateChanged: () => {
        if (this.#deps.cache.problem) this.#queue.close()
        this.#worker.wake()
      },
    })
    this.#worker.start()
    this.#worker.wake()
    this.#jobs.wake()
  }

  /** Environments of other regions are left out; null: every environment of this one. */
  wake(appEnvIds: readonly string[] | null): void {
    if (appEnvIds === null) this.#resyncAtMs = 0
    for (const appEnvId of appEnvIds ?? []) this.#queue.add(appEnvId, 'user', 'stored')
    this.#worker.wake()
    this.#jobs.wake()
    this.#backups.wake()
  }

  async stop(): Promise<void> {
    for (const environment of this.#environments.values()) environment.close()
    await Promise.all([this.#queue.end(), this.#worker.stop(), this.#jobs.stop(), this.#backups.stop()])
    // After the last pass, which may begin to follow one more kind.
    await this.#deps.cache.stop()
    this.#followers.close()
    await this.#usage.settled()
  }

  async #pass(): Promise<void> {
    const { clock } = this.#deps
    if (!this.#isMetering) await this.#usage.open()
    this.#isMetering = true
    await this.#requireCluster()
    // During the outage, objects that no watch follows may have changed.
    if (this.#problem) this.#resyncAtMs = 0
    if (clock.monotonicMs() >= this.#resyncAtMs) await this.#resync()
    for (const [appEnvId, { isChanging }] of this.#environments)
      if (isChanging) this.#queue.add(appEnvId, 'cluster', 'stored')
    this.#queue.open()
    // Running pods are billed by their size, which is stored first.
    await this.#queue.caughtUp()
    await this.#meter()
    this.#problem = null
    this.#jobs.wake()
    this.#backups.wake()
  }

  /** Compares everything and applies missing or changed objects again; changes that users make meanwhile go first. */
  async #resync(): Promise<void> {
    const { db, clock, region, cache, client, installationId, options } = this.#deps
    this.#resyncAtMs = clock.monotonicMs() + resyncEveryMs
    const listed = await listObjects(client, installationId, options)
    this.#accounts.compare(listed)
    const own = await db.read(async (tx) => [
      ...(await listEnvironmentIdsIn(tx, [region])),
      ...(await listDeletedEnvironments(tx, [region])),
    ])
    const running = [...cache.environmentIds, ...cache.jobEnvironmentIds]
    // A deleted environment may have left a volume in the cluster, but no object that a watch follows.
    const known = [...own, ...running, ...listed.environments.keys(), ...this.#environments.keys()]
    for (const appEnvId of new Set(known))
      this.#queue.add(appEnvId, 'background', this.#environment(appEnvId).depthFor(listed))
  }

  /** Throws if the cluster does not answer, so that no pass acts on unknown state. */
  async #requireCluster(): Promise<void> {
    const { cache, clock, engine, options } = this.#deps
    if (this.#problem) await engine.check()
    else if (clock.monotonicMs() >= this.#checkAtMs) {
      this.#checkAtMs = clock.monotonicMs() + checkEveryMs
      // Changes do not wait for the answers of BuildKit and Prometheus.
      void engine.check().then(() => this.#worker.wake())
    }
    if (engine.problem) throw engine.problem
    if (options.functionDomain !== undefined && engine.hasKnative) cache.follow('service')
    if (engine.hasPostgres) cache.follow('postgres')
    if (cache.problem instanceof NotListed) throw cache.problem
    if (cache.problem) throw clusterAway(cache.problem)
  }

  /** A missing attempt counts as lost, so only a current list may be used. */
  async #listJobs() {
    const isCurrent = this.#deps.cache.problem === null
    return { containers: isCurrent ? await this.#deps.engine.list() : [], isListed: () => isCurrent }
  }

  /** Removes the jobs of a deleted environment by their objects: their rows are gone already. */
  async #removeJobs(appEnvId: string): Promise<void> {
    const { cache, engine } = this.#deps
    for (const { job } of cache.jobs())
      if (environmentOf(job) === appEnvId) await engine.remove(job.metadata.name)
  }

  async #look(appEnvId: string, depth: Depth): Promise<void> {
    const observed = this.#deps.cache.observed(appEnvId)
    if (!(await this.#environment(appEnvId).look(observed, depth))) this.#environments.delete(appEnvId)
  }

  async #meter(): Promise<void> {
    const { cache, clock, engine } = this.#deps
    const jobs = await engine.list()
    // The cache was current a moment ago, so a container that is missing from it has ended.
    if (cache.problem) return
    const nowMs = clock.wallMs()
    const runs = [...cache.pods()].flatMap((pod) => runsOfPod(pod, nowMs))
    await this.#usage.observe([...runs, ...jobs], nowMs)
  }

  #environment(appEnvId: string): ClusterEnvironment {
    const known = this.#environments.get(appEnvId)
    if (known) return known
    const environment = new ClusterEnvironment(appEnvId, this.#shared)
    this.#environments.set(appEnvId, environment)
    return environment
  }

  #failed(error: unknown): void {
    this.#queue.close()
    // Backups that wait for the cluster may have to be given up.
    this.#backups.wake()
    if (error instanceof NotListed) return
    const problem =
      error instanceof AppError
        ? error
        : new AppError('unavailable', 'The cluster cannot be read', { cause: error })
    if (this.#problem?.message !== problem.message)
      this.#deps.log[logLevelOf(error)](
        { err: error, region: this.#deps.region },
        'the cluster cannot be compared with the store; retrying',
      )
    this.#problem = problem
  }
}
