import type { Deployment, LogLine } from '../../contract/app-env-reads.ts'
import type { Autoscaling } from '../../contract/app-envs.ts'
import type { Evidence, Finding, Fix } from '../../contract/diagnosis.ts'
import type { EnvironmentStatus } from '../../contract/fields.ts'
import type { FunctionConfig } from '../../contract/function-config.ts'
import type { PodRecord } from '../environments/environment.ts'

export interface DeploymentFacts extends Deployment {
  rolloutId: string
  /** When it failed, as far as the history says. */
  failedAt: string | null
  /** There is an image to run. */
  isBuilt: boolean
}

/** Values of the last minutes; null where nothing was measured. */
export interface MetricFacts {
  seconds: number
  requestRate: number | null
  rate5xx: number | null
  percent5xx: number | null
  p95Seconds: number | null
  p99Seconds: number | null
  cpuPercent: number | null
  memoryPercent: number | null
  /** Samples that CPU and memory are the mean of. */
  resourceSamples: number
}

export interface AlertFacts {
  alertId: string
  warnings: string[]
  updatedAt: string
  /** A complete input of update-alert that corrects it; null when a person must choose. */
  correction: Record<string, unknown> | null
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

/** Everything detectors look at, loaded before they run. */
export interface Facts {
  nowMs: number
  appEnvId: string
  kind: 'app' | 'function' | 'database' | 'job'
  /** That the app declares. */
  port: number | null
  status: EnvironmentStatus
  desiredState: 'running' | 'stopped'
  zClouds: number
  containers: number
  autoscaling: Autoscaling | null
  functionConfig: FunctionConfig | null
  current: DeploymentFacts | null
  latest: DeploymentFacts | null
  /** The version that served before the current one; `ranWell`: its containers never ended by themselves. */
  previous: { version: number; ranWell: boolean } | null
  stoppedAt: string | null
  /** The app takes images only, no source. */
  takesImagesOnly: boolean
  /** Jobs only; newest first. */
  jobRuns: readonly JobRunFacts[]
  /** Newest first, dead ones included. */
  pods: readonly PodRecord[]
  /** Of the newest deployment; newest last. */
  buildLog: readonly LogLine[]
  /** Of the newest deployment when it failed, else of what serves; of a job its newest run. Newest last. */
  runtimeLog: readonly LogLine[]
  metrics: MetricFacts | null
  /** Names of variables in force, and of those saved. */
  variables: { applied: readonly string[]; saved: readonly string[] }
  pendingFields: readonly string[]
  pendingSince: string | null
  alerts: readonly AlertFacts[]
  databases: readonly DatabaseFacts[]
  quota: QuotaFacts
  /** The region's engine; `problem` in words of the platform. */
  engineProblem: string | null
}

/** A pure rule: facts in, findings out. */
export type Detector = (facts: Facts) => Finding[]

const longestQuote = 200

export function quote(line: LogLine): Evidence {
  const source = line.type === 'BUILD' ? 'build-log' : 'log'
  return { source, at: line.timestamp, text: cutQuote(line.message) }
}

export function cutQuote(text: string): string {
  const line = text.trim()
  return line.length > longestQuote ? `${line.slice(0, longestQuote - 1)}…` : line
}

export function fixBy(operation: string, input: Record<string, unknown>, effect: string, safe: boolean): Fix {
  return { operation, input, effects: [effect], safe }
}

/** Deploys a version again; also puts pending changes in force, so it is safe only without any. */
export function redeployFix({ appEnvId, pendingFields }: Facts, version: number): Fix {
  const effect = `Deploys version ${version} with the saved settings, without downtime.`
  return fixBy('redeploy-app-env', { appEnvId, version }, effect, pendingFields.length === 0)
}
