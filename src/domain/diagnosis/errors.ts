import { counted } from '../../amounts.ts'
import type { DiagnosisCause, Evidence, Finding } from '../../contract/diagnosis.ts'
import { lastLine } from './evidence.ts'
import type { Facts, RequestFacts, TrafficFacts } from './facts.ts'
import { namedCause, signIn, summaryOf } from './named-cause.ts'
import { withRefreshed } from './refreshed.ts'

/** Below these a few failures among many requests are no burst. */
const leastPercent = 5
const leastFailures = 3
const appStartTimeoutSeconds = 60
/** Log lines up to this old may explain the failed requests of the last minute. */
const explainedByMs = 60_000

/** Answers that take longer are slow. */
export const slowSeconds = 1

/** Most of a busy minute's failures are shown by the request that fails most often. */
const mostRequests = 2

type Kind = 'failed' | 'timed-out' | 'unanswered'

/** Requests of the last minute fail, time out, or get no answer. */
export function detectErrors(facts: Facts): Finding | null {
  const { traffic } = facts
  if (!traffic || !isBurst(traffic)) return null
  const kind = kindOf(facts, traffic)
  // If every container is busy, capacity.ts explains the failures.
  if (kind === 'failed' && isSaturated(facts)) return null
  const shared = { severity: severityOf(traffic), since: sinceOf(facts, kind) }
  const failing: Evidence = {
    source: 'metric',
    at: null,
    text: `${kind === 'unanswered' ? 'unanswered' : 'failed'} of ${counted(traffic.requests, 'request')} in ${Math.round(traffic.seconds)} s`,
    value: kind === 'unanswered' ? traffic.unanswered : traffic.failed,
  }
  const requests = requestEvidence(facts, kind)
  const share = `${percentOf(traffic)} % of requests ${words[kind]}`
  const named = kind === 'timed-out' ? null : namedByLog(facts)
  if (named) {
    return withRefreshed(facts, {
      ...shared,
      cause: named.cause,
      confidence: 'likely',
      summary: `${share}: ${summaryOf(named.cause, facts, named)}.`,
      evidence: [requests[0] ?? failing, ...named.evidence],
      fix: named.runningFix,
    })
  }
  const [cause, rest] = unnamed(facts, kind)
  const log = kind === 'failed' ? lastLine(recentLines(facts)) : []
  return withRefreshed(facts, {
    ...shared,
    cause,
    confidence: requests.length > 0 || kind === 'failed' ? 'certain' : 'likely',
    summary: `${share}${rest}.`,
    evidence: [failing, ...requests, ...log],
    fix: null,
  })
}

const words: Readonly<Record<Kind, string>> = {
  failed: 'fail with 5xx',
  'timed-out': 'fail',
  unanswered: 'get no answer before the client disconnects',
}

function unnamed(facts: Facts, kind: Kind): [DiagnosisCause, string] {
  if (kind === 'timed-out') return ['request-timeout', timeoutWords(facts)]
  if (kind === 'unanswered') return ['unanswered-requests', '']
  return ['error-burst', '; the log shows no known cause']
}

/** Which of the limits ended the requests: a response that has begun is cut by `timeoutSeconds` only. */
function timeoutWords(facts: Facts): string {
  const timedOut = facts.requests.filter(isOfKind('timed-out'))
  const cut = timedOut.filter((request) => request.cut === 'timeout')
  if (facts.functionConfig && cut.length * 2 > timedOut.length) {
    return `: responses that have begun, such as streams, are cut at timeoutSeconds (${facts.functionConfig.timeoutSeconds} s)`
  }
  return `: the slowest take the ${timeoutSeconds(facts)} s that a request may take`
}

/** Whether enough requests of the last minute failed to count as a burst. */
export function isBurst({ requests, failed, unanswered }: TrafficFacts): boolean {
  const wrong = failed + unanswered
  return wrong >= leastFailures && wrong * 100 >= leastPercent * requests
}

/** Share of the requests of the last minute that failed or got no answer, in percent. */
export function percentOf({ requests, failed, unanswered }: Omit<TrafficFacts, 'seconds'>): number {
  return Math.min(100, Math.round((100 * (failed + unanswered)) / Math.max(1, requests)))
}

export function severityOf(traffic: TrafficFacts): Finding['severity'] {
  return percentOf(traffic) >= 50 ? 'critical' : 'warning'
}

