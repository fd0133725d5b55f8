import type { PodStatus } from '../../contract/app-env-reads.ts'
import type { JobRunResponse, SnapshotLayers } from '../../contract/jobs.ts'
import type { BootTime } from '../boot-clock.ts'
import type { Settings } from '../environments/environment.ts'

/** A stored run: the public fields, and the data the scheduler needs to run it. */
export interface JobRun extends JobRunResponse {
  /** Counts the runs of the environment, which gives the order whatever the clock shows. */
  number: number
  accountId: string
  region: string
  /** Prefix of the names of its containers. */
  envName: string
  /** Maximum number of active runs when it was started; null if unlimited. */
  limit: number | null
  ttlSecondsAfterFinished: number
  /** The layers of the snapshot's values; absent in runs of earlier versions. */
  snapshotFrom?: SnapshotLayers
  /** Variables (secrets sealed), those of the commit, and size when it was started; cleared when it is over. */
  settings:
    | (Pick<Settings, 'envVars' | 'zClouds' | 'useVolume' | 'mountPath'> & {
        commit?: Record<string, string>
      })
    | null
  /** When its first container was seen running; the deadline counts from here. */
  began: BootTime | null
  /** Set between two attempts. */
  retry: { since: BootTime; delayMs: number } | null
}

/** One container of a run. Its row is written before the container is created, with the container's name. */
export interface JobAttempt {
  attemptId: string
  jobRunId: string
  appEnvId: string
  number: number
  containerName: string
  contentId: string
  /** `ended`: over, the container is kept for a while; `gone`: the container has been removed. */
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
  /** When it ended, and how long its container is kept after that. */
  kept: { since: BootTime; forMs: number } | null
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
function retryDelayMs(failedAttempts: number, clockScale: number): number {
  return Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(20, failedAttempts - 1)) / clockScale
}

/** The container name of an attempt: fixed, so that only one can be created. */
export function attemptContainerName(run: JobRun, attempt: number): string {
  const prefix = run.envName.slice(0, 30).replace(/-+$/, '')
  return `${prefix}-${run.jobRunId.replace(/^run_/, '')}-${attempt}`
}

/** The run after an attempt ended: over, or waiting for the next attempt. */
export function runAfterAttempt(run: JobRun, end: AttemptEnd, now: BootTime, clockScale: number): JobRun {
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

/** The public fields of a run (docs/interface.md#job-runs). */
export function jobRunResponse(run: JobRun): JobRunResponse {
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

/** The command line: a login shell in the container, with the arguments as positional parameters. */
export function commandWords(snapshot: JobRun['snapshot']): string[] {
  const { command, args, shell } = snapshot
  return shell ? ['/bin/sh', '-lc', command, 'sh', ...args] : [command, ...args]
}
