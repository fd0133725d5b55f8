import { findAlertStates } from '../../../alerting/states.ts'
import { type Clock, timestamp } from '../../../clock.ts'
import { episodeIdOf } from '../../../domain/alerts/notification.ts'
import {
  conditionOf,
  newRun,
  type StoredRemediation,
  type StoredRun,
} from '../../../domain/remediation/remediation.ts'
import { logLevelOf } from '../../../errors.ts'
import type { Log } from '../../../log.ts'
import type { Db, Tx } from '../../../store/db.ts'
import { findAlert } from '../../../store/repositories/alerts.ts'
import { insertRun, listOpenRuns } from '../../../store/repositories/remediation-runs.ts'
import { listCauseRemediations, listTriggered } from '../../../store/repositories/remediations.ts'
import { Worker } from '../../../worker.ts'
import type { RemediationReader } from '../../core/call.ts'
import type { RemediationContexts } from '../../core/handler.ts'
import { advance, RunMoved } from './advance.ts'
import { noteDiagnosis } from './causes.ts'
import { loadRunTarget } from './run-target.ts'
import { readDiagnosis, seenOf } from './seen.ts'

export interface RemediationWorkerDeps {
  db: Db
  clock: Clock
  log: Log
  clockScale: number
  /** Reads diagnoses, and gives runs what a handler gets. */
  operations: RemediationReader & RemediationContexts
}

const lookEveryMs = 1_000
const shortestLookMs = 50

/**
 * Begins a run for each episode of a trigger, and advances the open ones. All state is in the store: the instance with the lease
 * continues where another one stopped.
 */
export class RemediationWorker {
  readonly #deps: RemediationWorkerDeps
  readonly #worker: Worker
  #diagnosedAtMs = Number.NEGATIVE_INFINITY

  constructor(deps: RemediationWorkerDeps) {
    this.#deps = deps
    const { clock, clockScale, log } = deps
    this.#worker = new Worker({
      clock,
      everyMs: Math.max(shortestLookMs, lookEveryMs / clockScale),
      pass: () => this.#pass(),
      failed: (error) => log.warn({ err: error }, 'remediations could not be read; retrying'),
    })
  }

  start(): void {
    this.#worker.start()
    this.#worker.wake()
  }

  wake(): void {
    this.#worker.wake()
  }

  stop(): Promise<void> {
    return this.#worker.stop()
  }

  /** Looks at everything once. */
  async pass(): Promise<void> {
    this.#worker.wake()
    await this.#worker.settled()
  }

  async #pass(): Promise<void> {
    const { db, log } = this.#deps
    await this.#beginRuns()
    await this.#diagnose()
    for (const run of await db.read((tx) => listOpenRuns(tx))) {
      if (this.#worker.stopped) return
      try {
        await this.#advance(run)
      } catch (error) {
        // One run must not hold up the others.
        if (error instanceof RunMoved) continue
        log[logLevelOf(error)](
          { err: error, runId: run.runId },
          'a remediation run could not proceed; retrying',
        )
      }
    }
  }

  /** The evaluator begins most of them with the episode itself; here are those that were turned on during one. */
  async #beginRuns(): Promise<void> {
    const { db, clock } = this.#deps
    const triggered = await db.read(listTriggered)
    for (const remediation of triggered) {
      const { trigger } = remediation
      if (!('alertId' in trigger)) continue
      await db.write((tx) => beginRun(tx, remediation, trigger.alertId, timestamp(clock.wallMs())))
    }
  }

  async #diagnose(): Promise<void> {
    const { db, clock, clockScale, operations } = this.#deps
    const nowMs = clock.monotonicMs()
    if (nowMs - this.#diagnosedAtMs < operations.metrics.periodMs) return
    const watched = await db.read(listCauseRemediations)
    this.#diagnosedAtMs = nowMs
    const viewOf = ({ appEnvId, actsFor }: StoredRemediation) => `${appEnvId} ${actsFor}`
    const views = new Map(watched.map(({ remediation }) => [viewOf(remediation), remediation]))
    for (const [view, one] of views) {
      if (this.#worker.stopped) return
      const diagnosis = await readDiagnosis({ reader: operations }, one)
      if (!diagnosis) continue
      const own = watched.filter(({ remediation }) => viewOf(remediation) === view)
      const now = timestamp(clock.wallMs())
      for (const { remediation } of own) {
        await db.write((tx) => noteDiagnosis(tx, remediation.remediationId, diagnosis, { now, clockScale }))
      }
    }
  }

  async #advance(run: StoredRun): Promise<void> {
    const { db, clock, clockScale, operations } = this.#deps
    const target = await db.read((tx) => loadRunTarget(tx, run))
    if (!target) return
    const sources = { reader: operations, metrics: operations.metrics, clockScale }
    const seen = await seenOf(sources, run, target, clock.wallMs())
    const wake = await db.write((tx) => advance({ contexts: operations, clockScale }, tx, run.runId, seen))
    if (wake?.length) operations.wakeEnvironments(wake)
  }
}

async function beginRun(
  tx: Tx,
  remediation: Parameters<typeof newRun>[0],
  alertId: string,
  now: string,
): Promise<void> {
  const alert = await findAlert(tx, alertId)
  const state = alert && (await findAlertStates(tx, [alertId])).get(alertId)
  if (!alert || !state?.progress.isOpen) return
  const episode = episodeIdOf(alertId, state.progress.episode)
  const startedAt = state.startedAt ?? now
  await insertRun(
    tx,
    newRun(remediation, { episode, name: alert.name, startedAt, condition: conditionOf(alert) }, now),
  )
}
