import { type Attention, type DiagnosisCause, findingSeverities } from '../../contract/diagnosis.ts'
import type { EnvironmentStatus } from '../../contract/fields.ts'
import type { PodRecord } from '../environments/environment.ts'
import { tokensOf } from './budget.ts'
import { buildCauses } from './build.ts'
import { isBurst, severityOf } from './errors.ts'
import type { Facts } from './facts.ts'
import { checkCause, endingsOf, slowStartMs } from './runtime.ts'
import { startCauses } from './start.ts'

/** The stored facts of one environment that cost no log or metric read. */
export interface AttentionFacts {
  envName: string
  kind: Facts['kind']
  status: EnvironmentStatus
  desiredState: 'running' | 'stopped'
  currentRolloutId: string | null
  /** The newest deployment if it failed, unless a newer call ended it or the environment was stopped afterwards. */
  failed: { version: number; reason: string } | null
  /** Containers that should run. */
  pods: readonly PodRecord[]
  /** Requests of the last minute to the serving version; null without a gateway. */
  traffic: Facts['traffic']
  firingAlerts: number
  /** When settings were saved that are not in force; null if all are. */
  pendingSince: string | null
  /** Sources of its variables have new values, so running containers may have an old password. */
  isRefreshed: boolean
  nowMs: number
}

/** A change that is still pending after this time was probably forgotten. */
const forgottenMs = 3_600_000
const mostWorst = 10
/** Limit for the list, so that the whole answer keeps within its 500 tokens. */
const mostTokens = 350

type Sign = Pick<Attention, 'severity'> & { cause: DiagnosisCause | null }

/** Why an environment needs attention, from stored facts only; null if it does not. */
export function attentionOf(facts: AttentionFacts): Attention | null {
  const { envName, firingAlerts } = facts
  const signs = [
    failureSign(facts),
    deployingSign(facts),
    containerSign(facts),
    requestSign(facts),
    pendingSign(facts),
  ].filter((sign) => sign !== null)
  if (firingAlerts > 0) signs.push({ cause: null, severity: 'warning' })
  if (signs.length === 0) return null
  const severity = findingSeverities.find((one) => signs.some((sign) => sign.severity === one))!
  const causes = [...new Set(signs.flatMap(({ cause }) => cause ?? []))]
  return { envName, severity, causes, firingAlerts, ...rejected(facts) }
}

/** A failed deployment differs from a failing service: an earlier version serves. */
function rejected(facts: AttentionFacts): Pick<Attention, 'rejectedVersion'> {
  return facts.failed && serves(facts) ? { rejectedVersion: facts.failed.version } : {}
}

function failureSign(facts: AttentionFacts): Sign | null {
  if (facts.failed === null) return null
  const { reason } = facts.failed
  const cause = buildCauses[reason] ?? startCauses[reason] ?? null
  return { cause, severity: serves(facts) ? 'warning' : 'critical' }
}

/** A deployment that waits for a port on which its program does not listen: known long before it fails. */
function deployingSign(facts: AttentionFacts): Sign | null {
  const { status, pods, currentRolloutId } = facts
  if (status !== 'PENDING' && status !== 'UPDATING') return null
  const isElsewhere = pods.some(
    ({ ready, rolloutId, listensElsewhere }) => !ready && rolloutId !== currentRolloutId && listensElsewhere,
  )
  return isElsewhere ? { cause: 'wrong-port', severity: serves(facts) ? 'warning' : 'critical' } : null
}

function serves({ status, currentRolloutId }: AttentionFacts): boolean {
  return (status === 'RUNNING' || status === 'UPDATING') && currentRolloutId !== null
}

function requestSign({ traffic, desiredState }: AttentionFacts): Sign | null {
  if (desiredState !== 'running' || !traffic || !isBurst(traffic)) return null
  const cause = traffic.unanswered > traffic.failed ? 'unanswered-requests' : 'error-burst'
  return { cause, severity: severityOf(traffic) }
}

/** The serving version ends again and again, or accepts no connections. */
function containerSign(facts: AttentionFacts): Sign | null {
  const { kind, desiredState, currentRolloutId, nowMs } = facts
  if (desiredState !== 'running' || kind === 'job' || !serves(facts)) return null
  const pods = facts.pods.filter(({ rolloutId }) => rolloutId === currentRolloutId)
  const endings = endingsOf(pods, currentRolloutId ?? undefined, nowMs)
  const count = endings.reduce((sum, ending) => sum + ending.count, 0)
  // Scaled to zero, a function serves without a container.
  const isUp = kind === 'function' || pods.some(({ ready }) => ready)
  const severity = isUp ? 'warning' : 'critical'
  if (endings.length > 0 && (count >= 2 || !isUp)) {
    if (endings.some(({ reason }) => reason === 'OOMKilled')) return { cause: 'out-of-memory', severity }
    return { cause: kind === 'database' ? 'database-down' : 'crash-loop', severity }
  }
  const unhealthy = pods.find((pod) => pod.unhealthy)?.unhealthy
  if (unhealthy) return { cause: checkCause(unhealthy.reason), severity }
  const isSlow = pods.some(
    ({ ready, startedAt }) => !ready && startedAt !== null && nowMs - Date.parse(startedAt) >= slowStartMs,
  )
  return isSlow ? { cause: 'slow-start', severity } : null
}

function pendingSign({ pendingSince, isRefreshed, nowMs }: AttentionFacts): Sign | null {
  if (pendingSince === null) return null
  if (!isRefreshed && nowMs - Date.parse(pendingSince) < forgottenMs) return null
  return { cause: 'pending-change', severity: 'info' }
}

/**
 * The worst first: by severity, then those that have served, then by firing alerts, then in the given order. Environments
 * that never served take only a few places of the others.
 */
export function worstOf(
  found: readonly Attention[],
  neverServed: ReadonlySet<string> = new Set(),
): Attention[] {
  const isNew = ({ envName }: Attention) => neverServed.has(envName)
  const rank = (one: Attention) => findingSeverities.indexOf(one.severity) * 2 + (isNew(one) ? 1 : 0)
  const sorted = [...found].sort((a, b) => rank(a) - rank(b) || b.firingAlerts - a.firingAlerts)
  const served = sorted.filter((one) => !isNew(one))
  const places = Math.max(mostNeverServed, mostWorst - served.length)
  const shownNew = new Set(sorted.filter(isNew).slice(0, places))
  return sorted.filter((one) => !isNew(one) || shownNew.has(one)).slice(0, mostWorst)
}

const mostNeverServed = 3

/** The worst ones, as many as an answer has room for. */
export function withinAnswer(worst: readonly Attention[]): Attention[] {
  let tokens = 0
  return worst.filter((one) => {
    tokens += tokensOf(JSON.stringify(one))
    return tokens <= mostTokens
  })
}
