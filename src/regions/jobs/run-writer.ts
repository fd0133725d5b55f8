import { timestamp } from '../../clock.ts'
import type { BootTime } from '../../domain/boot-clock.ts'
import { zCloudSize } from '../../domain/environments/environment.ts'
import { newId } from '../../domain/ids.ts'
import {
  type AttemptEnd,
  attemptContainerName,
  isOver,
  type JobAttempt,
  type JobRun,
  runAfterAttempt,
  runOver,
} from '../../domain/jobs/run.ts'
import type { EngineContainer } from '../../engines/engine.ts'
import type { Db, Tx } from '../../store/db.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import {
  findJobAttempt,
  findJobRun,
  insertJobAttempt,
  listLiveJobAttempts,
  saveJobAttempt,
  saveJobRun,
} from '../../store/repositories/job-runs.ts'

interface JobTimes {
  wallMs(): number
  bootTime(): BootTime
  clockScale: number
}

/**
 * The scheduler's writes. Each reads again inside its transaction and does nothing if another scheduler was first, so
 * that no attempt starts or ends twice.
 */
export class JobRunWriter {
  readonly #db: Db
  readonly #times: JobTimes
  readonly #nodeName: string

  constructor(db: Db, times: JobTimes, nodeName: string) {
    this.#db = db
    this.#times = times
    this.#nodeName = nodeName
  }

