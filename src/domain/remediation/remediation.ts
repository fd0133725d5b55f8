import type { RemediationStep, RemediationTrigger } from '../../contract/remediation-fields.ts'
import type { Remediation, RemediationRun } from '../../contract/remediations.ts'
import { type StoredAlert, spanMs } from '../alerts/alert.ts'
import { canonical } from '../canonical.ts'
import { newId } from '../ids.ts'

export interface StoredRemediation extends Omit<Remediation, 'problem' | 'steps' | 'trigger' | 'verify'> {
  trigger: RemediationTrigger
  verify: { alertNormalWithinSeconds: number } | { healthyWithinSeconds: number }
  steps: RemediationStep[]
  /** The mode that toggle-remediation turns on again. */
  modeBefore: Remediation['mode']
}

/** What a remediation with a cause has seen of it, by the last diagnosis. */
export interface CauseState {
  /** Counts the episodes. */
  episode: number
  isOpen: boolean
  startedAt: string
  /** The facts that were checked when it was found: it is gone only if all of them are checked again. */
  checked: string[]
  /** Diagnoses in a row that found it, and then that did not find it. */
  seen: number
  absent: number
  absentSince: string | null
  seenAt: string
}

export interface StoredRun extends RemediationRun {
  accountId: string
  /** Increases with every change, so that two control planes never both advance it. */
  version: number
  /** The condition of the alert when the run began: an edited alert verifies nothing. */
  condition: string | null
  /** When its steps ended, and until when its trigger has to recover. */
  verifyFrom: string | null
  verifyBy: string | null
  /** Diagnoses in a row, after the steps, that found the environment healthy. */
  healthy: number
  /** The steps as they were when it began to act. */
  plan?: RemediationStep[]
  /** Approvals requested so far. */
  requests: number
  /** Tokens made for agents; revoked when the run ends. */
  tokenIds: string[]
}

/** The fields of an alert that decide when it fires. */
export function conditionOf(alert: StoredAlert): string {
  const { metric, operator, threshold, duration, aggregation, queryRange } = alert
  return canonical({ metric, operator, threshold, duration, aggregation, queryRange })
}

export function newRun(
  { remediationId, appEnvId, accountId, mode, trigger }: StoredRemediation,
  seen: { episode: string; name: string; startedAt: string; condition: string | null },
  now: string,
): StoredRun {
  const { episode, name, startedAt, condition } = seen
  return {
    runId: newId('rmr'),
    remediationId,
    appEnvId,
    accountId,
    episode,
    status: 'waiting',
    reason: 'Its trigger is on; the conditions of the remediation are checked.',
    trigger: { ...trigger, name, startedAt, endedAt: null },
    mode,
    dryRun: null,
    steps: [],
    picture: null,
    startedAt: now,
    finishedAt: null,
    version: 1,
    condition,
    verifyFrom: null,
    verifyBy: null,
    healthy: 0,
    requests: 0,
    tokenIds: [],
  }
}

const openStatuses: readonly RemediationRun['status'][] = ['waiting', 'running', 'verifying']

export function isOpenRun({ status }: Pick<RemediationRun, 'status'>): boolean {
  return openStatuses.includes(status)
}

/** How long the trigger has to recover, in seconds before the clock scale. */
export function verifySeconds({ verify }: Pick<StoredRemediation, 'verify'>): number {
  return 'alertNormalWithinSeconds' in verify ? verify.alertNormalWithinSeconds : verify.healthyWithinSeconds
}

const usualVerifySeconds = 600
/** A mean is normal again only when its range has left the problem behind. */
export function usualVerify(alert: StoredAlert | null): StoredRemediation['verify'] {
  if (alert === null) return { healthyWithinSeconds: usualVerifySeconds }
  const rangeSeconds = spanMs(alert.queryRange) / 1000
  return { alertNormalWithinSeconds: Math.max(usualVerifySeconds, rangeSeconds + 300) }
}