function kindOf(facts: Facts, { failed, unanswered }: TrafficFacts): Kind {
  if (unanswered > failed) return 'unanswered'
  const timedOut = facts.requests.filter(isOfKind('timed-out')).reduce((sum, { oneIn }) => sum + oneIn, 0)
  const isSlow = (facts.metrics?.p99Seconds ?? 0) >= timeoutSeconds(facts) * 0.95
  return timedOut * 2 >= failed || (facts.requests.length === 0 && isSlow) ? 'timed-out' : 'failed'
}

function isOfKind(kind: Kind): (request: RequestFacts) => boolean {
  return ({ status, refused }) => {
    if (kind === 'unanswered') return status === null
    // Only the gateway can distinguish a time-out from a program that answers 504.
    return kind === 'timed-out' ? status === 504 && refused !== null : status !== null && status >= 500
  }
}

/** The first request of the kind that the log of the last minute has. */
function sinceOf({ requests }: Facts, kind: Kind): string | null {
  return requests.find(isOfKind(kind))?.at ?? null
}

/** The requests that fail most often: method and path, failure, and container. */
function requestEvidence({ requests }: Facts, kind: Kind): Evidence[] {
  const groups = new Map<string, { last: RequestFacts; count: number; slowestMs: number }>()
  for (const request of requests.filter(isOfKind(kind))) {
    const { method, path, status, container, refused } = request
    const key = [method, path, status, container, refused].join(' ')
    const { count = 0, slowestMs = 0 } = groups.get(key) ?? {}
    groups.set(key, {
      last: request,
      count: count + request.oneIn,
      slowestMs: Math.max(slowestMs, request.durationMs),
    })
  }
  return [...groups.values()]
    .sort((a, b) => b.count - a.count)
    .slice(0, mostRequests)
    .map(({ last, count, slowestMs }) => {
      const reason = last.refused === null ? '' : ` (${last.refused})`
      const status = `${last.status ?? 'client left'}${reason}`
      const where = last.container === null ? 'no container' : `container ${last.container}`
      const path = last.path.length > longestPath ? `${last.path.slice(0, longestPath)}…` : last.path
      const times = counted(Math.round(count), 'request')
      const text = `${last.method} ${path}: ${status} after ${(slowestMs / 1_000).toFixed(1)} s, ${where}, ${times}`
      return { source: 'request' as const, at: last.at, text }
    })
}

const longestPath = 80

function namedByLog(facts: Facts) {
  const sign = signIn(facts, recentLines(facts))
  const named = sign && namedCause(facts, sign)
  return named && named.cause !== 'wrong-port' && named.cause !== 'bad-command' ? named : null
}

/** Lines from before the last minute do not explain the errors of that minute. */
function recentLines({ servingLog, nowMs }: Facts) {
  return servingLog.filter(({ timestamp }) => nowMs - Date.parse(timestamp) <= explainedByMs)
}

/** Every container that a function may have runs, and requests fill them. */
export function isSaturated(facts: Facts): boolean {
  return heldTimes(facts, facts.metrics?.p99Seconds ?? 0) >= 0.7
}

/** Requests wait for a slot: on average, more are in progress than the containers may hold, and they take long. */
export function isQueueing(facts: Facts): boolean {
  const { recentP95Seconds, p95Seconds = 0 } = facts.metrics ?? {}
  const isSlow = (recentP95Seconds ?? p95Seconds ?? 0) >= slowSeconds
  return isSlow && heldTimes(facts, facts.meanSeconds ?? 0) >= 1.5
}

/**
 * How many times the requests in progress fill all containers that a function may have, if each takes `seconds` (Little's
 * law); 0 while it may have more containers.
 */
function heldTimes({ functionConfig, pods, serving, ...facts }: Facts, seconds: number): number {
  const traffic = facts.recentTraffic ?? facts.traffic
  if (!functionConfig || !traffic || functionConfig.containerConcurrency === 0) return 0
  const running = pods.filter((pod) => pod.ready && pod.rolloutId === serving?.rolloutId).length
  if (running < functionConfig.maxScale) return 0
  const underWay = (traffic.requests / Math.max(1, traffic.seconds)) * seconds
  return underWay / (functionConfig.maxScale * functionConfig.containerConcurrency)
}

function timeoutSeconds({ functionConfig }: Facts): number {
  if (!functionConfig) return appStartTimeoutSeconds
  return Math.min(functionConfig.timeoutSeconds, functionConfig.responseStartTimeoutSeconds)
}
