import type { Deployment, LoggedRequest, LogLine } from '../../contract/app-env-reads.ts'
import type { Autoscaling } from '../../contract/app-envs.ts'
import type { Finding, Fix } from '../../contract/diagnosis.ts'
import type { EnvironmentStatus } from '../../contract/fields.ts'
import type { FunctionConfig } from '../../contract/function-config.ts'
import type { StoredAlert } from '../alerts/alert.ts'
import type { PodRecord } from '../environments/environment.ts'

export interface DeploymentFacts extends Deployment {
  rolloutId: string
  /** When it failed, if the history has the time. */
  failedAt: string | null
  /** An image exists to run. */
  isBuilt: boolean
  /** When it began to take requests, if it does. */
  servesSince: string
}

/** Values of the last minutes; null without measurements. */
export interface MetricFacts {
  p95Seconds: number | null
  p99Seconds: number | null
  cpuPercent: number | null
  memoryPercent: number | null
  /** Samples that CPU and memory are the mean of. */
  resourceSamples: number
  /** Of the requests of the last 20 s; null or absent without any. */
  recentP95Seconds?: number | null
}

/** Requests of the last minute to the version that serves. */
export interface TrafficFacts {
  seconds: number
  requests: number
  /** Answered with 5xx. */
  failed: number
  /** The client disconnected before a response began. */
  unanswered: number
}

/** A request of the last minute that failed, was refused or got no answer, as the request log has it. */
export interface RequestFacts
  extends Pick<LoggedRequest, 'method' | 'path' | 'status' | 'durationMs' | 'refused' | 'cut' | 'oneIn'> {
  at: string
  container: string | null
}

export interface AlertFacts {
  alertId: string
  warnings: string[]
  updatedAt: string
  /** A complete input of update-alert that corrects it; null when a person must choose. */
  correction: Record<string, unknown> | null
}

/** An alert that fires now. */
export interface FiringAlert
  extends Pick<StoredAlert, 'alertId' | 'name' | 'metric' | 'operator' | 'threshold'> {
  since: string | null
  /** The compared value when it fired; null if it is unknown. */
  value: number | null
  /** When it resolves if the metric stays as it is now; null while the metric is beyond the threshold, or unknown. */
  resolvesAt: string | null
}

/** A managed database whose address a variable or a log line names, and that the caller may access. */
export interface DatabaseFacts {
  appEnvId: string
  status: EnvironmentStatus
  ready: boolean
  /** Where it is named. */
  namedBy: { source: 'setting' | 'log'; text: string; at: string | null }
}

/** A run of a job that ended by itself. */
export interface JobRunFacts {
  jobRunId: string
  status: 'SUCCEEDED' | 'FAILED' | 'TIMED_OUT'
  exitCode: number | null
  reason: string | null
  finishedAt: string | null
}

interface WaitingCopy {
  kind: 'backup' | 'restore'
  id: string
  createdAt: string
  waitingFor: string
  /** The environment is down until it has ended. */
  ofMove: boolean
}

interface QuotaFacts {
  zCloudLimit: number
  zCloudsUsed: number
  /** The caller sees the whole account, so its usage may be quoted. */
  showsUsed: boolean
  functionMaxScale: number
}

export function kindOf(app: { isFunction: boolean; isDatabase: boolean; isJob: boolean }): Facts['kind'] {
  if (app.isFunction) return 'function'
  if (app.isDatabase) return 'database'
  return app.isJob ? 'job' : 'app'
}

/** The input of all detectors, loaded before they run. */
export interface Facts {
  nowMs: number
  appEnvId: string
  kind: 'app' | 'function' | 'database' | 'job'
  /** The port that the app declares. */
  port: number | null
  status: EnvironmentStatus
  desiredState: 'running' | 'stopped'
  zClouds: number
  containers: number
  autoscaling: Autoscaling | null
  functionConfig: FunctionConfig | null
  /** The version that takes requests, with or without a container now. */
  serving: DeploymentFacts | null
  /** The version that served last, and serves unless the environment was stopped. */
  current: DeploymentFacts | null
  /** The newest one, whatever became of it. */
  latest: DeploymentFacts | null
  /** The version that served before the current one; `ranWell`: its containers never ended by themselves. */
  previous: { version: number; ranWell: boolean } | null
  stoppedAt: string | null
  /** The source is in a Git host. */
  usesGit?: boolean
  /** The app takes images only, no source. */
  takesImagesOnly: boolean
  /** Jobs only; newest first. */
  jobRuns: readonly JobRunFacts[]
  /** Newest first, dead ones included. */
  pods: readonly PodRecord[]
  /** Log of the newest deployment; newest last. */
  buildLog: readonly LogLine[]
  /** Output of the newest deployment if it failed, of the container that ended if one did. Newest last. */
  failedLog: readonly LogLine[]
  /** Output of the version that serves; of a job that of its newest run. Newest last. */
  servingLog: readonly LogLine[]
  /** Output of the container of the serving version that ended last, until it ended. Newest last. */
  crashLog: readonly LogLine[]
  metrics: MetricFacts | null
  traffic: TrafficFacts | null
  /** Requests of the last 20 s, which show what has just begun; null or absent without any. */
  recentTraffic?: TrafficFacts | null
  /** Newest last; empty if requests are not logged. */
  requests: readonly RequestFacts[]
  /** How long the latest requests of a function took on average; null for others, or if none is logged. */
  meanSeconds: number | null
  /** Names of variables in force, and of those saved. */
  variables: { applied: readonly string[]; saved: readonly string[] }
  /** The mount path of its volume if the program does not see the volume there: on the process engine. */
  volumePath: string | null
  /** The mount path of its volume: files below it are data; null or absent without one. */
  mountPath?: string | null
  pendingFields: readonly string[]
  /** Names of variables that are saved differently than they are in force. */
  pendingVariables: readonly string[]
  /** Names of pending changes that the caller did not save, or whose author is unknown; absent: none. */
  foreignPending?: readonly string[]
  /** What the caller must send as `includeChangesOf` to put those in force; absent for callers that need not. */
  includeChangesOf?: readonly string[]
  /** The variables among them whose sources have new values. */
  refreshed: readonly string[]
  pendingSince: string | null
  /** Copies of its data that have not begun, and why. */
  waitingCopies: readonly WaitingCopy[]
  alerts: readonly AlertFacts[]
  /** Absent: none. */
  firing?: readonly FiringAlert[]
  databases: readonly DatabaseFacts[]
  quota: QuotaFacts
  /** The region's engine; `problem` in words of the platform. */
  engineProblem: string | null
}

/** A pure rule: facts in, findings out. */
export type Detector = (facts: Facts) => Finding[]

export function fixBy(operation: string, input: Record<string, unknown>, effect: string, safe: boolean): Fix {
  return { operation, input, effects: [effect], safe }
}

/** Deploys a version again, as it ran: pending changes stay pending. */
export function redeployFix({ appEnvId }: Facts, version: number): Fix {
  const effect = `Deploys version ${version} with the variables and settings it ran with, without downtime.`
  return fixBy('redeploy-app-env', { appEnvId, version }, effect, true)
}
