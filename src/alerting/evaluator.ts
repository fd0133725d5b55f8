import type { Clock } from '../clock.ts'
import { type StoredAlert, spanMs } from '../domain/alerts/alert.ts'
import { aggregate, queryRangeMs, readingOf, type SeriesPoint } from '../domain/alerts/reading.ts'
import { clearMsOf, type Reading } from '../domain/alerts/state.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { MetricValues } from '../metrics/source.ts'
import type { Db } from '../store/db.ts'
import { Worker } from '../worker.ts'
import { listEvaluatedAlerts, markCycle, type StoredAlertState } from './states.ts'
import { changesSomething, type Evaluation, storeEvaluation } from './steps.ts'

const groupsAtOnce = 50
const writesAtOnce = 200

export interface EvaluatorDeps {
  db: Db
  clock: Clock
  log: Log
  metrics: MetricValues
  clockScale: number
  /** The regions whose alerts it evaluates now; absent: all. */
  evaluatedRegions?: () => readonly string[]
  /** Public URL of an alert, for notifications; null if there is none. */
  alertUrl: (envName: string, alertId: string) => string | null
  /** Called when notifications were stored. */
  wakeNotifications: () => void
}

interface Rule {
  alert: StoredAlert
  state: StoredAlertState
  appEnvName: string
  isStopped: boolean
}

/**
 * Evaluates every alert that is not paused, as often as there are new samples: every 10 s. The state of alerts is in
 * the store; memory only holds the monotonic time of each alert's last evaluation.
 */
export class Evaluator {
  readonly #deps: EvaluatorDeps
  readonly #seen = new Map<string, { atMs: number; version: number }>()
  /** Evaluations that are not stored yet: if the write of a cycle fails, the next cycle stores them first. */
  #unstored: Evaluation[] = []
  readonly #worker: Worker

  constructor(deps: EvaluatorDeps) {
    this.#deps = deps
    const { clock, metrics, log } = deps
    this.#worker = new Worker({
      clock,
      everyMs: metrics.periodMs,
      pass: () => this.#cycle(),
      failed: (error) => {
        // A bug and not an outage of the store: it must not block every later cycle.
        if (!(error instanceof AppError)) this.#unstored = []
        log.warn({ err: error }, 'alerts could not be evaluated; retrying')
      },
    })
  }

  start(): void {
    this.#worker.start()
  }

  stop(): Promise<void> {
    return this.#worker.stop()
  }

  /** Evaluates all alerts once. If the store is down, only this cycle is lost. */
  cycle(): Promise<void> {
    this.#worker.wake()
    return this.#worker.settled()
  }

  async #cycle(): Promise<void> {
    const { db, clock } = this.#deps
    while (this.#unstored.length > 0) await this.#store()
    const nowMs = clock.wallMs()
    const rules = await db.read((tx) => listEvaluatedAlerts(tx, this.#deps.evaluatedRegions?.()))
    this.#forgetAllBut(rules)
    const groups = groupsOf(rules)
    for (let index = 0; index < groups.length && !this.#worker.stopped; index += groupsAtOnce) {
      const some = groups.slice(index, index + groupsAtOnce)
      const found = await Promise.all(some.map((group) => this.#evaluate(group, nowMs)))
      this.#unstored.push(...found.flat())
      while (this.#unstored.length >= writesAtOnce) await this.#store()
      // Let requests of the same process run in between.
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (this.#worker.stopped) return
    if (this.#unstored.length > 0) await this.#store()
    if (rules.length > 0) await db.write((tx) => markCycle(tx, new Date(nowMs).toISOString()))
  }

  /** Alerts that use the same values share one read. */
  async #evaluate(group: readonly Rule[], nowMs: number): Promise<Evaluation[]> {
    const { clock } = this.#deps
    const read = await this.#read((group[0] as Rule).alert, nowMs)
    const atMs = clock.monotonicMs()
    return group
      .map((rule) => this.#evaluation(rule, read, nowMs, atMs))
      .filter((evaluation) => changesSomething(evaluation))
  }

  #evaluation(rule: Rule, points: SeriesPoint[] | null, nowMs: number, atMs: number): Evaluation {
    const { alert, state, isStopped, appEnvName } = rule
    const { clockScale, alertUrl } = this.#deps
    const seen = this.#seen.get(alert.alertId)
    // Another process changed the alert since, so how long its condition holds is unknown here.
    const sinceMs = seen && seen.version === state.version ? atMs - seen.atMs : 0
    this.#seen.set(alert.alertId, { atMs, version: state.version })
    const durationMs = spanMs(alert.duration)
    return {
      ...{ alert, state, appEnvName, sinceMs, nowMs },
      reading: isStopped ? { kind: 'stopped' } : readingFrom(alert, points),
      durationMs: durationMs / clockScale,
      clearMs: clearMsOf(durationMs) / clockScale,
      url: alertUrl(appEnvName, alert.alertId),
      isInCycle: true,
    }
  }

  /** Null if the source cannot be read. */
  async #read(alert: StoredAlert, nowMs: number): Promise<SeriesPoint[] | null> {
    const { metrics, clockScale, log } = this.#deps
    const rangeMs = queryRangeMs(alert, { clockScale, periodMs: metrics.periodMs })
    try {
      return await metrics.series({
        appEnvId: alert.appEnvId,
        metric: alert.metric,
        fromMs: nowMs - rangeMs,
        toMs: nowMs,
        stepMs: rangeMs,
      })
    } catch (error) {
      if (!(error instanceof AppError))
        log.error({ err: error, alertId: alert.alertId }, 'the metric of an alert cannot be read')
      return null
    }
  }

  async #store(): Promise<void> {
    const { db, wakeNotifications } = this.#deps
    const evaluations = this.#unstored.slice(0, writesAtOnce)
    const stored = await db.write(async (tx) => {
      const states: (StoredAlertState | null)[] = []
      for (const evaluation of evaluations) states.push(await storeEvaluation(tx, evaluation))
      return states
    })
    this.#unstored.splice(0, evaluations.length)
    stored.forEach((state, index) => {
      const { alert } = evaluations[index] as Evaluation
      const seen = this.#seen.get(alert.alertId)
      if (state && seen) seen.version = state.version
    })
    wakeNotifications()
  }

  #forgetAllBut(rules: readonly Rule[]): void {
    if (this.#seen.size === 0) return
    const kept = new Set(rules.map(({ alert }) => alert.alertId))
    for (const alertId of this.#seen.keys()) if (!kept.has(alertId)) this.#seen.delete(alertId)
  }
}

function readingFrom(alert: StoredAlert, points: SeriesPoint[] | null): Reading {
  return points === null ? { kind: 'error' } : readingOf(alert, aggregate(alert.aggregation, points))
}

/** Groups for the same time and metric follow each other: a source may read them together. */
function groupsOf(rules: readonly Rule[]): Rule[][] {
  const groups = new Map<string, Rule[]>()
  for (const rule of rules) {
    const { appEnvId, metric, queryRange } = rule.alert
    const key = `${queryRange} ${metric} ${appEnvId}`
    const group = groups.get(key)
    if (group) group.push(rule)
    else groups.set(key, [rule])
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group)
}
