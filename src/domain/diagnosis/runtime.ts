import type { Finding } from '../../contract/diagnosis.ts'
import type { PodRecord } from '../environments/environment.ts'
import { detectErrors, isBurst, severityOf } from './errors.ts'
import { lastLine } from './evidence.ts'
import { type Detector, type Facts, redeployFix } from './facts.ts'
import { namedCause, signIn, summaryOf } from './named-cause.ts'
import { withRefreshed } from './refreshed.ts'
import { moreMemory, startCauses } from './start.ts'

const recentMs = 10 * 60_000
export const slowStartMs = 10_000

/** Detects serving containers that exit again and again, answer with errors, or start slowly. */
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
  /** When the loop began that the ending belongs to. */
  since: string
  podName: string
  exitCode: number
  reason: string
  count: number
}

/** How containers of a version ended by themselves lately, the latest first. */
export function endingsOf(
  pods: readonly PodRecord[],
  rolloutId: string | undefined,
  nowMs: number,
): Ending[] {
  return pods
    .filter((pod) => pod.rolloutId === rolloutId)
    .flatMap((pod) => endingOf(pod))
    .filter(({ at }) => nowMs - Date.parse(at) < recentMs)
    .sort((a, b) => (a.at < b.at ? 1 : -1))
}

function endingOf(pod: PodRecord): Ending[] {
  const { desiredState, status, ready, restartCount, lastTermination, name, loopSince } = pod
  // One that was removed on purpose has no termination of its own.
  if (lastTermination === null || (desiredState !== 'run' && status !== 'Failed')) return []
  const { finishedAt: at, exitCode, reason } = lastTermination
  const count = restartCount + (ready || status === 'Pending' ? 0 : 1)
  return [{ at, since: loopSince ?? at, podName: name, exitCode, reason, count }]
}

function detectCrash(facts: Facts): Finding | null {
  const { serving, kind } = facts
  const ended = endingsOf(facts.pods, serving?.rolloutId, facts.nowMs)
  const count = ended.reduce((sum, one) => sum + one.count, 0)
  const isServing = facts.pods.some((pod) => pod.ready && pod.rolloutId === serving?.rolloutId)
  const answers = !facts.traffic || !isBurst(facts.traffic) || severityOf(facts.traffic) !== 'critical'
  // Scaled to zero, a function serves without a container.
  const isUp = answers && (kind === 'function' || isServing)
  const last = ended[0]
  if (!last || (count < 2 && isUp)) return null
  const killed = ended.some(({ reason }) => reason === 'OOMKilled')
  const sign = killed ? null : signIn(facts, facts.crashLog)
  const named = sign && namedCause(facts, sign)
  const cause = killed
    ? 'out-of-memory'
    : kind === 'database'
      ? 'database-down'
      : (named?.cause ?? 'crash-loop')
  const times = count === 1 ? 'once' : `${count} times`
  return withRefreshed(facts, {
    cause,
    severity: isUp ? 'warning' : 'critical',
    confidence: named ? 'likely' : 'certain',
    summary: `Containers of version ${serving?.version} ended ${times}: ${summaryOf(cause, facts, named)}.`,
    since: ended.map(({ since }) => since).sort()[0]!,
    evidence: [
      {
        source: 'container',
        at: last.at,
        text: `${last.podName}: exit code ${last.exitCode} (${last.reason})`,
      },
      ...(named?.evidence ?? lastLine(facts.crashLog)),
    ],
    fix: named?.runningFix ?? goBack(facts, cause) ?? moreMemory(cause, facts),
  })
}

/** A container runs and takes no requests, because it does not pass its health check. */
function detectChecks(facts: Facts): Finding | null {
  const { pods, serving } = facts
  const own = pods.filter((pod) => pod.rolloutId === serving?.rolloutId && pod.desiredState === 'run')
  const failing = own.filter(({ unhealthy }) => unhealthy)
  const first = failing.map(({ unhealthy }) => unhealthy!).sort((a, b) => (a.since < b.since ? -1 : 1))[0]
  if (!first) return null
  return withRefreshed(facts, {
    cause: checkCause(first.reason),
    severity: own.some(({ ready }) => ready) ? 'warning' : 'critical',
    confidence: 'certain',
    summary: `${failing.length} of ${own.length} containers of version ${serving?.version} take no requests: they do not pass their health check.`,
    since: first.since,
    evidence: [
      { source: 'container', at: first.since, text: first.message },
      ...lastLine(facts.servingLog.filter(({ podName }) => failing.some(({ name }) => name === podName))),
    ],
    fix: null,
  })
}

/** Why a container that runs takes no requests. */
export function checkCause(reason: string): Finding['cause'] {
  return startCauses[reason] ?? 'failing-checks'
}

/** An earlier version fixes errors of new code, never those of a service or a disk. */
function goBack(facts: Facts, cause: Finding['cause']): Finding['fix'] {
  const { previous, kind } = facts
  const comesWithCode = [
    'missing-module',
    'missing-file',
    'missing-variable',
    'bad-command',
    'crash-loop',
    'out-of-memory',
  ]
  if (previous === null || kind === 'database' || !comesWithCode.includes(cause)) return null
  const fix = redeployFix(facts, previous.version)
  return { ...fix, safe: fix.safe && previous.ranWell }
}

function detectSlowStart(facts: Facts): Finding | null {
  if (facts.kind === 'database') return null
  const { serving, latest, pods, nowMs } = facts
  const starting = latest?.status === 'DEPLOYING' ? latest : null
  const rollout = starting ?? serving
  const own = pods.filter((pod) => pod.rolloutId === rollout?.rolloutId)
  // start.ts has the causes.
  if (own.some(({ listensElsewhere }) => listensElsewhere)) return null
  const waits = own
    .filter((pod) => pod.restartCount === 0 && pod.startedAt !== null)
    .filter((pod) => !starting || !pod.ready)
    // Not until the deployment ended: that includes the stability window.
    .map((pod) => (starting ? nowMs : Date.parse(pod.readyAt ?? '')) - Date.parse(pod.startedAt!))
    .filter((waitMs) => waitMs >= 0)
  const waitMs = Math.min(...waits)
  if (!rollout || waits.length === 0 || waitMs < slowStartMs) return null
  const seconds = Number((waitMs / 1_000).toPrecision(3))
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
