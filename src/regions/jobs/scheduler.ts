import { elapsedMs } from '../../domain/boot-clock.ts'
import { type JobStep, planJobRun } from '../../domain/jobs/plan.ts'
import { isOver, type JobAttempt, type JobRun } from '../../domain/jobs/run.ts'
import type { EngineContainer } from '../../engines/engine.ts'
import { logLevelOf } from '../../errors.ts'
import {
  findJobRun,
  listActiveJobRuns,
  listKeptJobAttempts,
  listLiveJobAttempts,
} from '../../store/repositories/job-runs.ts'
import { Worker } from '../../worker.ts'
import { JobContainers, type JobSchedulerDeps } from './containers.ts'
import { JobRunWriter } from './run-writer.ts'

const longestSweepMs = 60_000

interface Live {
  run: JobRun
  attempt: JobAttempt | null
}

/**
 * Runs job runs: each attempt is one container, whose row is written before it is created and whose name identifies
 * the attempt. Level-triggered: a pass compares rows with the engine's list and takes one step per run. Several
 * schedulers on one store and engine, crashes and lost responses are harmless.
 */
export class JobScheduler {
  readonly #deps: JobSchedulerDeps
  readonly #runs: JobRunWriter
  readonly #containers: JobContainers
  /**
   * When the container of an attempt was first seen unstarted without this scheduler creating it; by attempt and
   * desired state.
   */
  readonly #unstartedSinceMs = new Map<string, { desired: boolean; sinceMs: number }>()
  readonly #worker: Worker
  #sweepAtMs = 0

