import type { Evidence, Finding } from '../../contract/diagnosis.ts'
import type { PodRecord } from '../environments/environment.ts'
import { type Detector, type Facts, quote, redeployFix } from './facts.ts'
import { isNoise } from './log-noise.ts'
import { runtimeSign } from './log-signs.ts'
import { type NamedCause, namedCause, summaryOf } from './named-cause.ts'
import { moreMemory, startCauses } from './start.ts'

export const recentMs = 10 * 60_000
/** Below these a few failures among many requests are no burst. */
const leastPercent = 5
const leastFailures = 5
export const slowStartMs = 10_000
const appStartTimeoutSeconds = 60

/** What serves ends again and again, answers with errors, or starts slowly. */
export const detectRuntime: Detector = (facts) => {
  if (facts.desiredState !== 'running' || facts.kind === 'job') return []
  const crash = detectCrash(facts)
  if (crash) return [crash]
  return [detectChecks(facts) ?? detectErrors(facts), detectSlowStart(facts)].filter(
    (found) => found !== null,
  )
}

interface Ending {
  at: string
  exitCode: number
  reason: string
  count: number
}

/** How containers of the serving version ended lately, the latest first. */
function endings({ pods, current, nowMs }: Facts): Ending[] {
  return pods
    .filter(({ rolloutId }) => rolloutId === current?.rolloutId)
    .flatMap((pod) => endingOf(pod))
    .filter(({ at }) => nowMs - Date.parse(at) < recentMs)
    .sort((a, b) => (a.at < b.at ? 1 : -1))
}

export function endingOf({
  desiredState,
  status,
  ready,
  restartCount,
  lastTermination,
}: PodRecord): Ending[] {
  // One that was removed on purpose has no termination of its own.
  if (lastTermination === null || (desiredState !== 'run' && status !== 'Failed')) return []
  const { finishedAt: at, exitCode, reason } = lastTermination
  return [{ at, exitCode, reason, count: restartCount + (ready || status === 'Pending' ? 0 : 1) }]
}

function detectCrash(facts: Facts): Finding | null {
  const ended = endings(facts)
  const count = ended.reduce((sum, one) => sum + one.count, 0)
  const isServing = facts.pods.some((pod) => pod.ready && pod.rolloutId === facts.current?.rolloutId)
  // Scaled to zero, a function serves without a container.
  const isUp = isServing || facts.kind === 'function'
  const last = ended[0]
  if (!last || (count < 2 && isUp)) return null
  const killed = ended.some(({ reason }) => reason === 'OOMKilled')
  const sign = killed ? null : runtimeSign(facts.runtimeLog, facts.variables.applied)
  const named = sign && namedCause(facts, sign)
  const cause = killed
    ? 'out-of-memory'
    : facts.kind === 'database'
      ? 'database-down'
      : (named?.cause ?? 'crash-loop')
  const times = count === 1 ? 'once' : `${count} times`
  return {
    cause,
    severity: isUp ? 'warning' : 'critical',
    confidence: named ? 'likely' : 'certain',
    summary: `Containers of version ${facts.current?.version} ended ${times}: ${summaryOf(cause, facts, named)}.`,
    since: ended.at(-1)!.at,
    evidence: [
      { source: 'container', at: last.at, text: `exit code ${last.exitCode} (${last.reason})` },
      ...(named?.evidence ?? lastLine(facts)),
    ],
    fix: named?.runningFix ?? goBack(facts, cause) ?? moreMemory(cause, facts),
  }
}

/** A container runs and takes no requests, because it does not pass its health check. */
function detectChecks(facts: Facts): Finding | null {
  const { pods, current } = facts
  const own = pods.filter((pod) => pod.rolloutId === current?.rolloutId && pod.desiredState === 'run')
  const failing = own.filter(({ unhealthy }) => unhealthy)
  const first = failing.map(({ unhealthy }) => unhealthy!).sort((a, b) => (a.since < b.since ? -1 : 1))[0]
  if (!first) return null
  return {
    cause: checkCause(first.reason),
    severity: own.some(({ ready }) => ready) ? 'warning' : 'critical',
    confidence: 'certain',
    summary: `${failing.length} of ${own.length} containers of version ${current?.version} take no requests: they do not pass their health check.`,
    since: first.since,
    evidence: [{ source: 'container', at: first.since, text: first.message }, ...lastLine(facts)],
    fix: null,
  }
}

/** Why a container that runs takes no requests. */
export function checkCause(reason: string): Finding['cause'] {
  return startCauses[reason] ?? 'failing-checks'
}

/** What Node prints below the sentence that names the error. */
const endsStack = /^\s+at |^Node\.js v\d/

export function lastLine({ runtimeLog }: Facts): Evidence[] {
  const line = runtimeLog.findLast(({ message }) => !isNoise(message) && !endsStack.test(message))
  return line ? [quote(line)] : []
}

