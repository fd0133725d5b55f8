import type { Clock } from '../clock.ts'
import { zCloudSize } from '../domain/environment.ts'
import { functionRateMultiplier } from '../domain/usage.ts'
import type { EngineContainer } from '../engines/engine.ts'
import type { Log } from '../log.ts'
import { findApp } from '../store/apps.ts'
import type { Db, Tx } from '../store/db.ts'
import { findEnvironment } from '../store/environments.ts'
import { findJobAttempt } from '../store/job-runs.ts'
import { findPod } from '../store/rollouts.ts'
import {
  finishRun,
  foldRuns,
  insertRun,
  listOpenRuns,
  readSeen,
  type StoredRun,
  writeSeen,
} from '../store/usage.ts'

/** How far back usage is exact to the second; older runs are folded into hours. */
const exactMs = 35 * 86_400_000
/** How often it is written down that the open runs still run. */
const seenEveryMs = 1_000

/** What the meter needs to know of a container. */
export type MeteredContainer = Pick<
  EngineContainer,
  'name' | 'podId' | 'appEnvId' | 'state' | 'startedAt' | 'finishedAt'
>

/**
 * Bills containers from start to end (contract.md 8), in the words of the engine: one row for each container, its
 * name the key, so that nothing counts twice and a crash of the control plane costs nothing. What runs while
 * nobody looks is found in the next list with its own times. Clock scale never touches it.
 */
export class UsageMeter {
  readonly #db: Db
  readonly #clock: Clock
  readonly #log: Log
  /** Open runs and when each was last seen to run. */
  readonly #open = new Map<string, number>()
  /** Containers that are written down as over and may still be listed. */
  #over = new Set<string>()
  #seenWrittenMs = Number.NEGATIVE_INFINITY
  #queue: Promise<unknown> = Promise.resolve()

  constructor(db: Db, clock: Clock, log: Log) {
    this.#db = db
    this.#clock = clock
    this.#log = log
  }

  /** Reads what was open when the last control plane ended. */
  async open(): Promise<void> {
    const { runs, seenMs } = await this.#db.read(async (tx) => ({
      runs: await listOpenRuns(tx),
      seenMs: await readSeen(tx),
    }))
    for (const run of runs) this.#open.set(run.container, Math.max(run.startedMs, seenMs))
  }

  /**
   * Takes in a list of containers, asked for at `listedAtMs` of the wall clock; `isWhole` is false when an engine
   * could not be asked, so that what is missing may still run. Never rejects.
   */
  observe(containers: readonly MeteredContainer[], listedAtMs: number, isWhole = true): Promise<void> {
    return this.#inTurn(() => this.#take(containers, listedAtMs, isWhole)).catch((error) => {
      this.#log.warn({ err: error }, 'usage could not be written; it is caught up with the next list')
    })
  }

  /** Must be called before a container is removed: afterwards nobody can tell when it ended. */
  ended(container: MeteredContainer): Promise<void> {
    return this.#inTurn(async () => {
      const nowMs = this.#clock.wallMs()
      const endMs = container.state === 'exited' ? this.#endOf(container, nowMs) : nowMs
      await this.#db.write((tx) => this.#finish(tx, container, endMs))
      this.#open.delete(container.name)
      this.#over.add(container.name)
    })
  }

  /** Resolves when nothing is left to write. */
  async settled(): Promise<void> {
    await this.#queue
  }

  /** Folds what is older than is kept exact. */
  async fold(): Promise<void> {
    const beforeMs = this.#clock.wallMs() - exactMs
    while ((await this.#db.write((tx) => foldRuns(tx, beforeMs))) > 0);
  }

  async #take(containers: readonly MeteredContainer[], listedAtMs: number, isWhole: boolean): Promise<void> {
    const started = containers.filter(({ startedAt }) => startedAt !== null)
    const listed = new Set(containers.map(({ name }) => name))
    const isNew = ({ name }: MeteredContainer) => !this.#open.has(name) && !this.#over.has(name)
    const fresh = started.filter(isNew)
    const ended = started.filter(({ name, state }) => state === 'exited' && this.#open.has(name))
    const isLost = ([name, seenMs]: [string, number]) => !listed.has(name) && seenMs < listedAtMs
    const lost = isWhole ? [...this.#open].filter(isLost) : []
    const keepsSeen = isWhole && this.#open.size + fresh.length > 0 && this.#seenIsOld(listedAtMs)
    if (fresh.length + ended.length + lost.length > 0 || keepsSeen) {
      await this.#db.write(async (tx) => {
        for (const container of fresh) await this.#begin(tx, container, listedAtMs)
        for (const container of ended) await finishRun(tx, container.name, this.#endOf(container, listedAtMs))
        for (const [name, seenMs] of lost) await finishRun(tx, name, seenMs)
        if (keepsSeen) await writeSeen(tx, listedAtMs)
      })
    }
    if (keepsSeen) this.#seenWrittenMs = listedAtMs
    for (const { name, state } of started) {
      if (state === 'running' && !this.#over.has(name)) this.#open.set(name, listedAtMs)
    }
    for (const { name } of [...ended, ...fresh.filter(({ state }) => state === 'exited')]) this.#setOver(name)
    for (const [name] of lost) this.#setOver(name)
    if (isWhole) this.#over = new Set([...this.#over].filter((name) => listed.has(name)))
  }

  async #begin(tx: Tx, container: MeteredContainer, listedAtMs: number): Promise<void> {
    if (container.state === 'exited') await this.#finish(tx, container, this.#endOf(container, listedAtMs))
    else await this.#insert(tx, container, null)
  }

  async #finish(tx: Tx, container: MeteredContainer, endMs: number): Promise<void> {
    // What ended before the horizon is folded, so its row may be gone while the container is still listed.
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
    await insertRun(tx, { container: name, appEnvId, ...rate, startedMs, finishedMs: endMs })
  }

  /** Where the engine does not know: when it was last seen to run; one that was never seen is not billed. */
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

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work)
    this.#queue = done.catch(() => {})
    return done
  }
}

/** At which rate a container is billed; null when its environment is gone. */
async function rateOf(
  tx: Tx,
  { appEnvId, podId }: MeteredContainer,
): Promise<Pick<StoredRun, 'accountId' | 'zClouds' | 'rateMultiplier'> | null> {
  const environment = await findEnvironment(tx, { appEnvId })
  const stored = environment && (await findApp(tx, environment.appId))
  if (!environment || !stored) return null
  // Its own size, not the environment's of today: a job keeps the size of its run, a pod that of its rollout.
  const sized = (await findPod(tx, podId)) ?? (await findJobAttempt(tx, podId))
  return {
    accountId: environment.accountId,
    zClouds: sized ? sized.cpuMillicores / zCloudSize.cpuMillicores : environment.applied.zClouds,
    rateMultiplier: stored.app.isFunction ? functionRateMultiplier : 1,
  }
}

function timeOf(iso: string | null): number | null {
  const ms = iso === null ? Number.NaN : Date.parse(iso)
  return Number.isNaN(ms) ? null : ms
}
