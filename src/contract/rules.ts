import type { AccountSettings } from './accounts.ts'
import type { FunctionConfigInput } from './function-config.ts'
import { isIngressMetric, type Metric } from './metrics.ts'

/**
 * A call that breaks a rule, in words for the caller. The tools check these rules before they call the platform, and the
 * platform checks them again.
 */
interface Violation {
  message: string
  /** How to do it instead. */
  details: string
  /** Id of the rule in docs/interface.md. */
  rule?: string
}

interface AppType {
  isFunction: boolean
  isJob: boolean
  isDatabase: boolean
}

/** Functions scale by requests (F8) and jobs by runs; databases have no autoscaling. */
export function scalingViolation(
  app: AppType,
  kind: 'autoscaling' | 'manual container scaling',
): Violation | null {
  if (app.isFunction) {
    const details =
      'A function scales automatically between minScale and maxScale, by containerConcurrency. Set these with update-function-config.'
    return { message: `Functions do not use ${kind}`, details, rule: 'F8' }
  }
  if (app.isJob) {
    const details =
      'Each run uses one container. To limit parallel runs, set maxConcurrency in jobConfig with update-app-env.'
    return { message: `Jobs do not use ${kind}`, details }
  }
  if (app.isDatabase && kind === 'autoscaling') {
    const details = 'Set zClouds with update-app-env, or containers with scale-app-env-containers.'
    return { message: 'Managed databases do not use autoscaling', details }
  }
  return null
}

/** Functions have no CPU and memory metrics (F9), databases no ingress metrics (2.7). */
export function metricViolation(
  metric: Metric,
  app: Pick<AppType, 'isFunction' | 'isDatabase'>,
): Violation | null {
  if (metric === 'certificate_days_left') {
    const details = 'Only environments that serve HTTP have domains with certificates.'
    return app.isDatabase
      ? { message: `${metric} is not available for database environments`, details }
      : null
  }
  if (app.isFunction && !isIngressMetric(metric)) {
    const details =
      'Use an ingress metric, such as ingress_p95_latency, ingress_5xx_percent or ingress_request_rate.'
    return { message: `${metric} is not collected for functions`, details, rule: 'F9' }
  }
  if (app.isDatabase && isIngressMetric(metric)) {
    const details = 'Databases have no HTTP traffic. Use a CPU or memory metric, such as cpu_percent.'
    return { message: `${metric} is not available for database environments`, details }
  }
  return null
}

/** Only apps with the FUNCTION preset have function settings and probes (E3). */
export function functionOnlyViolation(
  app: { isFunction: boolean; dockerPreset: string },
  operation: 'update-function-config' | 'probe-function',
): Violation | null {
  if (app.isFunction) return null
  const [can, instead] =
    operation === 'probe-function'
      ? ['can be probed', 'get-logs with type REQUEST shows its requests.']
      : [
          'have function settings',
          'Use update-app-env, scale-app-env-containers or update-app-env-autoscaling.',
        ]
  const details = `This app uses the ${app.dockerPreset} preset. ${instead}`
  return { message: `Only FUNCTION apps ${can}`, details, rule: 'E3' }
}

/** Only apps with the JOB preset have job settings and runs (E4). */
export function jobOnlyViolation(
  app: { isJob: boolean; dockerPreset: string },
  what: 'job settings' | 'runs',
): Violation | null {
  if (app.isJob) return null
  const instead =
    what === 'runs'
      ? 'Create an app with dockerPreset JOB for commands that run and end.'
      : 'Use update-app-env for its settings.'
  const details = `This app uses the ${app.dockerPreset} preset. ${instead}`
  return { message: `Only JOB apps have ${what}`, details, rule: 'E4' }
}

/** Limits of an account for a function. */
type FunctionLimits = Pick<
  AccountSettings,
  'functionMinIdleTimeoutSeconds' | 'functionMaxScale' | 'functionMaxMinScale'
>

/** Given values are within the limits of the account, and minScale is at most maxScale (E3, 8.scale-limits). */
export function functionLimitsViolation(
  { idleTimeoutSeconds: idle, minScale, maxScale }: FunctionConfigInput,
  { functionMinIdleTimeoutSeconds: leastIdle, functionMaxScale, functionMaxMinScale }: FunctionLimits,
): Violation | null {
  if (idle !== undefined && idle < leastIdle) {
    const details = `The account's functionMinIdleTimeoutSeconds is ${leastIdle} (the platform's least is 300); ${idle} is below it.`
    return { message: `idleTimeoutSeconds must be at least ${leastIdle}`, details, rule: 'E3' }
  }
  return (
    aboveLimit('maxScale', maxScale, 'functionMaxScale', functionMaxScale) ??
    aboveLimit('minScale', minScale, 'functionMaxMinScale', functionMaxMinScale) ??
    crossedScales(minScale, maxScale)
  )
}

function crossedScales(minScale: number | undefined, maxScale: number | undefined): Violation | null {
  if (minScale === undefined || maxScale === undefined || minScale <= maxScale) return null
  const details = 'Raise maxScale or lower minScale: minScale may be at most maxScale.'
  return { message: `minScale ${minScale} is above maxScale ${maxScale}`, details, rule: 'E3' }
}

function aboveLimit(field: string, value: number | undefined, limit: string, most: number): Violation | null {
  if (value === undefined || value <= most) return null
  const details = `The account's ${limit} is ${most}; ${value} is above it.`
  return { message: `${field} must be at most ${most}`, details, rule: 'E3' }
}
