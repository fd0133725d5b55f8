import { type Clock, timestamp } from '../../clock.ts'
import type { BootTime } from '../../domain/boot-clock.ts'
import { type AttemptEnd, commandWords, type JobAttempt, type JobRun } from '../../domain/jobs/run.ts'
import { type ContainerSpec, type EngineContainer, EngineFailure } from '../../engines/engine.ts'
import { AppError, logLevelOf } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { Db } from '../../store/db.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import type { LogFollowers } from '../logs/followers.ts'
import type { JobEngine } from '../ports.ts'
import { mountsOf, variablesFor } from '../rollouts/container-spec.ts'
import type { JobRunWriter } from './run-writer.ts'

const retryMs = 2_000
const stopGraceSeconds = 10
const logsLimitMs = 2_000
/** Containers created in parallel: with too many requests, an engine completes all of them late. */
const startsAtOnce = 8

export interface JobSchedulerDeps {
  db: Db
  clock: Clock
  log: Log
  secrets: SecretBox
  nodeName: string
  /** Divides back-off and the time containers are kept (docs/interface.md#clock-scale). */
  clockScale: number
  /** A clock that never steps and survives restarts. */
  bootTime(): BootTime
  engineOf(region: string): JobEngine
  /** The regions of this machine; absent: all. */
  regions?: readonly string[] | undefined
  /**
   * The running containers. A region whose engine did not respond is not listed, and its containers do not count as
   * missing.
   */
  list(): Promise<{ containers: EngineContainer[]; isListed(region: string): boolean }>
  followers: LogFollowers
  /** Gets the run time of each container before it is removed. */
  usage: { ended(container: EngineContainer): Promise<void> }
}

/** Notifications from engine calls to the passes. */
interface JobContainersListener {
  /** An engine call is done: run another pass. */
  wake(): void
  /** Something is due after this delay. */
  later(delayMs: number): void
  /** A container must be removed after this delay. */
  sweepWithin(delayMs: number): void
}

/**
 * The engine calls for job attempts, outside the passes: at most one per attempt at a time, retried later after a
 * failure. Containers are named after their attempts, so repeated calls are harmless.
 */
export class JobContainers {
  readonly #deps: JobSchedulerDeps
  readonly #runs: JobRunWriter
  readonly #listener: JobContainersListener
  /** Engine calls in progress, by attempt. */
  readonly #busy = new Map<string, 'apply' | 'other'>()
  /** No engine call for the attempt before this monotonic time. */
  readonly #notBeforeMs = new Map<string, number>()
  /** Attempts whose logs have been followed before, so following continues after the last kept line. */
  readonly #followed = new Set<string>()
  readonly #tasks = new Set<Promise<void>>()

  constructor(deps: JobSchedulerDeps, runs: JobRunWriter, listener: JobContainersListener) {
    this.#deps = deps
    this.#runs = runs
    this.#listener = listener
  }

