import { type Cancel, type Clock, readBootTime } from '../../clock.ts'
import type { CopyLimits } from '../../domain/backups/backup.ts'
import type { BootTime } from '../../domain/boot-clock.ts'
import { defaultKeptVersions } from '../../domain/environments/kept-images.ts'
import type { Engine, EngineContainer } from '../../engines/engine.ts'
import { AppError } from '../../errors.ts'
import type { LogStore } from '../../files/log-store.ts'
import type { Log } from '../../log.ts'
import type { Db } from '../../store/db.ts'
import { listEnvironmentIdsIn } from '../../store/repositories/environments-in-regions.ts'
import { listJobAttemptIds } from '../../store/repositories/job-runs.ts'
import { endRemoval, listDeletedEnvironments } from '../../store/repositories/removals.ts'
import { listLivePods } from '../../store/repositories/rollouts.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import { Worker } from '../../worker.ts'
import { type BackupStore, BackupWorker } from '../backups/worker.ts'
import { JobScheduler } from '../jobs/scheduler.ts'
import { LogFollowers } from '../logs/followers.ts'
import { LogMasks } from '../logs/masks.ts'
import type { Builder, MetricData, RouteSink, UploadFiles } from '../ports.ts'
import { ImageBuilder } from '../rollouts/image-builder.ts'
import { RolloutWriter } from '../rollouts/writer.ts'
import { UsageMeter } from '../usage-meter.ts'
import { type DomainsOf, environmentHost } from './environment-host.ts'
import { EnvironmentWorker } from './environment-worker.ts'
import { ImageCollector } from './image-collector.ts'
import type { MetricTarget } from './metric-targets.ts'
import { type MachineScope, OwnEnvironments } from './own-environments.ts'
import { groupByEnvironment, RegionEngines } from './region-engines.ts'
import type { WorkerDeps } from './worker-deps.ts'

const lookEveryMs = 2_000

interface ReconcilerDeps {
  db: Db
  clock: Clock
  log: Log
  logs: LogStore
  secrets: SecretBox
  builder: Builder
  uploads: UploadFiles
  backups: BackupStore
  metrics: MetricData
  routes: RouteSink
  /** By region. */
  engines: ReadonlyMap<string, Engine>
  nodeName: string
  domainsOf?: DomainsOf
  /** Where several control planes share the store; absent: this one runs everything. */
  scope?: MachineScope | undefined
  /** Divides job back-off and retention (docs/interface.md#clock-scale); default 1. */
  clockScale?: number
  /** Divides the stability window of deployments; default: `clockScale`. */
  stabilityScale?: number
  /** Deployed versions whose images stay for a rollback; default 10. */
  keptVersions?: number
  copyLimits?: CopyLimits
  /** A clock that never steps and outlives restarts; the machine's own when left out. */
  bootTime?: () => BootTime
}

/**
 * Compares what is stored with what the engines list and repairs the difference, one environment at a time. Woken
 * by changes, by hints of the engines and by a timer; the list is the truth.
 */
