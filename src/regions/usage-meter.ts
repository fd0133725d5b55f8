import type { Clock } from '../clock.ts'
import { zCloudSize } from '../domain/environments/environment.ts'
import { functionRateMultiplier } from '../domain/environments/usage.ts'
import type { EngineContainer } from '../engines/engine.ts'
import type { Log } from '../log.ts'
import type { Db, Tx } from '../store/db.ts'
import { findApp } from '../store/repositories/apps.ts'
import { findEnvironment } from '../store/repositories/environments.ts'
import { findJobAttempt } from '../store/repositories/job-runs.ts'
import { findPod } from '../store/repositories/rollouts.ts'
import {
  finishRun,
  foldRuns,
  insertRun,
  listOpenRuns,
  type StoredRun,
  writeSeen,
  writeSeenOf,
} from '../store/repositories/usage.ts'

/** How far back usage is exact to the second; older runs are aggregated into hours. */
const exactMs = 35 * 86_400_000
/** How often open runs are recorded as still running. */
const seenEveryMs = 1_000

/** Aggregates runs that are older than the exact period. */
export async function foldUsage(db: Db, clock: Clock): Promise<void> {
  const beforeMs = clock.wallMs() - exactMs
  while ((await db.write((tx) => foldRuns(tx, beforeMs))) > 0);
}

/** The meter's input about a container. */
export type MeteredContainer = Pick<
  EngineContainer,
  'name' | 'podId' | 'appEnvId' | 'state' | 'startedAt' | 'finishedAt'
>

/**
 * Bills by the start and end that the engine reports (docs/interface.md#billing), whatever the clock scale.
 * The container's name is the key of its row, so nothing is billed twice, and containers that ran while the
 * control plane was down are in the next list with their own times.
 */
export class UsageMeter {
  readonly #db: Db
  readonly #clock: Clock
  readonly #log: Log
  readonly #node: string | null
  /** Open runs and when each was last seen running. */
  readonly #open = new Map<string, number>()
  /** Containers recorded as ended that may still be listed. */
  #over = new Set<string>()
  #seenWrittenMs = Number.NEGATIVE_INFINITY
  #queue: Promise<unknown> = Promise.resolve()

  /** `node`: this machine, where several share the store. */
  constructor(db: Db, clock: Clock, log: Log, node: string | null = null) {
    this.#db = db
    this.#clock = clock
    this.#log = log
    this.#node = node
  }

  /** Reads the runs that were open when the last control plane ended. */
  async open(): Promise<void> {
    const runs = await this.#db.read((tx) => listOpenRuns(tx, this.#node))
    for (const run of runs) this.#open.set(run.container, Math.max(run.startedMs, run.seenMs))
  }

