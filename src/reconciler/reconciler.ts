import { bootMoment, type Cancel, type Clock, every } from '../clock.ts'
import type { Moment } from '../domain/moment.ts'
import type { Engine, EngineContainer } from '../engines/engine.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Db } from '../store/db.ts'
import { listEnvironments } from '../store/environments.ts'
import { listJobAttemptIds } from '../store/job-runs.ts'
import type { LogStore } from '../store/log-store.ts'
import { listLivePods } from '../store/rollouts.ts'
import type { SecretBox } from '../store/secret-box.ts'
import { BackupLoop, type BackupStore } from './backup-loop.ts'
import { EnvironmentLoop } from './environment-loop.ts'
import { ImageMaker } from './image-maker.ts'
import { JobScheduler } from './job-scheduler.ts'
import { LogFollowers } from './log-followers.ts'
import type { LoopParts } from './loop-parts.ts'
import type { Measured } from './measured.ts'
import type { Builder, MeasuredData, RouteSink, UploadFiles } from './ports.ts'
import { Transitions } from './transitions.ts'
import { UsageMeter } from './usage-meter.ts'

const lookEveryMs = 2_000
const foldUsageEveryMs = 3_600_000

export interface ReconcilerParts {
  db: Db
  clock: Clock
  log: Log
  logs: LogStore
  secrets: SecretBox
  builder: Builder
  uploads: UploadFiles
  backups: BackupStore
  metrics: MeasuredData
  routes: RouteSink
  /** By region. */
  engines: ReadonlyMap<string, Engine>
  nodeName: string
  /** Divides job back-off and retention (contract.md 11); 1 when left out. */
  clockScale?: number
  /** A clock that never steps and outlives restarts; the machine's own when left out. */
  moment?: () => Moment
}

/**
 * Compares what is stored with what the engines list and makes the wish true, one environment at a time. Woken
 * by changes, by hints of the engines and by a timer; the list is the truth.
 */
export class Reconciler {
  readonly #parts: ReconcilerParts
  readonly #loopParts: LoopParts
  readonly #jobs: JobScheduler
  readonly #backups: BackupLoop
  readonly #loops = new Map<string, EnvironmentLoop>()
  readonly #cancels: Cancel[] = []
  #looking: Promise<void> | null = null
  #lookAgain = false
  #problem: string | null = null
  #closed = false
  #adopted = false