export class Reconciler {
  readonly #deps: ReconcilerDeps
  readonly #workerDeps: WorkerDeps
  readonly #jobs: JobScheduler
  readonly #backups: BackupWorker
  readonly #images: ImageCollector
  readonly #loops = new Map<string, EnvironmentWorker>()
  readonly #engines: RegionEngines
  readonly #looks: Worker
  readonly #own: OwnEnvironments
  readonly #cancels: Cancel[] = []
  #problem: string | null = null
  /** Engines that did not answer the last listing. */
  #isListed: (region: string) => boolean = () => true
  #closed = false
  #adopted = false

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps
    this.#engines = new RegionEngines(deps.engines)
    const { db, clock, log, secrets, routes, logs, builder, uploads, nodeName, scope } = deps
    const common = { db, clock, log, secrets, nodeName }
    const masks = new LogMasks(db, secrets)
    const rollouts = new RolloutWriter(db, () => clock.wallMs())
    this.#workerDeps = {
      ...common,
      stabilityScale: deps.stabilityScale ?? deps.clockScale ?? 1,
      routes: this.#heldRoutes(routes),
      rollouts,
      followers: new LogFollowers(logs, masks, log),
      images: new ImageBuilder({ db, clock, log, logs, masks, secrets, builder, uploads, rollouts }),
      usage: new UsageMeter(db, clock, log, scope?.node),
      found: new Map(),
      engineOf: (region) => this.#engines.of(region),
      hostOf: environmentHost(deps.domainsOf),
      isOwn: (region) => deps.engines.has(region),
      left: (appEnvId) => void this.#loops.delete(appEnvId),
      look: () => this.#looks.wake(),
      deployed: (appEnvId) => this.#images.deployed(appEnvId),
      cleanUp: (appEnvId) => this.#cleanUp(appEnvId),
    }
    const { engineOf, followers, usage } = this.#workerDeps
    const work = { ...common, engineOf, regions: scope?.regions }
    const keptVersions = deps.keptVersions ?? defaultKeptVersions
    this.#images = new ImageCollector({ ...work, keptVersions })
    const copies = { masks, files: deps.backups, limits: deps.copyLimits }
    this.#backups = new BackupWorker({ ...work, ...copies, moved: (id) => this.#wake([id]) })
    this.#jobs = new JobScheduler({
      ...work,
      clockScale: deps.clockScale ?? 1,
      bootTime: deps.bootTime ?? readBootTime,
      list: () => this.#engines.list(),
      followers,
      usage,
    })
    this.#looks = new Worker({
      clock,
      everyMs: lookEveryMs,
      pass: () => this.#observe(),
      failed: (error) => log.error({ err: error }, 'containers cannot be listed; retrying'),
    })
    this.#own = new OwnEnvironments({
      ...{ db, clock, log, scope },
      has: (appEnvId) => this.#loops.has(appEnvId),
      wake: (appEnvIds) => this.#wake(appEnvIds),
    })
  }

  /** The problem that keeps the reconciler from working; null if there is none. */
  get problem(): string | null {
    return this.#problem
  }

  /** Why the engine of a region does not answer; null when it does. */
  engineProblem(region: string): string | null {
    return this.#isListed(region) ? null : this.#problem
  }

  /** Adopts running containers, removes orphans, publishes all routes to the gateway and starts the periodic work. */
  async start(): Promise<void> {
    const { usage } = this.#workerDeps
    await usage.open()
    const listedAtMs = this.#deps.clock.wallMs()
    const { containers, problem } = await this.#engines.list()
    if (problem) throw problem
    await usage.observe(containers, listedAtMs)
    const { db, scope } = this.#deps
    await this.#own.start()
    for (const appEnvId of await db.read((tx) => listEnvironmentIdsIn(tx, scope?.regions)))
      this.#loop(appEnvId)
    const own = [...this.#deps.engines.keys()]
    for (const appEnvId of await db.read((tx) => listDeletedEnvironments(tx, own))) this.#loop(appEnvId)
    for (const container of containers) this.#loop(container.appEnvId)
    for (const [appEnvId, loop] of this.#loops)
      loop.adopt(containers.filter((container) => container.appEnvId === appEnvId))
    await this.settled()
    // A container that cannot be removed now is removed after a later list.
    await this.#removeOrphans(containers).catch((error) =>
      this.#deps.log.warn({ err: error }, 'orphan containers are not removed yet'),
    )
    this.#adopted = true
    this.#publishAll()
    this.#jobs.wake()
    this.#backups.wake()
    this.#looks.start()
    this.#images.start()
    for (const engine of this.#engines.all) this.#cancels.push(engine.watch(() => this.#looks.wake()))
  }

  /** Resolves when no pass is under way. */
  async settled(): Promise<void> {
    await Promise.all([this.#looks, ...this.#loops.values()].map((worker) => worker.settled()))
  }

  async stop(): Promise<void> {
    this.#closed = true
    const looked = [this.#looks.stop(), this.#own.stop(), this.#images.stop()]
    for (const cancel of this.#cancels) cancel()
    for (const loop of this.#loops.values()) loop.close()
    await Promise.all([this.#jobs.stop(), this.#backups.stop()])
    this.#workerDeps.followers.close()
    await Promise.all([this.settled(), ...looked])
    await this.#workerDeps.usage.settled()
  }

  /** Environments of other machines are left out; null: every environment of this one. */
  wake(appEnvIds: readonly string[] | null): void {
    this.#own.wake(appEnvIds ?? [...this.#loops.keys()])
  }

  #wake(appEnvIds: readonly string[]): void {
    if (this.#closed || appEnvIds.length === 0) return
    for (const appEnvId of appEnvIds) this.#loop(appEnvId, true).wake()
    this.#jobs.wake()
    this.#backups.wake()
  }

  /** The running containers to sample now. */
  metricTargets(): MetricTarget[] {
    return [...this.#loops.values()].map((loop) => loop.metricTargets()).filter((one) => one !== null)
  }

  /** From the gateway: a function needs this many containers. */
  desire(appEnvId: string, containers: number): void {
    this.#loops.get(appEnvId)?.desire(containers)
  }

  drained(appEnvId: string, containerName: string): void {
    this.#loops.get(appEnvId)?.drained(containerName)
  }

  /** From the gateway: a container refused a connection. */
  unreachable(appEnvId: string, containerName: string): void {
    this.#loops.get(appEnvId)?.unreachable(containerName)
    this.#looks.wake()
  }

  #loop(appEnvId: string, adopted = false): EnvironmentWorker {
    const known = this.#loops.get(appEnvId)
    if (known) return known
    const loop = new EnvironmentWorker(appEnvId, this.#workerDeps)
    this.#loops.set(appEnvId, loop)
    if (adopted) loop.adopt([])
    return loop
  }

  /** Until everything that runs is adopted, the gateway keeps the routes it last heard. */
  #heldRoutes(routes: RouteSink): RouteSink {
    return {
      setRoutes: (all) => routes.setRoutes(all),
      setRoute: (route) => {
        if (this.#adopted) routes.setRoute(route)
      },
      dropRoute: (appEnvId) => routes.dropRoute(appEnvId),
      startFailed: (appEnvId, message) => routes.startFailed(appEnvId, message),
    }
  }

  #publishAll(): void {
    const routes = [...this.#loops.values()].map((loop) => loop.route())
    this.#deps.routes.setRoutes(routes.filter((route) => route !== null))
  }

  async #observe(): Promise<void> {
    this.#jobs.wake()
    this.#backups.wake()
    const listedAtMs = this.#deps.clock.monotonicMs()
    const listedAtWallMs = this.#deps.clock.wallMs()
    try {
      const { containers, isListed, problem } = await this.#engines.list()
      void this.#workerDeps.usage.observe(containers, listedAtWallMs, problem === null)
      const byEnvironment = groupByEnvironment(containers)
      for (const [appEnvId, loop] of this.#loops)
        loop.observe(byEnvironment.get(appEnvId) ?? [], listedAtMs, isListed)
      await this.#removeOrphans(containers)
      this.#isListed = isListed
      if (problem) throw problem
      this.#problem = null
    } catch (error) {
      if (!(error instanceof AppError))
        this.#deps.log.error({ err: error }, 'containers cannot be listed; retrying')
      else if (this.#problem === null) this.#deps.log.warn({ err: error }, error.message)
      this.#problem = error instanceof AppError ? error.message : 'The engine cannot be read'
    }
  }

  /** A container without a live pod or job attempt is an orphan: rows are written before containers are made. */
  async #removeOrphans(containers: readonly EngineContainer[]): Promise<void> {
    if (containers.length === 0) return
    const known = await this.#deps.db.read(
      async (tx) =>
        new Set([...(await listLivePods(tx)).map((pod) => pod.podId), ...(await listJobAttemptIds(tx))]),
    )
    for (const container of containers) {
      const { prewarmedPodId } = this.#loops.get(container.appEnvId) ?? {}
      if (known.has(container.podId) || container.podId === prewarmedPodId) continue
      this.#deps.log.info({ container: container.name }, 'removing an orphan container')
      await this.#workerDeps.usage.ended(container)
      await this.#engines.remove(container.name)
    }
  }

  /** A deletion is stored until nothing is left: after a crash, the next start continues it. */
  async #cleanUp(appEnvId: string): Promise<void> {
    await this.#engines.purge(appEnvId, (container) => this.#workerDeps.usage.ended(container))
    const { db, logs, metrics, engines } = this.#deps
    await logs.forget(appEnvId)
    await metrics.forget(appEnvId)
    await db.write((tx) => endRemoval(tx, { kind: 'environment', subject: appEnvId }, [...engines.keys()]))
    this.#loops.get(appEnvId)?.close()
    this.#loops.delete(appEnvId)
  }
}