  /**
   * Processes a list of containers that was requested at `listedAtMs` of the wall clock. `isWhole` is false if an
   * engine did not respond, so a missing container may still run. Never rejects.
   */
  observe(containers: readonly MeteredContainer[], listedAtMs: number, isWhole = true): Promise<void> {
    return this.#serialized(() => this.#take(containers, listedAtMs, isWhole)).catch((error) => {
      this.#log.warn({ err: error }, 'cannot write usage; retrying with the next list')
    })
  }

  /** Must be called before a container is removed, because its end time is unknown afterwards. */
  ended(container: MeteredContainer): Promise<void> {
    return this.#serialized(async () => {
      const nowMs = this.#clock.wallMs()
      const endMs = container.state === 'exited' ? this.#endOf(container, nowMs) : nowMs
      await this.#db.write((tx) => this.#finish(tx, container, endMs))
      this.#open.delete(container.name)
      this.#over.add(container.name)
    })
  }

  /** Resolves when all writes are done. */
  async settled(): Promise<void> {
    await this.#queue
  }

  async #take(containers: readonly MeteredContainer[], listedAtMs: number, isWhole: boolean): Promise<void> {
    const started = containers.filter(({ startedAt }) => startedAt !== null)
    const listed = new Set(containers.map(({ name }) => name))
    const isNew = ({ name }: MeteredContainer) => !this.#open.has(name) && !this.#over.has(name)
    const fresh = started.filter(isNew)
    const ended = started.filter(({ name, state }) => state === 'exited' && this.#open.has(name))
    const isLost = ([name, seenMs]: [string, number]) => !listed.has(name) && seenMs < listedAtMs
    const lost = isWhole ? [...this.#open].filter(isLost) : []
    const running = started.filter(({ name, state }) => state === 'running' && !this.#over.has(name))
    const hasSeen = isWhole ? this.#open.size + fresh.length > 0 : running.length > 0
    const keepsSeen = hasSeen && this.#seenIsOld(listedAtMs)
    if (fresh.length + ended.length + lost.length > 0 || keepsSeen) {
      await this.#db.write(async (tx) => {
        for (const container of fresh) await this.#begin(tx, container, listedAtMs)
        for (const container of ended) await finishRun(tx, container.name, this.#endOf(container, listedAtMs))
        for (const [name, seenMs] of lost) await finishRun(tx, name, seenMs)
        if (keepsSeen && isWhole) await writeSeen(tx, listedAtMs, this.#node)
        else if (keepsSeen) await writeSeenOf(tx, namesOf(running), listedAtMs)
      })
    }
    if (keepsSeen) this.#seenWrittenMs = listedAtMs
    for (const name of namesOf(running)) this.#open.set(name, listedAtMs)
    for (const { name } of [...ended, ...fresh.filter(({ state }) => state === 'exited')]) this.#setOver(name)
    for (const [name] of lost) this.#setOver(name)
    if (isWhole) this.#over = new Set([...this.#over].filter((name) => listed.has(name)))
  }

  async #begin(tx: Tx, container: MeteredContainer, listedAtMs: number): Promise<void> {
    if (container.state === 'exited') await this.#finish(tx, container, this.#endOf(container, listedAtMs))
    else await this.#insert(tx, container, null)
  }

  async #finish(tx: Tx, container: MeteredContainer, endMs: number): Promise<void> {
    // Runs that ended before the exact period are aggregated, so a row may be gone while its container is still
    // listed.
    if (endMs < this.#clock.wallMs() - exactMs) return
    await finishRun(tx, container.name, endMs)
    await this.#insert(tx, container, endMs)
  }

  async #insert(tx: Tx, container: MeteredContainer, finishedMs: number | null): Promise<void> {
    const startedMs = timeOf(container.startedAt)
    const rate = startedMs === null ? null : await rateOf(tx, container)
    if (startedMs === null || !rate) return
    const endMs = finishedMs === null ? null : Math.max(startedMs, finishedMs)
    const { name, appEnvId } = container
    await insertRun(tx, { container: name, appEnvId, ...rate, startedMs, finishedMs: endMs }, this.#node)
  }

  /**
   * If the engine does not know the end, it is when the container was last seen running; one never seen is not
   * billed.
   */
  #endOf({ name, startedAt, finishedAt }: MeteredContainer, listedAtMs: number): number {
    return timeOf(finishedAt) ?? this.#open.get(name) ?? timeOf(startedAt) ?? listedAtMs
  }

  #setOver(name: string): void {
    this.#open.delete(name)
    this.#over.add(name)
  }

  #seenIsOld(nowMs: number): boolean {
    return Math.abs(nowMs - this.#seenWrittenMs) >= seenEveryMs
  }

  #serialized<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work)
    this.#queue = done.catch(() => {})
    return done
  }
}

/** The billing rate of a container; null if its environment no longer exists. */
async function rateOf(
  tx: Tx,
  { appEnvId, podId }: MeteredContainer,
): Promise<Pick<StoredRun, 'accountId' | 'zClouds' | 'rateMultiplier'> | null> {
  const environment = await findEnvironment(tx, { appEnvId })
  const stored = environment && (await findApp(tx, environment.appId))
  if (!environment || !stored) return null
  // Its own size, not the environment's current one: a job has the size of its run, a pod that of its rollout.
  const sized = (await findPod(tx, podId)) ?? (await findJobAttempt(tx, podId))
  return {
    accountId: environment.accountId,
    zClouds: sized ? sized.cpuMillicores / zCloudSize.cpuMillicores : environment.applied.zClouds,
    rateMultiplier: stored.app.isFunction ? functionRateMultiplier : 1,
  }
}

function namesOf(containers: readonly MeteredContainer[]): string[] {
  return containers.map(({ name }) => name)
}

function timeOf(iso: string | null): number | null {
  const ms = iso === null ? Number.NaN : Date.parse(iso)
  return Number.isNaN(ms) ? null : ms
}
