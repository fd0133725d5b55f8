import { readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Log } from '../log.ts'
import { Accumulator } from './accumulator.ts'
import { CoarseFiles, type Tier } from './coarse-files.ts'
import type { MeasuredValues, MetricPoint, SeriesQuery } from './metric-source.ts'
import { RecentSamples } from './recent-samples.ts'
import type { Sample } from './sample.ts'
import { SampleLog } from './sample-log.ts'
import { accumulate, encodeSample, mergeRecords } from './sample-record.ts'

/** Two hours of samples at 10 s. */
const recentTurns = 720
const turnsPerMinute = 6
const turnsPerFiveMinutes = 30
/** A block of five minutes is merged once it is this many turns old, so that late samples are in it. */
const settleTurns = 2
const mostSteps = 50_000
const mergesPerTurn = 50

interface EnvironmentSeries {
  recent: RecentSamples
  /** Measured for the first time in this life of the process: no file knows more than memory. */
  isNew: boolean
  minutes: CoarseFiles
  fiveMinutes: CoarseFiles
  /** Blocks up to here have been merged in this life of the process; null: not looked at yet. */
  mergedMs: number | null
}

/**
 * The measured values of an installation: two hours of samples in memory and in a log, then one record a minute
 * for a day and one every five minutes for a week in files. Merged records keep mean, least, most, latest,
 * counts and the whole histogram of latencies, so a step read from them says what its samples said.
 */
export class MetricStore implements MeasuredValues {
  readonly periodMs: number
  readonly #dir: string
  readonly #log: Log
  readonly #samples: SampleLog
  readonly #environments = new Map<string, EnvironmentSeries>()
  readonly #tiers: { minutes: Tier; fiveMinutes: Tier }
  #lastTurnMs = Number.NEGATIVE_INFINITY
  #failing = false