/** An earlier version fixes what the new code broke, never a service or a disk. */
function goBack(facts: Facts, cause: Finding['cause']): Finding['fix'] {
  const { previous, kind } = facts
  const comesWithCode = ['missing-module', 'missing-variable', 'bad-command', 'crash-loop', 'out-of-memory']
  if (previous === null || kind === 'database' || !comesWithCode.includes(cause)) return null
  const fix = redeployFix(facts, previous.version)
  return { ...fix, safe: fix.safe && previous.ranWell }
}

function detectErrors(facts: Facts): Finding | null {
  const { metrics } = facts
  if (!metrics?.rate5xx || !metrics.percent5xx) return null
  const failures = metrics.rate5xx * metrics.seconds
  if (metrics.percent5xx < leastPercent || failures < leastFailures) return null
  const percent = Math.round(metrics.percent5xx)
  const shared = {
    severity: percent >= 50 ? ('critical' as const) : ('warning' as const),
    since: null,
  }
  const failing: Evidence = { source: 'metric', at: null, text: 'ingress_5xx_percent', value: percent }
  const answered = `${percent} % of requests fail with 5xx`
  const timeout = timeoutSeconds(facts)
  if ((metrics.p99Seconds ?? 0) >= timeout * 0.95) {
    const slow: Evidence = {
      source: 'metric',
      at: null,
      text: 'ingress_p99_latency',
      value: rounded(metrics.p99Seconds!),
    }
    const summary = `${answered}, and the slowest take the ${timeout} s that a request may take.`
    return {
      ...shared,
      cause: 'request-timeout',
      confidence: 'likely',
      summary,
      evidence: [failing, slow],
      fix: null,
    }
  }
  // Where every container is busy, capacity.ts says why.
  if (isSaturated(facts)) return null
  return errorFinding(facts, shared, answered, failing)
}

function errorFinding(
  facts: Facts,
  shared: Pick<Finding, 'severity' | 'since'>,
  answered: string,
  failing: Evidence,
): Finding {
  const sign = runtimeSign(facts.runtimeLog, facts.variables.applied)
  const named: NamedCause | null = sign && namedCause(facts, sign)
  if (!named || named.cause === 'wrong-port' || named.cause === 'bad-command') {
    const summary = `${answered}; no known cause stands in the log.`
    const evidence = [failing, ...lastLine(facts)]
    return { ...shared, cause: 'error-burst', confidence: 'certain', summary, evidence, fix: null }
  }
  return {
    ...shared,
    cause: named.cause,
    confidence: 'likely',
    summary: `${answered}: ${summaryOf(named.cause, facts, named)}.`,
    evidence: [failing, ...named.evidence],
    fix: named.runningFix,
  }
}

/** Every container that a function may have runs, and requests fill them. */
export function isSaturated({ functionConfig, metrics, pods, current }: Facts): boolean {
  if (!functionConfig || !metrics || functionConfig.containerConcurrency === 0) return false
  const running = pods.filter((pod) => pod.ready && pod.rolloutId === current?.rolloutId).length
  const capacity = functionConfig.maxScale * functionConfig.containerConcurrency
  const inFlight = (metrics.requestRate ?? 0) * (metrics.p99Seconds ?? 0)
  return running >= functionConfig.maxScale && inFlight >= capacity * 0.7
}

function timeoutSeconds({ functionConfig }: Facts): number {
  if (!functionConfig) return appStartTimeoutSeconds
  return Math.min(functionConfig.timeoutSeconds, functionConfig.responseStartTimeoutSeconds)
}

function detectSlowStart(facts: Facts): Finding | null {
  if (facts.kind === 'database') return null
  const { current, latest, pods, nowMs } = facts
  const starting = latest?.status === 'DEPLOYING' ? latest : null
  const rollout = starting ?? current
  const waits = pods
    .filter((pod) => pod.rolloutId === rollout?.rolloutId && pod.restartCount === 0 && pod.startedAt !== null)
    .filter((pod) => !starting || !pod.ready)
    // Not until the deployment ended: that includes the stability window.
    .map((pod) => (starting ? nowMs : Date.parse(pod.readyAt ?? '')) - Date.parse(pod.startedAt!))
    .filter((waitMs) => waitMs >= 0)
  const waitMs = Math.min(...waits)
  if (!rollout || waits.length === 0 || waitMs < slowStartMs) return null
  const seconds = rounded(waitMs / 1_000)
  const how = starting
    ? `has not accepted connections for ${seconds} s`
    : `took ${seconds} s to accept connections`
  const effect = 'Keeps one container warm, which is billed all the time.'
  const coldFunction = facts.functionConfig?.minScale === 0
  return {
    cause: 'slow-start',
    severity: starting ? 'warning' : 'info',
    confidence: 'certain',
    summary: `A container of version ${rollout.version} ${how}.`,
    since: rollout.createdAt,
    evidence: [{ source: 'container', at: null, text: 'seconds from start to ready', value: seconds }],
    fix: coldFunction
      ? {
          operation: 'update-function-config',
          input: { appEnvId: facts.appEnvId, minScale: 1, applyImmediately: true },
          effects: [effect],
          safe: false,
        }
      : null,
  }
}

function rounded(value: number): number {
  return Number(value.toPrecision(3))
}