  constructor(deps: JobSchedulerDeps) {
    this.#deps = deps
    const { db, clock, log, nodeName, clockScale } = deps
    this.#worker = new Worker({
      clock,
      pass: () => this.#pass(),
      failed: (error) => log[logLevelOf(error)]({ err: error }, 'a pass over job runs failed; retrying'),
    })
    const times = { wallMs: () => clock.wallMs(), bootTime: () => deps.bootTime(), clockScale }
    this.#runs = new JobRunWriter(db, times, nodeName)
    this.#containers = new JobContainers(deps, this.#runs, {
      wake: () => this.wake(),
      later: (delayMs) => this.#worker.wakeWithin(delayMs),
      sweepWithin: (delayMs) => this.#sweepWithin(delayMs),
    })
  }

  /** Schedules another pass soon; cheap to call often. */
  wake(): void {
    this.#worker.wake()
  }

  async stop(): Promise<void> {
    await this.#worker.stop()
    await this.#containers.settled()
  }

  async #pass(): Promise<void> {
    // Read before the rows: a call that ends in between may have changed its row, and causes another pass.
    const calls = this.#containers.calls()
    const live = await this.#load()
    // List after reading the rows: a container of an acknowledged attempt that is missing from the list is lost.
    const list = live.some(({ attempt }) => attempt !== null) ? await this.#deps.list() : null
    const containers = new Map(list?.containers.map((container) => [container.name, container]))
    const perEnvironment = new Map<string, number>()
    for (const { attempt } of live) {
      if (attempt) perEnvironment.set(attempt.appEnvId, (perEnvironment.get(attempt.appEnvId) ?? 0) + 1)
    }
    for (const one of live) {
      if (this.#worker.stopped) return
      if (one.attempt && !list?.isListed(one.run.region)) continue
      await this.#step(one, calls, containers, perEnvironment)
    }
    this.#forget(live)
    if (this.#deps.clock.monotonicMs() >= this.#sweepAtMs) await this.#sweep()
    this.#worker.wakeWithin(Math.max(0, this.#sweepAtMs - this.#deps.clock.monotonicMs()))
  }

  /** Runs that are not over, and finished runs whose container has not ended. */
  #load(): Promise<Live[]> {
    return this.#deps.db.read(async (tx) => {
      const attempts = await listLiveJobAttempts(tx)
      const byRun = new Map(attempts.map((attempt) => [attempt.jobRunId, attempt]))
      const runs = await listActiveJobRuns(tx)
      const active = new Set(runs.map((run) => run.jobRunId))
      for (const { jobRunId } of attempts) {
        const run = active.has(jobRunId) ? null : await findJobRun(tx, jobRunId)
        if (run) runs.push(run)
      }
      return runs
        .filter(({ region }) => this.#deps.regions?.includes(region) ?? true)
        .map((run) => ({ run, attempt: byRun.get(run.jobRunId) ?? null }))
    })
  }

  async #step(
    { run, attempt }: Live,
    calls: ReadonlyMap<string, 'apply' | 'other'>,
    containers: Map<string, EngineContainer>,
    perEnvironment: Map<string, number>,
  ): Promise<void> {
    const container = attempt ? (containers.get(attempt.containerName) ?? null) : null
    const busy = attempt ? calls.get(attempt.attemptId) : undefined
    if (busy === 'other') return
    const step = planJobRun({
      run,
      attempt,
      container: container?.state ?? null,
      applying: busy === 'apply',
      unstartedMs: attempt ? this.#unstartedMs(attempt, run, busy === 'apply' || wasStarted(container)) : 0,
      otherAttemptsLive: (perEnvironment.get(run.appEnvId) ?? 0) - (attempt ? 1 : 0),
      now: this.#deps.bootTime(),
    })
    await this.#perform(step, run, attempt, container)
  }

  async #perform(
    step: JobStep,
    run: JobRun,
    attempt: JobAttempt | null,
    container: EngineContainer | null,
  ): Promise<void> {
    if (step.do === 'wait') {
      if (step.ms !== null) this.#worker.wakeWithin(step.ms)
    } else if (step.do === 'time-out') {
      await this.#runs.timedOut(run.jobRunId)
      this.wake()
    } else if (step.do === 'rebase') {
      await this.#runs.rebased(run.jobRunId)
      this.wake()
    } else if (step.do === 'begin') {
      if (!this.#containers.mayApply) return
      const begun = await this.#runs.begin(run)
      if (begun) this.#containers.apply(begun.run, begun.attempt, true)
    } else if (attempt) {
      await this.#performOn(step.do, run, attempt, container)
    }
  }

  async #performOn(
    what: 'apply' | 'acknowledge' | 'stop' | 'end' | 'give-up',
    run: JobRun,
    attempt: JobAttempt,
    container: EngineContainer | null,
  ): Promise<void> {
    const containers = this.#containers
    if (what === 'end') return containers.end(run, attempt, container)
    if (what === 'acknowledge') {
      if (container) await containers.acknowledge(run, attempt, container, false)
      return
    }
    const pauseMs = containers.pauseMs(attempt)
    if (pauseMs > 0) this.#worker.wakeWithin(pauseMs)
    else if (what === 'stop') containers.stop(run, attempt)
    else if (what === 'give-up') containers.giveUp(run, attempt)
    else if (containers.mayApply) containers.apply(run, attempt, false)
  }

  /** Removes containers after ttlSecondsAfterFinished; records and logs stay. */
  async #sweep(): Promise<void> {
    const { db, clock } = this.#deps
    // Set before reading: an attempt that ends meanwhile may be due earlier.
    this.#sweepAtMs = clock.monotonicMs() + longestSweepMs
    const calls = this.#containers.calls()
    for (const { run, attempt } of await db.read((tx) => listKeptJobAttempts(tx, this.#deps.regions))) {
      const { attemptId, kept } = attempt
      if (!kept || calls.has(attemptId)) continue
      const elapsed = elapsedMs(kept.since, this.#deps.bootTime())
      if (elapsed === null) await this.#runs.keptFromNow(attemptId)
      const leftMs = kept.forMs - (elapsed ?? 0)
      if (leftMs > 0) this.#sweepWithin(leftMs)
      else this.#containers.remove(run, attempt)
    }
  }

  #sweepWithin(delayMs: number): void {
    this.#sweepAtMs = Math.min(this.#sweepAtMs, this.#deps.clock.monotonicMs() + delayMs)
  }

  #unstartedMs({ attemptId }: JobAttempt, run: JobRun, isStarted: boolean): number {
    const nowMs = this.#deps.clock.monotonicMs()
    const desired = !isOver(run)
    const known = this.#unstartedSinceMs.get(attemptId)
    if (isStarted) this.#unstartedSinceMs.delete(attemptId)
    else if (known?.desired === desired) return nowMs - known.sinceMs
    else this.#unstartedSinceMs.set(attemptId, { desired, sinceMs: nowMs })
    return 0
  }

  /** Drops the state of attempts that are over. */
  #forget(live: Live[]): void {
    const known = new Set(live.flatMap(({ attempt }) => (attempt ? [attempt.attemptId] : [])))
    for (const attemptId of this.#unstartedSinceMs.keys())
      if (!known.has(attemptId)) this.#unstartedSinceMs.delete(attemptId)
    this.#containers.keepOnly(known)
  }
}

function wasStarted(container: EngineContainer | null): boolean {
  return container !== null && container.state !== 'created'
}
