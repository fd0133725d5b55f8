import type { Cancel } from '../clock.ts'
import { type JobStep, planJobRun } from '../domain/job-plan.ts'
import { isOver, type JobAttempt, type JobRun } from '../domain/job-run.ts'
import { elapsedMs } from '../domain/moment.ts'
import type { EngineContainer } from '../engines/engine.ts'
import { AppError } from '../errors.ts'
import { findJobRun, listActiveJobRuns, listKeptJobAttempts, listLiveJobAttempts } from '../store/job-runs.ts'
import { JobContainers, type JobSchedulerParts } from './job-containers.ts'
import { JobTransitions } from './job-transitions.ts'

const retryMs = 2_000
const longestSweepMs = 60_000

interface Live {
  run: JobRun
  attempt: JobAttempt | null
}

/**
 * Carries job runs out: each attempt is one container, whose row is written before it is made and whose name says
 * which attempt it is. Level-triggered: a pass compares rows with what the engine lists and takes one step for each
 * run; several schedulers on one store and engine, crashes and lost answers do no harm.
 */
export class JobScheduler {
  readonly #parts: JobSchedulerParts
  readonly #transitions: JobTransitions
  readonly #containers: JobContainers
  /** Since when the container of an attempt is not started, nor being made by this scheduler; by attempt and wish. */
  readonly #unstartedSinceMs = new Map<string, { wished: boolean; sinceMs: number }>()
  #running: Promise<void> | null = null
  #dirty = false
  #closed = false
  #timer: { atMs: number; cancel: Cancel } | null = null
  #sweepAtMs = 0

