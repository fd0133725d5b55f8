import { type Clock, timestamp } from '../clock.ts'
import { type AttemptEnd, commandWords, type JobAttempt, type JobRun } from '../domain/job-run.ts'
import type { Moment } from '../domain/moment.ts'
import { type ContainerSpec, type Engine, type EngineContainer, EngineFailure } from '../engines/engine.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Db } from '../store/db.ts'
import type { SecretBox } from '../store/secret-box.ts'
import { mountsOf, variablesFor } from './container-spec.ts'
import type { JobTransitions } from './job-transitions.ts'
import type { LogFollowers } from './log-followers.ts'

const retryMs = 2_000
const stopGraceSeconds = 10
const logsLimitMs = 2_000
/** Containers made at once: an engine asked for many starts none of them soon. */
const startsAtOnce = 8

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
  /** Told how long a container ran, before it can be removed. */
  usage: { ended(container: EngineContainer): Promise<void> }
}

/** What the engine calls tell the passes. */
export interface JobContainersListener {
  /** An engine call is over: look again. */
  wake(): void
  /** Something is due after so long. */
  later(delayMs: number): void
  /** A container is to be removed after so long. */
  sweepWithin(delayMs: number): void
}

/**
 * The engine calls for job attempts, made beside the passes: at most one for an attempt at a time, tried again
 * later when it failed. Containers are named after their attempts, so calls that are made twice do no harm.
 */
export class JobContainers {
  readonly #parts: JobSchedulerParts
  readonly #transitions: JobTransitions
  readonly #listener: JobContainersListener
  /** Engine calls under way, by attempt. */
  readonly #busy = new Map<string, 'apply' | 'other'>()
  /** No engine call for the attempt before this moment of the monotonic clock. */
  readonly #notBeforeMs = new Map<string, number>()
  readonly #tasks = new Set<Promise<void>>()

  constructor(parts: JobSchedulerParts, transitions: JobTransitions, listener: JobContainersListener) {
    this.#parts = parts
    this.#transitions = transitions
    this.#listener = listener
  }

  busy(attemptId: string): 'apply' | 'other' | undefined {
    return this.#busy.get(attemptId)
  }

  /** False while as many containers are being made as the engine should make at once. */
  get mayApply(): boolean {
    return [...this.#busy.values()].filter((kind) => kind === 'apply').length < startsAtOnce
  }

  /** How long the attempt must be left alone after a call that failed; 0 when it need not. */
  pauseMs({ attemptId }: JobAttempt): number {
    return Math.max(0, (this.#notBeforeMs.get(attemptId) ?? 0) - this.#parts.clock.monotonicMs())
  }

  /** Resolves when nothing is under way that writes to the store. */
  async settled(): Promise<void> {
    await Promise.all(this.#tasks)
  }

  /** Drops what is remembered of attempts that are over. */
  forgetAllBut(known: ReadonlySet<string>): void {
    for (const attemptId of this.#notBeforeMs.keys())
      if (!known.has(attemptId)) this.#notBeforeMs.delete(attemptId)
  }

  /** Makes the container. Its name makes a second call harmless, whoever makes it. */
  apply(run: JobRun, attempt: JobAttempt, isNew: boolean): void {
    this.#beside(attempt, 'apply', async () => {
      try {
        const container = await this.#parts.engineOf(run.region).apply(this.#spec(run, attempt))
        if (container.state !== 'created') await this.acknowledge(run, attempt, container, isNew)
      } catch (error) {
        if (!(error instanceof EngineFailure)) {
          const why = error instanceof AppError ? error.message : 'The engine failed; its log says more'
          await this.#transitions.delayed(attempt.attemptId, `Waiting: ${why}`)
          throw error
        }
        const end = this.#endOf(null, `StartFailed: ${error.message}`)
        await this.#transitions.ended(attempt.attemptId, end, null)
      }
    })
  }

  /** The container runs: that is written down, and its lines are copied. */
  async acknowledge(
    run: JobRun,
    attempt: JobAttempt,
    container: EngineContainer,
    isNew: boolean,
  ): Promise<void> {
    if (await this.#transitions.started(attempt.attemptId, container)) this.#follow(run, attempt, isNew)
    // Given up while its container was being made (somebody's call came very late): it must not run on unseen.
    else await this.#parts.engineOf(run.region).stop(attempt.containerName, stopGraceSeconds)
  }

  stop(run: JobRun, attempt: JobAttempt): void {
    const stop = () => this.#parts.engineOf(run.region).stop(attempt.containerName, stopGraceSeconds)
    this.#beside(attempt, 'other', stop, true)
  }

  /** Writes down how the container ended; null when it vanished. */
  end(run: JobRun, attempt: JobAttempt, container: EngineContainer | null): void {
    this.#beside(attempt, 'other', () => this.#end(run, attempt, container))
  }

  /** Whatever there is of a container that was never seen is removed; the attempt counts as never started. */
  giveUp(run: JobRun, attempt: JobAttempt): void {
    this.#beside(attempt, 'other', async () => {
      await this.#parts.engineOf(run.region).remove(attempt.containerName)
      await this.#transitions.ended(attempt.attemptId, this.#endOf(null, 'NeverStarted'), null)
    })
  }

  /** Removes the container of an attempt that is over; its record and its logs stay. */
  remove(run: JobRun, attempt: JobAttempt): void {
    this.#beside(attempt, 'other', async () => {
      await this.#parts.engineOf(run.region).remove(attempt.containerName)
      await this.#transitions.gone(attempt.attemptId)
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
      await this.#parts.usage.ended(container)
    }
    const exitCode = container?.exitCode ?? null
    const end = {
      ...this.#endOf(exitCode, reasonOf(container)),
      ...(container?.finishedAt && { finishedAt: container.finishedAt }),
    }
    await this.#transitions.ended(attempt.attemptId, end, container)
    this.#listener.sweepWithin((run.ttlSecondsAfterFinished * 1_000) / this.#parts.clockScale)
  }

  #endOf(exitCode: number | null, reason: string): AttemptEnd {
    return { exitCode, reason, finishedAt: timestamp(this.#parts.clock.wallMs()) }
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
        this.#listener.sweepWithin(retryMs)
        this.#listener.later(retryMs)
      })
      .finally(() => {
        this.#busy.delete(attemptId)
        this.#tasks.delete(task)
        this.#listener.wake()
      })
    // A stop may take its whole grace and writes nothing: nobody waits for it.
    if (!isStop) this.#tasks.add(task)
  }
}

function reasonOf(container: EngineContainer | null): string {
  if (container === null) return 'ContainerLost'
  if (container.outOfMemory) return 'OOMKilled'
  // It died while its engine was dead, so nobody knows when or of what.
  if (container.finishedAt === null) return 'Interrupted'
  return container.exitCode === 0 ? 'Completed' : 'Error'
}