  constructor(parts: ReconcilerParts) {
    this.#parts = parts
    const { db, clock, log, secrets, routes, logs, builder, uploads, nodeName } = parts
    const transitions = new Transitions(db, () => clock.wallMs())
    this.#loopParts = {
      db,
      clock,
      log,
      secrets,
      nodeName,
      routes: this.#heldRoutes(routes),
      transitions,
      followers: new LogFollowers(logs, log),
      images: new ImageMaker({ db, clock, log, logs, secrets, builder, uploads, transitions }),
      usage: new UsageMeter(db, clock, log),
      found: new Map(),
      engineOf: (region) => this.#engineOf(region),
      look: () => this.#lookSoon(),
      cleanUp: (appEnvId) => this.#cleanUp(appEnvId),
    }
    const { engineOf, followers, usage } = this.#loopParts
    this.#backups = new BackupLoop({ db, clock, log, secrets, files: parts.backups, engineOf })
    this.#jobs = new JobScheduler({
      db,
      clock,
      log,
      secrets,
      nodeName,
      clockScale: parts.clockScale ?? 1,
      moment: parts.moment ?? bootMoment,
      engineOf,
      list: async () => {
        const { containers, listed } = await this.#list()
        return { containers, isListed: (region) => listed.has(this.#parts.engines.get(region)) }
      },
      followers,
      usage,
    })
  }

  /** What keeps the reconciler from working; null when all is well. */
  get problem(): string | null {
    return this.#problem
  }

  /** Adopts what runs, removes orphans, tells the gateway all routes, then goes on by itself. */
  async start(): Promise<void> {
    const { usage } = this.#loopParts
    await usage.open()
    const listedAtMs = this.#parts.clock.wallMs()
    const { containers, problem } = await this.#list()
    if (problem) throw problem
    await usage.observe(containers, listedAtMs)
    const environments = await this.#parts.db.read((tx) => listEnvironments(tx, 'installation'))
    for (const { appEnvId } of environments) this.#loop(appEnvId)
    for (const container of containers) this.#loop(container.appEnvId)
    for (const [appEnvId, loop] of this.#loops) {
      loop.adopt(containers.filter((container) => container.appEnvId === appEnvId))
    }
    await Promise.all([...this.#loops.values()].map((loop) => loop.settled()))
    await this.#removeOrphans(containers)
    this.#adopted = true
    this.#publishAll()
    this.#jobs.wake()
    this.#backups.wake()
    this.#cancels.push(every(this.#parts.clock, lookEveryMs, () => this.#look()))
    this.#cancels.push(every(this.#parts.clock, foldUsageEveryMs, () => this.#foldUsage()))
    for (const engine of new Set(this.#parts.engines.values())) {
      this.#cancels.push(engine.watch(() => this.#lookSoon()))
    }
  }

  async stop(): Promise<void> {
    this.#closed = true
    for (const cancel of this.#cancels) cancel()
    for (const loop of this.#loops.values()) loop.close()
    await this.#jobs.stop()
    await this.#backups.stop()
    this.#loopParts.followers.close()
    await Promise.all([...this.#loops.values()].map((loop) => loop.settled()))
    await this.#looking
    await this.#loopParts.usage.settled()
  }

  wake(appEnvIds: readonly string[]): void {
    if (this.#closed) return
    for (const appEnvId of appEnvIds) this.#loop(appEnvId, true).wake()
    this.#jobs.wake()
    this.#backups.wake()
  }

  /** What runs and should be measured now. */
  measured(): Measured[] {
    return [...this.#loops.values()].map((loop) => loop.measured()).filter((one) => one !== null)
  }

  /** From the gateway: a function needs this many containers. */
  desire(appEnvId: string, containers: number): void {
    this.#loops.get(appEnvId)?.desire(containers)
  }

  drained(appEnvId: string, containerName: string): void {
    this.#loops.get(appEnvId)?.drained(containerName)
  }

  /** From the gateway: a container refused a connection. */
  unreachable(): void {
    this.#lookSoon()
  }

  #loop(appEnvId: string, adopted = false): EnvironmentLoop {
    const known = this.#loops.get(appEnvId)
    if (known) return known
    const loop = new EnvironmentLoop(appEnvId, this.#loopParts)
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
    const routes = [...this.#loops.values()].map((loop) => loop.route()).filter((route) => route !== null)
    this.#parts.routes.setRoutes(routes)
  }

  #engineOf(region: string): Engine {
    const engine = this.#parts.engines.get(region)
    if (engine) return engine
    throw new AppError('unavailable', `No engine serves the region ${region}`, {
      details: 'Start Longshore with the engine that this environment was made for.',
    })
  }

  #lookSoon(): void {
    if (this.#looking) this.#lookAgain = true
    else void this.#look()
  }

  #look(): Promise<void> {
    this.#looking ??= this.#observe().finally(() => {
      this.#looking = null
      if (!this.#lookAgain || this.#closed) return
      this.#lookAgain = false
      void this.#look()
    })
    return this.#looking
  }

  async #observe(): Promise<void> {
    this.#jobs.wake()
    this.#backups.wake()
    const listedAtMs = this.#parts.clock.monotonicMs()
    const listedAtWallMs = this.#parts.clock.wallMs()
    try {
      const { containers, listed, problem } = await this.#list()
      void this.#loopParts.usage.observe(containers, listedAtWallMs, problem === null)
      const byEnvironment = groupByEnvironment(containers)
      const isListed = (region: string) => listed.has(this.#parts.engines.get(region))
      for (const [appEnvId, loop] of this.#loops)
        loop.observe(byEnvironment.get(appEnvId) ?? [], listedAtMs, isListed)
      await this.#removeOrphans(containers)
      if (problem) throw problem
      this.#problem = null
    } catch (error) {
      if (!(error instanceof AppError)) this.#parts.log.error({ err: error }, 'containers cannot be listed')
      else if (this.#problem === null) this.#parts.log.warn({ err: error }, error.message)
      this.#problem = error instanceof AppError ? error.message : 'The engine cannot be read'
    }
  }

  /** One region whose engine is away must not hold up the others. */
  async #list(): Promise<Listed> {
    const engines = [...new Set(this.#parts.engines.values())]
    const lists = await Promise.allSettled(engines.map((engine) => engine.list()))
    const failed = lists.find((list) => list.status === 'rejected')
    return {
      containers: lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : [])),
      listed: new Set(engines.filter((_engine, index) => lists[index]?.status === 'fulfilled')),
      problem: failed?.reason ?? null,
    }
  }

  /** A container that no live pod or job attempt names is nobody's: rows are written before containers are made. */
  async #removeOrphans(containers: readonly EngineContainer[]): Promise<void> {
    if (containers.length === 0) return
    const known = await this.#parts.db.read(
      async (tx) =>
        new Set([...(await listLivePods(tx)).map((pod) => pod.podId), ...(await listJobAttemptIds(tx))]),
    )
    for (const container of containers) {
      if (known.has(container.podId) || container.podId === this.#loops.get(container.appEnvId)?.sparePodId)
        continue
      this.#parts.log.info({ container: container.name }, 'removing a container that belongs to no pod')
      await this.#loopParts.usage.ended(container)
      for (const engine of new Set(this.#parts.engines.values())) await engine.remove(container.name)
    }
  }

  async #foldUsage(): Promise<void> {
    try {
      await this.#loopParts.usage.fold()
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'usage could not be folded; it is tried again')
    }
  }

  async #cleanUp(appEnvId: string): Promise<void> {
    for (const engine of new Set(this.#parts.engines.values())) {
      for (const container of await engine.list()) {
        if (container.appEnvId !== appEnvId) continue
        await this.#loopParts.usage.ended(container)
        await engine.remove(container.name)
      }
      await engine.forgetEnvironment(appEnvId)
    }
    await this.#parts.logs.forget(appEnvId)
    await this.#parts.metrics.forget(appEnvId)
    this.#loops.get(appEnvId)?.close()
    this.#loops.delete(appEnvId)
  }
}

interface Listed {
  containers: EngineContainer[]
  listed: ReadonlySet<Engine | undefined>
  /** Why one of the engines could not be asked. */
  problem: unknown
}

function groupByEnvironment(containers: readonly EngineContainer[]): Map<string, EngineContainer[]> {
  const groups = new Map<string, EngineContainer[]>()
  for (const container of containers) {
    groups.set(container.appEnvId, [...(groups.get(container.appEnvId) ?? []), container])
  }
  return groups
}