  constructor(parts: JobSchedulerParts) {
    this.#parts = parts
    const { db, clock, nodeName, clockScale } = parts
    const times = { wallMs: () => clock.wallMs(), moment: () => parts.moment(), clockScale }
    this.#transitions = new JobTransitions(db, times, nodeName)
    this.#containers = new JobContainers(parts, this.#transitions, {
      wake: () => this.wake(),
      later: (delayMs) => this.#later(delayMs),
      sweepWithin: (delayMs) => this.#sweepWithin(delayMs),
    })
  }

  /** Looks again soon; cheap to call often. */
  wake(): void {
    this.#dirty = true
    if (!this.#closed) this.#running ??= this.#turn()
  }

  async stop(): Promise<void> {
    this.#closed = true
    this.#timer?.cancel()
    await this.#running
    await this.#containers.settled()
  }

  async #turn(): Promise<void> {
    try {
      while (this.#dirty && !this.#closed) {
        this.#dirty = false
        await this.#pass()
      }
    } catch (error) {
      const away = error instanceof AppError
      this.#parts.log[away ? 'warn' : 'error'](
        { err: error },
        'a pass over job runs failed; it is tried again',
      )
      this.#later(retryMs)
    } finally {
      this.#running = null
      if (this.#dirty && !this.#closed) this.#running = this.#turn()
    }
  }

  async #pass(): Promise<void> {
    const live = await this.#load()
    // Asked for after the rows were read: a container of an acknowledged attempt that is not in it is lost.
    const list = live.some(({ attempt }) => attempt !== null) ? await this.#parts.list() : null
    const containers = new Map(list?.containers.map((container) => [container.name, container]))
    const perEnvironment = new Map<string, number>()
    for (const { attempt } of live) {
      if (attempt) perEnvironment.set(attempt.appEnvId, (perEnvironment.get(attempt.appEnvId) ?? 0) + 1)
    }
    for (const one of live) {
      if (this.#closed) return
      if (one.attempt && !list?.isListed(one.run.region)) continue
      await this.#step(one, containers, perEnvironment)
    }
    this.#forget(live)
    if (this.#parts.clock.monotonicMs() >= this.#sweepAtMs) await this.#sweep()
    this.#later(Math.max(0, this.#sweepAtMs - this.#parts.clock.monotonicMs()))
  }

  /** Runs that are not over, and those that are but for the end of their container. */
  #load(): Promise<Live[]> {
    return this.#parts.db.read(async (tx) => {
      const attempts = await listLiveJobAttempts(tx)
      const byRun = new Map(attempts.map((attempt) => [attempt.jobRunId, attempt]))
      const runs = await listActiveJobRuns(tx)
      const active = new Set(runs.map((run) => run.jobRunId))
      for (const { jobRunId } of attempts) {
        const run = active.has(jobRunId) ? null : await findJobRun(tx, jobRunId)
        if (run) runs.push(run)
      }
      return runs.map((run) => ({ run, attempt: byRun.get(run.jobRunId) ?? null }))
    })
  }

  async #step(
    { run, attempt }: Live,
    containers: Map<string, EngineContainer>,
    perEnvironment: Map<string, number>,
  ): Promise<void> {
    const container = attempt ? (containers.get(attempt.containerName) ?? null) : null
    const busy = attempt ? this.#containers.busy(attempt.attemptId) : undefined
    if (busy === 'other') return
    const step = planJobRun({
      run,
      attempt,
      container: container?.state ?? null,
      applying: busy === 'apply',
      unstartedMs: attempt ? this.#unstartedMs(attempt, run, busy === 'apply' || wasStarted(container)) : 0,
      othersLive: (perEnvironment.get(run.appEnvId) ?? 0) - (attempt ? 1 : 0),
      now: this.#parts.moment(),
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
      if (step.ms !== null) this.#later(step.ms)
    } else if (step.do === 'time-out') {
      await this.#transitions.timedOut(run.jobRunId)
      this.#dirty = true
    } else if (step.do === 'rebase') {
      await this.#transitions.rebased(run.jobRunId)
      this.#dirty = true
    } else if (step.do === 'begin') {
      if (!this.#containers.mayApply) return
      const begun = await this.#transitions.begin(run)
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
    if (pauseMs > 0) this.#later(pauseMs)
    else if (what === 'stop') containers.stop(run, attempt)
    else if (what === 'give-up') containers.giveUp(run, attempt)
    else if (containers.mayApply) containers.apply(run, attempt, false)
  }

  /** Removes containers whose time is over (ttlSecondsAfterFinished); records and logs stay. */
  async #sweep(): Promise<void> {
    const { db, clock } = this.#parts
    // Set before it reads: an attempt that ends meanwhile may be due earlier.
    this.#sweepAtMs = clock.monotonicMs() + longestSweepMs
    for (const attempt of await db.read((tx) => listKeptJobAttempts(tx))) {
      const { attemptId, kept } = attempt
      if (!kept || this.#containers.busy(attemptId)) continue
      const elapsed = elapsedMs(kept.since, this.#parts.moment())
      if (elapsed === null) await this.#transitions.keptFromNow(attemptId)
      const leftMs = kept.forMs - (elapsed ?? 0)
      if (leftMs > 0) this.#sweepWithin(leftMs)
      else await this.#remove(attempt)
    }
  }

  #sweepWithin(delayMs: number): void {
    this.#sweepAtMs = Math.min(this.#sweepAtMs, this.#parts.clock.monotonicMs() + delayMs)
  }

  async #remove(attempt: JobAttempt): Promise<void> {
    const run = await this.#parts.db.read((tx) => findJobRun(tx, attempt.jobRunId))
    if (run) this.#containers.remove(run, attempt)
  }

  #unstartedMs({ attemptId }: JobAttempt, run: JobRun, isStarted: boolean): number {
    const nowMs = this.#parts.clock.monotonicMs()
    const wished = !isOver(run)
    const known = this.#unstartedSinceMs.get(attemptId)
    if (isStarted) this.#unstartedSinceMs.delete(attemptId)
    else if (known?.wished === wished) return nowMs - known.sinceMs
    else this.#unstartedSinceMs.set(attemptId, { wished, sinceMs: nowMs })
    return 0
  }

  /** What is remembered of attempts that are over. */
  #forget(live: Live[]): void {
    const known = new Set(live.flatMap(({ attempt }) => (attempt ? [attempt.attemptId] : [])))
    for (const attemptId of this.#unstartedSinceMs.keys())
      if (!known.has(attemptId)) this.#unstartedSinceMs.delete(attemptId)
    this.#containers.forgetAllBut(known)
  }

  /** One timer for the earliest moment something is due. */
  #later(delayMs: number): void {
    const { clock } = this.#parts
    const atMs = clock.monotonicMs() + delayMs
    if (this.#closed || (this.#timer && this.#timer.atMs <= atMs)) return
    this.#timer?.cancel()
    const cancel = clock.after(delayMs, () => {
      this.#timer = null
      this.wake()
    })
    this.#timer = { atMs, cancel }
  }
}

function wasStarted(container: EngineContainer | null): boolean {
  return container !== null && container.state !== 'created'
}