  /** Stores the next attempt before its container is created; null if there is nothing left to start. */
  begin(seen: JobRun): Promise<{ run: JobRun; attempt: JobAttempt } | null> {
    return this.#db.write(async (tx) => {
      const run = await findJobRun(tx, seen.jobRunId)
      const settings = run?.settings
      if (!run || !settings || isOver(run) || run.attempt !== seen.attempt) return null
      if (!(await findEnvironment(tx, { appEnvId: run.appEnvId }))) return null
      const live = await listLiveJobAttempts(tx, run.appEnvId)
      if (live.some((attempt) => attempt.jobRunId === run.jobRunId)) return null
      if (run.limit !== null && live.length >= run.limit) return null
      const begun = { ...run, attempt: run.attempt + 1, retry: null }
      const attempt: JobAttempt = {
        attemptId: newId('pod'),
        jobRunId: run.jobRunId,
        appEnvId: run.appEnvId,
        number: begun.attempt,
        containerName: attemptContainerName(run, begun.attempt),
        contentId: run.snapshot.contentId,
        state: 'creating',
        status: 'Pending',
        exitCode: null,
        reason: null,
        cpuMillicores: settings.zClouds * zCloudSize.cpuMillicores,
        memoryMb: settings.zClouds * zCloudSize.memoryMb,
        nodeName: this.#nodeName,
        createdAt: this.#now(),
        startedAt: null,
        finishedAt: null,
        kept: null,
      }
      await insertJobAttempt(tx, attempt)
      await saveJobRun(tx, begun)
      return { run: begun, attempt }
    })
  }

  /** Stores that its container has started: from now on, a missing container counts as lost. */
  started(attemptId: string, container: EngineContainer): Promise<boolean> {
    return this.#withAttempt(attemptId, async (tx, attempt, run) => {
      if (attempt.state !== 'creating') return
      await this.#start(tx, attempt, run, container)
    })
  }

  /** Stores why its container cannot be created yet, for users who read the run. */
  delayed(attemptId: string, reason: string): Promise<boolean> {
    return this.#withAttempt(attemptId, async (tx, attempt, run) => {
      const waits = attempt.state === 'creating' && !isOver(run) && run.reason !== reason
      if (waits) await saveJobRun(tx, { ...run, reason })
    })
  }

  /**
   * The attempt is over, and so is the run unless another attempt is due. Its container is removed after
   * `keepSeconds`.
   */
  ended(attemptId: string, end: AttemptEnd, container: EngineContainer | null): Promise<boolean> {
    return this.#withAttempt(attemptId, async (tx, attempt, run) => {
      const begun =
        attempt.state === 'creating' && container ? await this.#start(tx, attempt, run, container) : null
      const now = this.#times.bootTime()
      const { startedAt } = begun?.attempt ?? attempt
      // Docker records the end of a very short run slightly before its start.
      const finishedAt = startedAt !== null && startedAt > end.finishedAt ? startedAt : end.finishedAt
      await saveJobAttempt(tx, {
        ...(begun?.attempt ?? attempt),
        state: 'ended',
        status: end.exitCode === 0 ? 'Succeeded' : 'Failed',
        exitCode: end.exitCode,
        reason: end.reason,
        finishedAt,
        kept: { since: now, forMs: (run.ttlSecondsAfterFinished * 1_000) / this.#times.clockScale },
      })
      const over = runAfterAttempt(begun?.run ?? run, { ...end, finishedAt }, now, this.#times.clockScale)
      await saveJobRun(tx, over)
    })
  }

  timedOut(jobRunId: string): Promise<void> {
    return this.#withRun(jobRunId, (run) =>
      runOver(run, { status: 'TIMED_OUT', exitCode: null, reason: 'DeadlineExceeded' }, this.#now()),
    )
  }

  /**
   * Times of an earlier boot cannot be compared with this one's: the remaining time is unknown, so it restarts in
   * full.
   */
  rebased(jobRunId: string): Promise<void> {
    const now = this.#times.bootTime()
    return this.#withRun(jobRunId, (run) => ({
      ...run,
      began: run.began && now,
      retry: run.retry && { ...run.retry, since: now },
    }))
  }

  keptFromNow(attemptId: string): Promise<void> {
    return this.#db.write(async (tx) => {
      const attempt = await findJobAttempt(tx, attemptId)
      if (!attempt?.kept) return
      await saveJobAttempt(tx, { ...attempt, kept: { ...attempt.kept, since: this.#times.bootTime() } })
    })
  }

  /** Its container has been removed; the record stays. */
  gone(attemptId: string): Promise<void> {
    return this.#db.write(async (tx) => {
      const attempt = await findJobAttempt(tx, attemptId)
      if (attempt) await saveJobAttempt(tx, { ...attempt, state: 'gone', kept: null })
    })
  }

  async #start(tx: Tx, attempt: JobAttempt, run: JobRun, container: EngineContainer) {
    const startedAt = container.startedAt ?? this.#now()
    const started = {
      attempt: {
        ...attempt,
        state: 'started' as const,
        status: 'Running' as const,
        startedAt,
        nodeName: container.nodeName,
      },
      run: isOver(run)
        ? run
        : {
            ...run,
            status: 'RUNNING' as const,
            startedAt: run.startedAt ?? startedAt,
            // The result of an earlier attempt does not apply to this one.
            exitCode: null,
            reason: null,
            began: run.began ?? this.#times.bootTime(),
          },
    }
    await saveJobAttempt(tx, started.attempt)
    await saveJobRun(tx, started.run)
    return started
  }

  #withAttempt(
    attemptId: string,
    change: (tx: Tx, attempt: JobAttempt, run: JobRun) => Promise<void>,
  ): Promise<boolean> {
    return this.#db.write(async (tx) => {
      const attempt = await findJobAttempt(tx, attemptId)
      const run = attempt && (await findJobRun(tx, attempt.jobRunId))
      if (!attempt || !run || attempt.state === 'ended' || attempt.state === 'gone') return false
      await change(tx, attempt, run)
      return true
    })
  }

  #withRun(jobRunId: string, change: (run: JobRun) => JobRun): Promise<void> {
    return this.#db.write(async (tx) => {
      const run = await findJobRun(tx, jobRunId)
      if (run && !isOver(run)) await saveJobRun(tx, change(run))
    })
  }

  #now(): string {
    return timestamp(this.#times.wallMs())
  }
}