  constructor(options: { dir: string; periodMs: number; log: Log }) {
    const { dir, periodMs, log } = options
    this.periodMs = periodMs
    this.#log = log
    // Records of another period would be read as if they were of this one.
    this.#dir = path.join(dir, `${periodMs}ms`)
    this.#samples = new SampleLog(this.#dir, recentTurns * periodMs)
    this.#tiers = {
      minutes: { name: 'minute', stepMs: turnsPerMinute * periodMs, keptSteps: 1_440 },
      fiveMinutes: { name: 'five', stepMs: turnsPerFiveMinutes * periodMs, keptSteps: 2_016 },
    }
  }

  /** Bytes of samples held in memory. */
  get memoryBytes(): number {
    let bytes = 0
    for (const { recent } of this.#environments.values()) bytes += recent.bytes
    return bytes
  }

  /**
   * Reads the log of samples. Environments that `exists` does not know are forgotten; `useState` gets what
   * `append` was given as state, oldest first, with the time of its turn.
   */
  async open(
    exists: (appEnvId: string) => boolean,
    useState: (state: unknown, t: number) => void = () => {},
  ): Promise<void> {
    await this.#samples.load(({ t, records, state }) => {
      this.#lastTurnMs = t
      useState(state, t)
      for (const { appEnvId, record } of records) {
        if (exists(appEnvId)) this.#environment(appEnvId).recent.add(record)
      }
    })
    for (const { recent } of this.#environments.values()) {
      recent.dropBefore(this.#lastTurnMs - recentTurns * this.periodMs)
    }
    for (const appEnvId of await readdir(path.join(this.#dir, 'env')).catch(() => [])) {
      if (exists(appEnvId)) this.#environment(appEnvId)
      else await this.forget(appEnvId)
    }
  }

  /** Keeps one turn of samples taken at `t`; `stateOf(whole)` is kept with it. Never throws: memory has it first. */
  async append(t: number, samples: readonly Sample[], stateOf: (whole: boolean) => unknown = () => null) {
    const records = samples.flatMap((sample) => {
      const record = encodeSample(t, sample)
      return record ? [{ appEnvId: sample.appEnvId, record }] : []
    })
    for (const { appEnvId, record } of records) this.#environment(appEnvId, true).recent.add(record)
    this.#lastTurnMs = t
    try {
      await this.#samples.append({ t, records, state: stateOf(this.#samples.beginsFile) })
      await this.#mergeOld(t)
      this.#failing = false
    } catch (error) {
      if (!this.#failing)
        this.#log.error({ err: error }, 'samples cannot be written; memory holds the latest')
      this.#failing = true
    }
  }

  async series(query: SeriesQuery): Promise<MetricPoint[]> {
    const { appEnvId, metric, fromMs, toMs, stepMs } = query
    const environment = this.#environments.get(appEnvId)
    const count = Math.min(mostSteps, Math.ceil((toMs - fromMs) / stepMs))
    if (!environment || !(count > 0)) return []
    const steps = new Array<Accumulator | undefined>(count)
    const use = (view: DataView, at: number, t: number) => {
      const index = Math.ceil((t - fromMs) / stepMs) - 1
      if (index < 0 || index >= count) return
      let step = steps[index]
      if (!step) {
        step = new Accumulator(metric)
        steps[index] = step
      }
      accumulate(step, view, at)
    }
    await this.#visit(environment, fromMs, toMs, use)
    return steps.flatMap((step, index) => {
      const point = step?.point(Math.min(toMs, fromMs + (index + 1) * stepMs))
      return point ? [point] : []
    })
  }

  /** Removes all that is kept of an environment. */
  async forget(appEnvId: string): Promise<void> {
    this.#environments.delete(appEnvId)
    await rm(this.#dirOf(appEnvId), { recursive: true, force: true })
  }

  /** Every record of the range once, from the finest tier that still has it. */
  async #visit(
    environment: EnvironmentSeries,
    fromMs: number,
    toMs: number,
    use: (view: DataView, at: number, t: number) => void,
  ): Promise<void> {
    const { recent, minutes, fiveMinutes } = environment
    if (environment.isNew && !recent.hasDropped) {
      recent.visit(fromMs, toMs, use)
      return
    }
    const blockMs = this.#tiers.fiveMinutes.stepMs
    const recentFromMs = Math.ceil((recent.firstMs - this.periodMs) / blockMs) * blockMs
    if (fromMs < recentFromMs) {
      const coarseToMs = Math.min(recentFromMs, await minutes.untilMs())
      const minuteFromMs = floorTo(this.#lastTurnMs - 1_440 * this.#tiers.minutes.stepMs, blockMs)
      // Memory first: what it holds now may be dropped while files are read.
      recent.visit(Math.max(fromMs, coarseToMs), toMs, use)
      await fiveMinutes.visit(fromMs, Math.min(toMs, minuteFromMs), use)
      await minutes.visit(Math.max(fromMs, minuteFromMs), Math.min(toMs, coarseToMs), use)
    } else recent.visit(fromMs, toMs, use)
  }

  /** Merges what is old enough, a few environments a turn so that no turn is long. */
  async #mergeOld(t: number): Promise<void> {
    const blockMs = this.#tiers.fiveMinutes.stepMs
    const untilMs = floorTo(t - settleTurns * this.periodMs, blockMs)
    let left = mergesPerTurn
    for (const environment of this.#environments.values()) {
      if ((environment.mergedMs ?? 0) < untilMs) {
        if (left === 0) continue
        left -= 1
        await this.#merge(environment, environment.minutes, this.#tiers.minutes.stepMs, untilMs)
        await this.#merge(environment, environment.fiveMinutes, blockMs, untilMs)
        environment.mergedMs = untilMs
      }
      environment.recent.dropBefore(t - recentTurns * this.periodMs)
    }
  }

  async #merge(environment: EnvironmentSeries, files: CoarseFiles, stepMs: number, untilMs: number) {
    const fromMs = await files.untilMs()
    const byStep = new Map<number, { view: DataView; at: number }[]>()
    environment.recent.visit(fromMs, untilMs, (view, at, t) => {
      const end = Math.ceil(t / stepMs) * stepMs
      const records = byStep.get(end)
      if (records) records.push({ view, at })
      else byStep.set(end, [{ view, at }])
    })
    const records = [...byStep]
      .sort(([a], [b]) => a - b)
      .flatMap(([end, some]) => mergeRecords(end, some) ?? [])
    await files.append(records, Math.max(fromMs, untilMs))
  }

  #environment(appEnvId: string, isNew = false): EnvironmentSeries {
    const known = this.#environments.get(appEnvId)
    if (known) return known
    const dir = this.#dirOf(appEnvId)
    const environment: EnvironmentSeries = {
      recent: new RecentSamples(),
      isNew,
      minutes: new CoarseFiles(dir, this.#tiers.minutes),
      fiveMinutes: new CoarseFiles(dir, this.#tiers.fiveMinutes),
      mergedMs: null,
    }
    this.#environments.set(appEnvId, environment)
    return environment
  }

  #dirOf(appEnvId: string): string {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(appEnvId)) throw new Error(`${appEnvId} cannot name a folder`)
    return path.join(this.#dir, 'env', appEnvId)
  }
}

function floorTo(ms: number, stepMs: number): number {
  return Math.floor(ms / stepMs) * stepMs
}
