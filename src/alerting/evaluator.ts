import { type Cancel, type Clock, every } from '../clock.ts'
import { type StoredAlert, spanMs } from '../domain/alert.ts'
import { aggregate, queryRangeMs, readingOf, type SeriesPoint } from '../domain/alert-reading.ts'
import type { Reading } from '../domain/alert-state.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { MeasuredValues } from '../metrics/metric-source.ts'
import { listEvaluatedAlerts, markCycle, type StoredAlertState } from '../store/alert-states.ts'
import { changesSomething, type Evaluation, storeEvaluation } from '../store/alert-steps.ts'
import type { Db } from '../store/db.ts'

const groupsAtOnce = 50
const writesAtOnce = 200

export interface EvaluatorParts {
  db: Db
  clock: Clock
  log: Log
  metrics: MeasuredValues
  clockScale: number
  /** Public address of an alert, for notices. */
  alertUrl: (alertId: string) => string
  /** Notices were stored. */
  wakeNotices: () => void
}

interface Rule {
  alert: StoredAlert
  state: StoredAlertState
  appEnvName: string
}

/**
 * Evaluates every alert that is not paused, as often as there are new samples: every 10 s. Holds nothing that matters: where an alert stands is in the
 * store; what is kept here is only when each was last looked at, on the clock that never steps.
 */
export class Evaluator {
  readonly #parts: EvaluatorParts
  readonly #seen = new Map<string, { atMs: number; version: number }>()
  #cancel: Cancel = () => {}
  #running: Promise<void> | null = null
  #closed = false

  constructor(parts: EvaluatorParts) {
    this.#parts = parts
  }

  start(): void {
    const { clock, metrics } = this.#parts
    this.#cancel = every(clock, metrics.periodMs, () => this.cycle())
  }

  async stop(): Promise<void> {
    this.#closed = true
    this.#cancel()
    await this.#running
  }

  /** One look at all alerts. A store that is away costs this cycle, nothing else. */
  cycle(): Promise<void> {
    this.#running ??= this.#cycle()
      .catch((error) => this.#parts.log.warn({ err: error }, 'alerts could not be evaluated; tried again'))
      .finally(() => {
        this.#running = null
      })
    return this.#running
  }

  async #cycle(): Promise<void> {
    const { db, clock } = this.#parts
    const nowMs = clock.wallMs()
    const rules = await db.read((tx) => listEvaluatedAlerts(tx))
    this.#forgetAllBut(rules)
    let changed: Evaluation[] = []
    const groups = [...groupsOf(rules).values()]
    for (let index = 0; index < groups.length && !this.#closed; index += groupsAtOnce) {
      const some = groups.slice(index, index + groupsAtOnce)
      const found = await Promise.all(some.map((group) => this.#evaluate(group, nowMs)))
      changed.push(...found.flat())
      while (changed.length >= writesAtOnce) {
        await this.#store(changed.slice(0, writesAtOnce))
        changed = changed.slice(writesAtOnce)
      }
      // Requests of the same process come in between.
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (this.#closed) return
    if (changed.length > 0) await this.#store(changed)
    if (rules.length > 0) await db.write((tx) => markCycle(tx, new Date(nowMs).toISOString()))
  }

  /** Alerts that look at the same values share one read. */
  async #evaluate(group: readonly Rule[], nowMs: number): Promise<Evaluation[]> {
    const { clock } = this.#parts
    const read = await this.#read((group[0] as Rule).alert, nowMs)
    const atMs = clock.monotonicMs()
    return group
      .map((rule) => this.#evaluation(rule, read, nowMs, atMs))
      .filter((evaluation) => changesSomething(evaluation))
  }

  #evaluation(rule: Rule, points: SeriesPoint[] | null, nowMs: number, atMs: number): Evaluation {
    const { alert, state } = rule
    const seen = this.#seen.get(alert.alertId)
    // Somebody else moved the alert since: how long its condition holds is then not known from here.
    const sinceMs = seen && seen.version === state.version ? atMs - seen.atMs : 0
    this.#seen.set(alert.alertId, { atMs, version: state.version })
    const reading: Reading =
      points === null ? { kind: 'error' } : readingOf(alert, aggregate(alert.aggregation, points))
    return {
      ...rule,
      reading,
      sinceMs,
      durationMs: spanMs(alert.duration) / this.#parts.clockScale,
      nowMs,
      url: this.#parts.alertUrl(alert.alertId),
      isInCycle: true,
    }
  }

  /** Null when the source cannot be read. */
  async #read(alert: StoredAlert, nowMs: number): Promise<SeriesPoint[] | null> {
    const { metrics, clockScale, log } = this.#parts
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
      if (!(error instanceof AppError)) log.error({ err: error }, 'values cannot be read')
      return null
    }
  }

  async #store(evaluations: readonly Evaluation[]): Promise<void> {
    const { db, wakeNotices } = this.#parts
    const stored = await db.write(async (tx) => {
      const states: (StoredAlertState | null)[] = []
      for (const evaluation of evaluations) states.push(await storeEvaluation(tx, evaluation))
      return states
    })
    stored.forEach((state, index) => {
      const { alert } = evaluations[index] as Evaluation
      const seen = this.#seen.get(alert.alertId)
      if (state && seen) seen.version = state.version
    })
    wakeNotices()
  }

  #forgetAllBut(rules: readonly Rule[]): void {
    if (this.#seen.size === 0) return
    const kept = new Set(rules.map(({ alert }) => alert.alertId))
    for (const alertId of this.#seen.keys()) if (!kept.has(alertId)) this.#seen.delete(alertId)
  }
}

function groupsOf(rules: readonly Rule[]): Map<string, Rule[]> {
  const groups = new Map<string, Rule[]>()
  for (const rule of rules) {
    const { appEnvId, metric, queryRange } = rule.alert
    const key = `${appEnvId} ${metric} ${queryRange}`
    const group = groups.get(key)
    if (group) group.push(rule)
    else groups.set(key, [rule])
  }
  return groups
}
