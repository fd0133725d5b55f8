import { readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { sampledMetrics } from '../contract/metrics.ts'
import type { Log } from '../log.ts'
import { Accumulator } from './accumulator.ts'
import { DownsampledFiles, type Tier } from './downsampled-files.ts'
import { RecentSamples } from './recent-samples.ts'
import { RecentTraffic } from './recent-traffic.ts'
import type { IngressSample, Sample } from './sample.ts'
import { SampleLog } from './sample-log.ts'
import { accumulate, encodeSample, mergeRecords } from './sample-record.ts'
import type { MetricPoint, MetricReader, SeriesQuery, TrafficCounts, TrafficQuery } from './source.ts'

/** Two hours of samples at 10 s. */
const recentSamples = 720
const samplesPerMinute = 6
const samplesPerFiveMinutes = 30
/** A block of five minutes is merged only after this many more samples, so that it includes late ones. */
const lateSamples = 2
const mostSteps = 50_000
const mergesPerSample = 50

interface EnvironmentSeries {
  recent: RecentSamples
  /** First measured since this process started: files never hold newer samples than memory. */
  isNew: boolean
  minutes: DownsampledFiles
  fiveMinutes: DownsampledFiles
  /** Blocks up to here have been merged since this process started; null if unknown. */
  mergedMs: number | null
}

/**
 * The measurements of an installation: two hours of samples in memory and in a log, then one record per minute for a
 * day and one per five minutes for a week in files. Merged records keep mean, minimum, maximum, last value, counts
 * and the full latency histogram, so a step read from them has the values of its samples.
 */
export class MetricStore implements MetricReader {
  readonly periodMs: number
  readonly recentTraffic = new RecentTraffic()
  readonly #dir: string
  readonly #log: Log
  readonly #samples: SampleLog
  readonly #environments = new Map<string, EnvironmentSeries>()
  readonly #tiers: { minutes: Tier; fiveMinutes: Tier }
  #lastSampleMs = Number.NEGATIVE_INFINITY
  #failing = false
  /** Traffic of an environment since its last sample; null if there was none. */
  sinceSample: (appEnvId: string) => IngressSample | null = () => null

  constructor(options: { dir: string; periodMs: number; log: Log }) {
    const { dir, periodMs, log } = options
    this.periodMs = periodMs
    this.#log = log
    // Records of another period must not be mixed with these.
    this.#dir = path.join(dir, `${periodMs}ms`)
    this.#samples = new SampleLog(this.#dir, recentSamples * periodMs)
    this.#tiers = {
      minutes: { name: 'minute', stepMs: samplesPerMinute * periodMs, keptSteps: 1_440 },
      fiveMinutes: { name: 'five', stepMs: samplesPerFiveMinutes * periodMs, keptSteps: 2_016 },
    }
  }

  /** Bytes of samples held in memory. */
  get memoryBytes(): number {
    let bytes = 0
    for (const { recent } of this.#environments.values()) bytes += recent.bytes
    return bytes
  }

  /**
   * Reads the sample log. Drops environments for which `exists` is false; `useState` receives the states passed to
   * `append`, oldest first, with the time of their sample.
   */
  async open(
    exists: (appEnvId: string) => boolean,
    useState: (state: unknown, t: number) => void = () => {},
  ): Promise<void> {
    await this.#samples.load(({ t, records, state }) => {
      this.#lastSampleMs = t
      useState(state, t)
      for (const { appEnvId, record } of records) {
        if (exists(appEnvId)) this.#environment(appEnvId).recent.add(record)
      }
    })
    for (const { recent } of this.#environments.values()) {
      recent.dropBefore(this.#lastSampleMs - recentSamples * this.periodMs)
    }
    for (const appEnvId of await readdir(path.join(this.#dir, 'env')).catch(() => [])) {
      if (exists(appEnvId)) this.#environment(appEnvId)
      else await this.forget(appEnvId)
    }
  }

  /**
   * Stores one sample of all environments at `t` together with `stateOf(whole)`. Never throws: memory is updated
   * first.
   */
  async append(t: number, samples: readonly Sample[], stateOf: (whole: boolean) => unknown = () => null) {
    const records = samples.flatMap((sample) => {
      const record = encodeSample(t, sample)
      return record ? [{ appEnvId: sample.appEnvId, record }] : []
    })
    for (const { appEnvId, record } of records) this.#environment(appEnvId, true).recent.add(record)
    this.#lastSampleMs = t
    try {
      await this.#samples.append({ t, records, state: stateOf(this.#samples.beginsFile) })
      await this.#mergeOld(t)
      this.#failing = false
    } catch (error) {
      if (!this.#failing) this.#log.error({ err: error }, 'cannot write samples; memory has the latest')
      this.#failing = true
    }
  }

  async series(query: SeriesQuery): Promise<MetricPoint[]> {
    const { appEnvId, metric, fromMs, toMs, stepMs } = query
    const environment = this.#environments.get(appEnvId)
    const count = Math.min(mostSteps, Math.ceil((toMs - fromMs) / stepMs))
    if (!(count > 0) || !sampledMetrics.includes(metric)) return []
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
    if (environment) await this.#visit(environment, fromMs, toMs, use)
    const ingress = query.includesNow ? this.sinceSample(appEnvId) : null
    const record = ingress && encodeSample(toMs, { appEnvId, containers: [], ingress })
    if (record) use(new DataView(record.buffer), 0, toMs)
    return steps.flatMap((step, index) => {
      const point = step?.point(Math.min(toMs, fromMs + (index + 1) * stepMs))
      return point ? [point] : []
    })
  }

  async traffic(queries: readonly TrafficQuery[]): Promise<TrafficCounts[]> {
    return queries.map((query) => this.recentTraffic.within(query))
  }

  /** Removes all data of an environment. */
  async forget(appEnvId: string): Promise<void> {
    this.recentTraffic.forget(appEnvId)
    this.#environments.delete(appEnvId)
    await rm(this.#dirOf(appEnvId), { recursive: true, force: true })
  }

  /** Visits every record of the range once, from the finest tier that still has it. */
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
      const downsampledToMs = Math.min(recentFromMs, await minutes.untilMs())
      const minuteFromMs = floorTo(this.#lastSampleMs - 1_440 * this.#tiers.minutes.stepMs, blockMs)
      // Memory first: its records may be dropped while files are read.
      recent.visit(Math.max(fromMs, downsampledToMs), toMs, use)
      await fiveMinutes.visit(fromMs, Math.min(toMs, minuteFromMs), use)
      await minutes.visit(Math.max(fromMs, minuteFromMs), Math.min(toMs, downsampledToMs), use)
    } else recent.visit(fromMs, toMs, use)
  }

  /** Merges old records, a few environments per sample, so that no call takes long. */
  async #mergeOld(t: number): Promise<void> {
    const blockMs = this.#tiers.fiveMinutes.stepMs
    const untilMs = floorTo(t - lateSamples * this.periodMs, blockMs)
    let left = mergesPerSample
    for (const environment of this.#environments.values()) {
      if ((environment.mergedMs ?? 0) < untilMs) {
        if (left === 0) continue
        left -= 1
        await this.#merge(environment, environment.minutes, this.#tiers.minutes.stepMs, untilMs)
        await this.#merge(environment, environment.fiveMinutes, blockMs, untilMs)
        environment.mergedMs = untilMs
      }
      environment.recent.dropBefore(t - recentSamples * this.periodMs)
    }
  }

  async #merge(environment: EnvironmentSeries, files: DownsampledFiles, stepMs: number, untilMs: number) {
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
      minutes: new DownsampledFiles(dir, this.#tiers.minutes),
      fiveMinutes: new DownsampledFiles(dir, this.#tiers.fiveMinutes),
      mergedMs: null,
    }
    this.#environments.set(appEnvId, environment)
    return environment
  }

  #dirOf(appEnvId: string): string {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(appEnvId)) throw new Error(`${appEnvId} is not a valid folder name`)
    return path.join(this.#dir, 'env', appEnvId)
  }
}

function floorTo(ms: number, stepMs: number): number {
  return Math.floor(ms / stepMs) * stepMs
}
