import { type Cancel, type Clock, timestamp } from '../clock.ts'
import { type JobStep, planJobRun } from '../domain/job-plan.ts'
import { type AttemptEnd, commandWords, type JobAttempt, type JobRun } from '../domain/job-run.ts'
import { elapsedMs, type Moment } from '../domain/moment.ts'
import { type ContainerSpec, type Engine, type EngineContainer, EngineFailure } from '../engines/engine.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Db } from '../store/db.ts'
import { findJobRun, listActiveJobRuns, listKeptJobAttempts, listLiveJobAttempts } from '../store/job-runs.ts'
import type { SecretBox } from '../store/secret-box.ts'
import { mountsOf, variablesFor } from './container-spec.ts'
import { JobTransitions } from './job-transitions.ts'
import type { LogFollowers } from './log-followers.ts'

const retryMs = 2_000
const stopGraceSeconds = 10
const logsLimitMs = 2_000
/** Containers made at once: an engine asked for many starts none of them soon. */
const startsAtOnce = 8
const longestSweepMs = 60_000

export interface JobSchedulerParts {
  db: Db
  clock: Clock
  log: Log
  secrets: SecretBox
  nodeName: string
  /** Divides back-off and the time containers are kept (contract.md 11). */
  clockScale: number
  /** A clock that never steps and outlives restarts. */
  moment(): Moment
  engineOf(region: string): Engine
  /** What runs; a region whose engine did not answer is not listed, and nothing is missing there. */
  list(): Promise<{ containers: EngineContainer[]; isListed(region: string): boolean }>
  followers: LogFollowers
}

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
  /** Engine calls under way, by attempt. */
  readonly #busy = new Map<string, 'apply' | 'other'>()
  /** No engine call for the attempt before this moment of the monotonic clock. */
  readonly #notBeforeMs = new Map<string, number>()
  /** Since when an attempt of a run that is over is not seen. */
  readonly #unseenSinceMs = new Map<string, number>()
  readonly #tasks = new Set<Promise<void>>()
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
    await Promise.all(this.#tasks)
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
    const busy = attempt ? this.#busy.get(attempt.attemptId) : undefined
    if (busy === 'other') return
    const step = planJobRun({
      run,
      attempt,
      container: container?.state ?? null,
      applying: busy === 'apply',
      unseenMs: attempt && container === null ? this.#unseenMs(attempt) : 0,
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
      if (this.#applies() >= startsAtOnce) return
      const begun = await this.#transitions.begin(run)
      if (begun) this.#apply(begun.run, begun.attempt, true)
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
    const waitMs = (this.#notBeforeMs.get(attempt.attemptId) ?? 0) - this.#parts.clock.monotonicMs()
    if (waitMs > 0 && what !== 'end' && what !== 'acknowledge') return this.#later(waitMs)
    const engine = () => this.#parts.engineOf(run.region)
    switch (what) {
      case 'apply':
        if (this.#applies() < startsAtOnce) this.#apply(run, attempt, false)
        return
      case 'acknowledge':
        if (container) await this.#onRunning(run, attempt, container, false)
        return
      case 'stop':
        return this.#beside(
          attempt,
          'other',
          () => engine().stop(attempt.containerName, stopGraceSeconds),
          true,
        )
      case 'end':
        return this.#beside(attempt, 'other', () => this.#end(run, attempt, container))
      case 'give-up':
        return this.#beside(attempt, 'other', async () => {
          await engine().remove(attempt.containerName)
          await this.#transitions.ended(attempt.attemptId, this.#endOf(null, 'NeverStarted'), null)
        })
    }
  }

  /** Makes the container beside the passes. Its name makes a second call harmless, whoever makes it. */
  #apply(run: JobRun, attempt: JobAttempt, isNew: boolean): void {
    this.#beside(attempt, 'apply', async () => {
      try {
        const container = await this.#parts.engineOf(run.region).apply(this.#spec(run, attempt))
        if (container.state !== 'created') await this.#onRunning(run, attempt, container, isNew)
      } catch (error) {
        if (!(error instanceof EngineFailure)) throw error
        const end = this.#endOf(null, `StartFailed: ${error.message}`)
        await this.#transitions.ended(attempt.attemptId, end, null)
      }
    })
  }

  #spec(run: JobRun, attempt: JobAttempt): ContainerSpec {
    const { appEnvId, accountId, jobRunId, snapshot, settings } = run
    return {
      name: attempt.containerName,
      podId: attempt.attemptId,
      appEnvId,
      accountId,
      contentId: snapshot.contentId,
      template: jobRunId,
      image: snapshot.image,
      port: null,
      env: variablesFor('DEPLOY', settings ?? { envVars: [] }, appEnvId, this.#parts.secrets),
      cpuMillicores: attempt.cpuMillicores,
      memoryMb: attempt.memoryMb,
      internalHost: attempt.containerName,
      command: commandWords(snapshot),
      workingDir: snapshot.workingDir,
      ...(settings && mountsOf(settings)),
    }
  }

  async #onRunning(
    run: JobRun,
    attempt: JobAttempt,
    container: EngineContainer,
    isNew: boolean,
  ): Promise<void> {
    await this.#transitions.started(attempt.attemptId, container)
    this.#follow(run, attempt, isNew)
  }

  #follow(run: JobRun, attempt: JobAttempt, isNew: boolean): void {
    const { appEnvId, containerName, contentId } = attempt
    const pod = { appEnvId, podName: containerName, containerName, contentId, type: 'JOB' as const, isNew }
    this.#parts.followers.follow(this.#parts.engineOf(run.region), pod)
  }

  /** Its lines are kept before anybody can read that it ended. */
  async #end(run: JobRun, attempt: JobAttempt, container: EngineContainer | null): Promise<void> {
    if (container) {
      this.#follow(run, attempt, false)
      await this.#parts.followers.finish(attempt.containerName, logsLimitMs)
    }
    const exitCode = container?.exitCode ?? null
    const reason = container?.outOfMemory
      ? 'OOMKilled'
      : container === null
        ? 'ContainerLost'
        : exitCode === 0
          ? 'Completed'
          : 'Error'
    const end = {
      ...this.#endOf(exitCode, reason),
      ...(container?.finishedAt && { finishedAt: container.finishedAt }),
    }
    await this.#transitions.ended(attempt.attemptId, end, container)
    const keptMs = (run.ttlSecondsAfterFinished * 1_000) / this.#parts.clockScale
    this.#sweepAtMs = Math.min(this.#sweepAtMs, this.#parts.clock.monotonicMs() + keptMs)
  }

  #endOf(exitCode: number | null, reason: string): AttemptEnd {
    return { exitCode, reason, finishedAt: timestamp(this.#parts.clock.wallMs()) }
  }

  /** Removes containers whose time is over (ttlSecondsAfterFinished); records and logs stay. */
  async #sweep(): Promise<void> {
    const { db, clock } = this.#parts
    let nextMs = longestSweepMs
    for (const attempt of await db.read((tx) => listKeptJobAttempts(tx))) {
      const { attemptId, kept } = attempt
      if (!kept || this.#busy.has(attemptId)) continue
      const elapsed = elapsedMs(kept.since, this.#parts.moment())
      if (elapsed === null) await this.#transitions.keptFromNow(attemptId)
      const leftMs = kept.forMs - (elapsed ?? 0)
      if (leftMs > 0) nextMs = Math.min(nextMs, leftMs)
      else this.#beside(attempt, 'other', () => this.#remove(attempt))
    }
    this.#sweepAtMs = clock.monotonicMs() + nextMs
  }

  async #remove(attempt: JobAttempt): Promise<void> {
    const run = await this.#parts.db.read((tx) => findJobRun(tx, attempt.jobRunId))
    if (!run) return
    await this.#parts.engineOf(run.region).remove(attempt.containerName)
    await this.#transitions.gone(attempt.attemptId)
  }

  /** Runs an engine call beside the passes; one that failed is tried again later. */
  #beside(attempt: JobAttempt, kind: 'apply' | 'other', work: () => Promise<void>, isStop = false): void {
    const { attemptId, containerName } = attempt
    this.#busy.set(attemptId, kind)
    const task = work()
      .then(() => void this.#notBeforeMs.delete(attemptId))
      .catch((error) => {
        const away = error instanceof AppError
        this.#parts.log[away ? 'warn' : 'error'](
          { err: error, container: containerName },
          'a job container is not as wished yet; it is tried again',
        )
        this.#notBeforeMs.set(attemptId, this.#parts.clock.monotonicMs() + retryMs)
        this.#sweepAtMs = Math.min(this.#sweepAtMs, this.#parts.clock.monotonicMs() + retryMs)
        this.#later(retryMs)
      })
      .finally(() => {
        this.#busy.delete(attemptId)
        this.#tasks.delete(task)
        this.wake()
      })
    // A stop may take its whole grace and writes nothing: nobody waits for it.
    if (!isStop) this.#tasks.add(task)
  }

  #applies(): number {
    return [...this.#busy.values()].filter((kind) => kind === 'apply').length
  }

  #unseenMs({ attemptId }: JobAttempt): number {
    const nowMs = this.#parts.clock.monotonicMs()
    const sinceMs = this.#unseenSinceMs.get(attemptId) ?? nowMs
    this.#unseenSinceMs.set(attemptId, sinceMs)
    return nowMs - sinceMs
  }

  /** What is remembered of attempts that are over. */
  #forget(live: Live[]): void {
    const known = new Set(live.map(({ attempt }) => attempt?.attemptId))
    for (const map of [this.#notBeforeMs, this.#unseenSinceMs]) {
      for (const attemptId of map.keys()) if (!known.has(attemptId)) map.delete(attemptId)
    }
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
