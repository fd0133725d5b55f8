import type { PodStatus } from '../contract/app-env-reads.ts'
import type { JobRunAnswer, SnapshotLayers } from '../contract/jobs.ts'
import type { Settings } from './environment.ts'
import type { Moment } from './moment.ts'

/** A run as stored: what is answered, and what the scheduler needs to carry it out. */
export interface JobRun extends JobRunAnswer {
  /** Counts the runs of the environment: newest first whatever the clock says. */
  number: number
  accountId: string
  region: string
  /** Begins the names of its containers. */
  envName: string
  /** Most active runs when it was started; null when there was no limit. */
  limit: number | null
  ttlSecondsAfterFinished: number
  /** Where the values of the snapshot came from; absent in runs of earlier versions. */
  snapshotFrom?: SnapshotLayers
  /** Variables (secrets sealed) and size when it was started; forgotten when it is over. */
  settings: Pick<Settings, 'envVars' | 'zClouds' | 'useVolume' | 'mountPath'> | null
  /** When its first container was seen to run; the deadline counts from here. */
  began: Moment | null
  /** Set between two attempts. */
  retry: { since: Moment; delayMs: number } | null
}

/** One container of a run. Its row is written before the container is made, under the name it will have. */
export interface JobAttempt {
  attemptId: string
  jobRunId: string
  appEnvId: string
  number: number
  containerName: string
  contentId: string
  /** `ended`: over, the container kept for its time; `gone`: the container is removed. */
  state: 'creating' | 'started' | 'ended' | 'gone'
  status: PodStatus
  exitCode: number | null
  reason: string | null
  cpuMillicores: number
  memoryMb: number
  nodeName: string
  createdAt: string
  startedAt: string | null
  finishedAt: string | null
  /** When it ended and how long its container is kept from then. */
  kept: { since: Moment; forMs: number } | null
}

export interface AttemptEnd {
  exitCode: number | null
  reason: string
  finishedAt: string
}

export function isOver(run: { status: JobRun['status'] }): boolean {
  return run.status !== 'PENDING' && run.status !== 'RUNNING'
}

const firstRetryMs = 10_000
const longestRetryMs = 360_000

/** 10 s, 20 s, 40 s … 6 min after the first, second, third … failed attempt. */
export function retryDelayMs(failedAttempts: number, clockScale: number): number {
  return Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(20, failedAttempts - 1)) / clockScale
}

/** The name of an attempt's container: the same whoever makes it, so that it is made once. */
export function attemptContainerName(run: JobRun, attempt: number): string {
  const prefix = run.envName.slice(0, 30).replace(/-+$/, '')
  return `${prefix}-${run.jobRunId.replace(/^run_/, '')}-${attempt}`
}

/** What the run becomes when an attempt of it ended: over, or waiting for its next attempt. */
export function runAfterAttempt(run: JobRun, end: AttemptEnd, now: Moment, clockScale: number): JobRun {
  if (isOver(run)) return run
  const { exitCode, reason } = end
  if (exitCode === 0) return runOver(run, { status: 'SUCCEEDED', exitCode, reason }, end.finishedAt)
  if (run.attempt > run.snapshot.backoffLimit) {
    return runOver(run, { status: 'FAILED', exitCode, reason }, end.finishedAt)
  }
  const retry = { since: now, delayMs: retryDelayMs(run.attempt, clockScale) }
  return { ...run, status: 'PENDING', exitCode, reason, retry }
}

export function runOver(
  run: JobRun,
  how: Pick<JobRun, 'status' | 'exitCode' | 'reason'>,
  finishedAt: string,
): JobRun {
  return { ...run, ...how, finishedAt, settings: null, retry: null }
}

/** What is shown of a run (contract.md 7). */
export function jobRunAnswer(run: JobRun): JobRunAnswer {
  const { jobRunId, appEnvId, status, attempt, snapshot, trigger } = run
  const { createdAt, startedAt, finishedAt, exitCode, reason } = run
  return {
    jobRunId,
    appEnvId,
    status,
    attempt,
    snapshot,
    trigger,
    createdAt,
    startedAt,
    finishedAt,
    exitCode,
    reason,
  }
}

/** The words to start: through a login shell inside the container, the arguments as its positional parameters. */
export function commandWords(snapshot: JobRun['snapshot']): string[] {
  const { command, args, shell } = snapshot
  return shell ? ['/bin/sh', '-lc', command, 'sh', ...args] : [command, ...args]
}
