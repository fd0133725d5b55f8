import path from 'node:path'
import { LogArchive } from '../../files/log-archive.ts'
import { LogStore } from '../../files/log-store.ts'
import type { ClusterRegion } from '../../regions/kubernetes/region.ts'
import type { Db } from '../../store/db.ts'
import type { LeasedWork } from '../../store/membership.ts'
import { Worker } from '../../worker.ts'
import { copyLogs, sweepLogs } from '../housekeeping.ts'
import type { SharedWork } from '../instances/shared-work.ts'
import { type Platform, stopCopyMs } from '../platform.ts'
import type { PlatformRegion } from './region.ts'

/** Segments are numbered by the second in which a control plane began to write, counted from here: nine digits. */
const segmentsSinceMs = Date.UTC(2026, 0)

interface Running {
  cluster: ClusterRegion
  logs: LogStore
  parts: { stop(): unknown }[]
}

/** The work on a cluster region while this control plane has its lease. */
export class LeasedRegion implements LeasedWork {
  readonly region: string
  readonly #platform: Platform
  readonly #opening: Worker
  #running: Running | null = null
  #problem: string | null = null
  #stopping: Promise<void> | null = null

  constructor(
    platform: Platform,
    { region, cluster }: Required<Pick<PlatformRegion, 'region' | 'cluster'>>,
    { db, evaluatorOf }: { db: Db; evaluatorOf: SharedWork['evaluatorOf'] },
  ) {
    this.#platform = platform
    this.region = region
    const { clock, config, log } = platform
    this.#opening = new Worker({
      clock,
      pass: async () => {
        const logs = await this.#openLogs()
        const work = cluster({
          ...platform,
          db,
          logs,
          clockScale: config.clockScale,
          copyLimits: config.copyLimits,
        })
        // A single control plane has one evaluator for the alerts of all regions.
        const starting = this.#isShared ? [work, evaluatorOf(db, [region])] : [work]
        for (const one of starting) one.start()
        this.#running = { cluster: work, logs, parts: [...starting, ...this.#keepLogs(logs)] }
      },
      failed: (error) => {
        this.#problem = 'The kept logs of the region cannot be opened'
        log.warn({ err: error, region }, 'the kept logs of a region cannot be opened; retrying')
      },
    })
    this.#opening.wake()
  }

  /** Why the region does not work; null if it does. */
  get problem(): string | null {
    return this.#running ? this.#running.cluster.problem : this.#problem
  }

  /** Null until they are open. */
  get logs(): LogStore | null {
    return this.#running?.logs ?? null
  }

  wake(appEnvIds: readonly string[] | null = null): void {
    this.#running?.cluster.wake(appEnvIds)
  }

  /** May be called again: once for the end of the lease and once for the end of the process. */
  async stop(): Promise<void> {
    this.#stopping ??= this.#end()
    await this.#stopping
  }

  async #end(): Promise<void> {
    await this.#opening.stop()
    await Promise.all((this.#running?.parts ?? []).map((part) => part.stop()))
    if (this.#isShared) await this.#running?.logs.close(stopCopyMs)
  }

  /** Where several control planes can run the region, its logs have a place that the next one opens. */
  get #isShared(): boolean {
    return this.#platform.membership.isShared
  }

  async #openLogs(): Promise<LogStore> {
    const { home, files, hasSharedFiles, logs, clock } = this.#platform
    if (!this.#isShared) return logs
    const archive = hasSharedFiles ? await LogArchive.open(files, `region:${this.region}`) : null
    const firstSegment = Math.floor((clock.wallMs() - segmentsSinceMs) / 1_000)
    return new LogStore(path.join(home.dir, 'region-logs', this.region), { archive, firstSegment })
  }

  #keepLogs(logs: LogStore): Worker[] {
    const own = { ...this.#platform, logs }
    return this.#isShared ? [sweepLogs(own), copyLogs(own)] : []
  }
}
