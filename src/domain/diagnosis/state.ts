import { counted } from '../../amounts.ts'
import type { Finding } from '../../contract/diagnosis.ts'
import { unheardAlert } from '../alerts/alert.ts'
import { type Detector, type Facts, fixBy } from './facts.ts'

/** The engine does not answer: other problems cannot be fixed until it does. */
export const detectEngine: Detector = ({ engineProblem, pods, nowMs }) => {
  if (engineProblem === null) return []
  const at = new Date(nowMs).toISOString()
  const isServing = pods.some(({ ready }) => ready)
  const rest = isServing ? ' Containers that run keep serving.' : ''
  return [
    {
      cause: 'engine-away',
      severity: isServing ? 'warning' : 'critical',
      confidence: 'certain',
      summary: `The engine of the region does not answer.${rest}`,
      since: null,
      evidence: [{ source: 'engine', at, text: engineProblem }],
      fix: null,
    },
  ]
}

/** The environment was stopped on purpose, or never deployed. */
export const detectStopped: Detector = ({ status, desiredState, latest, stoppedAt, appEnvId, kind }) => {
  if (desiredState !== 'stopped' || status !== 'STOPPED') return []
  if (latest?.status === 'FAILED' && (stoppedAt === null || stoppedAt < (latest.failedAt ?? ''))) return []
  const shared = { cause: 'stopped', severity: 'warning', confidence: 'certain' } as const
  if (latest === null) {
    const summary = 'Nothing was deployed to it yet.'
    return [
      {
        ...shared,
        summary,
        since: null,
        evidence: [{ source: 'setting', at: null, text: 'no deployment' }],
        fix: null,
      },
    ]
  }
  const effect = kind === 'job' ? 'Lets its runs start again.' : `Starts version ${latest.version}.`
  return [
    {
      ...shared,
      summary: 'It is stopped.',
      since: stoppedAt,
      evidence: [{ source: 'setting', at: stoppedAt, text: 'its desired state is stopped' }],
      fix: fixBy('start-app-env', { appEnvId }, effect, true),
    },
  ]
}

/** Names of one evidence; the rest is counted. */
const mostNames = 5

export const detectPending: Detector = (facts) => {
  const { pendingFields, pendingSince, appEnvId, latest, refreshed, includeChangesOf } = facts
  // Before the first deployment everything waits for it.
  if (pendingFields.length === 0 || latest === null) return []
  const source = refreshed.length === 0 ? '' : ` ${newAtSource(refreshed)}.`
  const effect = 'Puts the saved settings in force; containers are replaced without downtime where needed.'
  return [
    {
      cause: 'pending-change',
      severity: 'info',
      confidence: 'certain',
      summary: `${counted(pendingFields.length, 'saved setting is', 'saved settings are')} not in force.${source}`,
      since: pendingSince,
      evidence: [{ source: 'setting', at: pendingSince, text: pendingText(facts) }],
      fix: fixBy(
        'apply-app-env-changes',
        { appEnvId, ...(includeChangesOf && { includeChangesOf }) },
        includeChangesOf ? `${effect} Includes changes saved by ${includeChangesOf.join(', ')}.` : effect,
        true,
      ),
    },
  ]
}

/** Fields, and of variables the names too, never their values. */
function pendingText({ pendingFields, pendingVariables }: Facts): string {
  return pendingFields
    .map((field) =>
      field === 'envVars' && pendingVariables.length > 0 ? `envVars (${listed(pendingVariables)})` : field,
    )
    .join(', ')
}

export function newAtSource(refreshed: readonly string[]): string {
  return `${counted(refreshed.length, 'variable has a new value', 'variables have new values')} at the source`
}

export function listed(names: readonly string[]): string {
  const more = names.length - mostNames
  return more > 0 ? `${names.slice(0, mostNames).join(', ')} and ${more} more` : names.join(', ')
}

/** A copy that waits for its place, its containers or its engine. */
export const detectCopies: Detector = ({ waitingCopies }) =>
  waitingCopies.map(({ kind, id, createdAt, waitingFor, ofMove }) => ({
    cause: 'copy-waiting',
    severity: ofMove ? 'critical' : 'info',
    confidence: 'certain',
    summary: ofMove
      ? `It is down until its volume is copied, and that has not begun: ${waitingFor}`
      : `The ${kind} ${id} has not begun: ${waitingFor}`,
    since: createdAt,
    evidence: [{ source: 'engine', at: createdAt, text: waitingFor }],
    fix: null,
  }))

/** Never healthy while an alert fires: also if its cause is over, or unknown. */
export const detectFiring: Detector = ({ firing = [] }) =>
  firing.map(({ alertId, name, metric, operator, threshold, since, value, resolvesAt }): Finding => {
    const beyond = `${metric} is ${operator === 'gt' ? 'above' : 'below'} ${threshold}`
    const end =
      resolvesAt === null
        ? 'It resolves when the metric is back within the threshold.'
        : `If the metric stays as it is now, it resolves at ${resolvesAt}.`
    return {
      cause: 'alert-firing',
      severity: 'warning',
      confidence: 'certain',
      summary: `Alert ${alertId} fires: ${beyond}. ${end}`,
      since,
      evidence: [
        { source: 'alert', at: since, text: name },
        { source: 'metric', at: since, text: metric, ...(value === null ? {} : { value }) },
      ],
      fix: null,
    }
  })

/** A threshold is a person's decision, also where it looks like another unit. */
function correct(alertId: string, correction: Record<string, unknown>): Finding['fix'] {
  return fixBy(
    'update-alert',
    { alertId, ...correction },
    'Corrects the alert.',
    !('threshold' in correction),
  )
}

export const detectAlerts: Detector = ({ alerts }) =>
  alerts
    .filter(({ warnings }) => warnings.length > 0)
    .map(
      ({ alertId, warnings, updatedAt, correction }): Finding => ({
        cause: 'alert-misconfigured',
        severity: 'info',
        confidence: 'certain',
        summary: warnings.every((text) => text === unheardAlert)
          ? `Alert ${alertId} has no contact point, so only the console shows it.`
          : `Alert ${alertId} is misconfigured.`,
        since: updatedAt,
        evidence: warnings.slice(0, 2).map((text) => ({ source: 'alert' as const, at: updatedAt, text })),
        fix: correction && correct(alertId, correction),
      }),
    )