  /** The engine calls in progress at this moment, by attempt. */
  calls(): ReadonlyMap<string, 'apply' | 'other'> {
    return new Map(this.#busy)
  }

  /** False while the maximum number of containers is being created. */
  get mayApply(): boolean {
    return [...this.#busy.values()].filter((kind) => kind === 'apply').length < startsAtOnce
  }

  /** How long to leave the attempt alone after a failed call; 0 if it may be called now. */
  pauseMs({ attemptId }: JobAttempt): number {
    return Math.max(0, (this.#notBeforeMs.get(attemptId) ?? 0) - this.#deps.clock.monotonicMs())
  }

  /** Resolves when no work that writes to the store is in progress. */
  async settled(): Promise<void> {
    await Promise.all(this.#tasks)
  }

  /** Drops the state of attempts that are over. */
  keepOnly(known: ReadonlySet<string>): void {
    for (const attemptId of this.#notBeforeMs.keys())
      if (!known.has(attemptId)) this.#notBeforeMs.delete(attemptId)
    for (const attemptId of this.#followed) if (!known.has(attemptId)) this.#followed.delete(attemptId)
  }

  /** Creates the container. Its name makes a second call harmless. */
  apply(run: JobRun, attempt: JobAttempt, isNew: boolean): void {
    this.#beside(attempt, 'apply', async () => {
      try {
        const container = await this.#deps.engineOf(run.region).apply(this.#spec(run, attempt))
        if (container.state !== 'created') await this.acknowledge(run, attempt, container, isNew)
      } catch (error) {
        if (!(error instanceof EngineFailure)) {
          const why = error instanceof AppError ? error.message : 'The engine failed; see its log'
          await this.#runs.delayed(attempt.attemptId, `Waiting: ${why}`)
          throw error
        }
        const end = this.#endOf(null, `StartFailed: ${error.message}`)
        await this.#runs.ended(attempt.attemptId, end, null)
      }
    })
  }

  /** Stores that the container runs, and copies its log lines. */
  async acknowledge(
    run: JobRun,
    attempt: JobAttempt,
    container: EngineContainer,
    isNew: boolean,
  ): Promise<void> {
    if (await this.#runs.started(attempt.attemptId, container)) this.#follow(run, attempt, isNew)
    // Its attempt was given up while the container was being created by a late call: stop it.
    else await this.#deps.engineOf(run.region).stop(attempt.containerName, stopGraceSeconds)
  }

  stop(run: JobRun, attempt: JobAttempt): void {
    const stop = () => this.#deps.engineOf(run.region).stop(attempt.containerName, stopGraceSeconds)
    this.#beside(attempt, 'other', stop, true)
  }

  /** Stores how the container ended; null if it disappeared. */
  end(run: JobRun, attempt: JobAttempt, container: EngineContainer | null): void {
    this.#beside(attempt, 'other', () => this.#end(run, attempt, container))
  }

  /** Removes the container if it exists, although it never started; the attempt counts as never started. */
  giveUp(run: JobRun, attempt: JobAttempt): void {
    this.#beside(attempt, 'other', async () => {
      await this.#deps.engineOf(run.region).remove(attempt.containerName)
      await this.#runs.ended(attempt.attemptId, this.#endOf(null, 'NeverStarted'), null)
    })
  }

  /** Removes the container of a finished attempt; its record and its logs stay. */
  remove(run: JobRun, attempt: JobAttempt): void {
    this.#beside(attempt, 'other', async () => {
      await this.#deps.followers.finish(attempt.containerName, 0)
      await this.#deps.engineOf(run.region).remove(attempt.containerName)
      await this.#runs.gone(attempt.attemptId)
    })
  }

  #spec(run: JobRun, attempt: JobAttempt): ContainerSpec {
    const { appEnvId, accountId, snapshot, settings } = run
    return {
      name: attempt.containerName,
      podId: attempt.attemptId,
      appEnvId,
      accountId,
      contentId: snapshot.contentId,
      image: snapshot.image,
      port: null,
      env: {
        ...settings?.commit,
        ...variablesFor('DEPLOY', settings ?? { envVars: [] }, appEnvId, this.#deps.secrets),
      },
      cpuMillicores: attempt.cpuMillicores,
      memoryMb: attempt.memoryMb,
      internalHost: attempt.containerName,
      command: commandWords(snapshot),
      workingDir: snapshot.workingDir,
      ...(settings && mountsOf(settings)),
    }
  }

  #follow(run: JobRun, attempt: JobAttempt, isNew: boolean): void {
    const { appEnvId, containerName, contentId } = attempt
    // A pass may see the container run and end before the call that created it acknowledges it.
    const isFirst = isNew && !this.#followed.has(attempt.attemptId)
    this.#followed.add(attempt.attemptId)
    const ids = { appEnvId, podName: containerName, containerName, contentId }
    const origin = { jobRunId: run.jobRunId }
    const pod = { ...ids, type: 'JOB' as const, isNew: isFirst, origin }
    this.#deps.followers.follow(this.#deps.engineOf(run.region), pod)
  }

  /** Keeps its log lines before its end becomes visible. */
  async #end(run: JobRun, attempt: JobAttempt, container: EngineContainer | null): Promise<void> {
    if (container) {
      this.#follow(run, attempt, false)
      // A slow engine may send them later: the container stays until it is removed.
      await this.#deps.followers.ended(attempt.containerName, logsLimitMs)
      await this.#deps.usage.ended(container)
    }
    const exitCode = container?.exitCode ?? null
    const end = {
      ...this.#endOf(exitCode, reasonOf(container)),
      ...(container?.finishedAt && { finishedAt: container.finishedAt }),
    }
    await this.#runs.ended(attempt.attemptId, end, container)
    this.#listener.sweepWithin((run.ttlSecondsAfterFinished * 1_000) / this.#deps.clockScale)
  }

  #endOf(exitCode: number | null, reason: string): AttemptEnd {
    return { exitCode, reason, finishedAt: timestamp(this.#deps.clock.wallMs()) }
  }

  /** Runs an engine call outside the passes; a failed one is retried later. */
  #beside(attempt: JobAttempt, kind: 'apply' | 'other', work: () => Promise<void>, isStop = false): void {
    const { attemptId, containerName } = attempt
    this.#busy.set(attemptId, kind)
    const task = work()
      .then(() => void this.#notBeforeMs.delete(attemptId))
      .catch((error) => {
        this.#deps.log[logLevelOf(error)](
          { err: error, container: containerName },
          'job container is not in its desired state yet; retrying',
        )
        this.#notBeforeMs.set(attemptId, this.#deps.clock.monotonicMs() + retryMs)
        this.#listener.sweepWithin(retryMs)
        this.#listener.later(retryMs)
      })
      .finally(() => {
        this.#busy.delete(attemptId)
        this.#tasks.delete(task)
        this.#listener.wake()
      })
    // A stop may take the whole grace period and does not write to the store, so shutdown does not wait for it.
    if (!isStop) this.#tasks.add(task)
  }
}

function reasonOf(container: EngineContainer | null): string {
  if (container === null) return 'ContainerLost'
  if (container.outOfMemory) return 'OOMKilled'
  // It ended while its engine was down, so time and cause are unknown.
  if (container.finishedAt === null) return 'Interrupted'
  return container.exitCode === 0 ? 'Completed' : 'Error'
}
