import { createHash } from 'node:crypto'
import type {
  ApprovalDecision,
  ApprovalResult,
  ApprovalStatus,
  ApprovalStep,
  Approvers,
} from '../../contract/approvals.ts'
import type { Impact } from '../../contract/impact.ts'
import { canonical } from '../canonical.ts'

export const defaultExpirySeconds = 86_400

/** Who requested it. The calls run in their name. */
export interface Requester {
  userId: string | null
  kind: 'person' | 'agent' | 'environment' | 'remediation'
  agent: string | null
  tokenId: string | null
  sessionId: string | null
  /** The run of a remediation that waits for it. */
  remediationRunId?: string
}

/** An object as it was when the step was shown; the step runs only on this revision. */
export interface Base {
  type: string
  id: string
  revision: number
}

/** A step as people see it, and what it rests on. */
interface StoredStep extends ApprovalStep {
  base: Base[]
  /** The requester lacked the right: the approver's counts instead. */
  beyond: boolean
}

export interface StoredApproval {
  approvalId: string
  accountId: string
  title: string
  steps: StoredStep[]
  actionDigest: string
  reviewDigest: string
  requestedBy: Requester
  reason: string | null
  ruleId: string | null
  approvers: Approvers
  createdAt: string
  expiresAt: string
  status: ApprovalStatus
  replacedBy: string | null
  decisions: ApprovalDecision[]
  results: ApprovalResult[]
  revision: number
}

/** The exact calls; stored sealed while they wait. */
export interface Calls {
  /** Random, so that a short secret cannot be guessed from the digest. */
  salt: string
  steps: { operation: string; input: Record<string, unknown> }[]
}

export function actionDigestOf(calls: Calls): string {
  return digest(calls)
}

/** Binds a decision to everything that the page of the approval shows, and to the revisions below it. */
export function reviewDigestOf({
  title,
  reason,
  steps,
  actionDigest,
  approvers,
}: Pick<StoredApproval, 'title' | 'reason' | 'steps' | 'actionDigest' | 'approvers'>): string {
  return digest({ title, reason, steps, actionDigest, approvers })
}

function digest(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex')
}

/** The environments that the steps touch or change. */
export function environmentsOf(steps: readonly StoredStep[]): string[] {
  const ids = steps.flatMap(({ base, impact }) => [
    ...base.flatMap(({ type, id }) => (type === 'environment' && id !== 'new' ? [id] : [])),
    ...(impact?.environments ?? []),
  ])
  return [...new Set(ids)]
}

/** Silence is never consent: a pending approval ends at its time. */
export function statusAt({ status, expiresAt }: StoredApproval, now: string): ApprovalStatus {
  return status === 'pending' && expiresAt <= now ? 'expired' : status
}

/** Whether it has as many approvals as it needs. */
export function isAgreed({ decisions, approvers }: StoredApproval): boolean {
  const people = new Set(decisions.filter((one) => one.decision === 'approve').map((one) => one.userId))
  return people.size >= approvers.count
}

/**
 * The ways in which a write would now do more than people saw: more containers ended, data lost, a weaker undo. Ids of
 * environments that the write creates differ each time, and `serving` changes by itself.
 */
export function worsened(shown: Impact, now: Impact): string[] {
  const worse: string[] = []
  const added = now.actions.filter((one) => !shown.actions.includes(one))
  if (added.length > 0) worse.push(`it would also ${added.join(', ')}`)
  if (now.containersEnded > shown.containersEnded)
    worse.push(`it would end ${now.containersEnded} containers, not ${shown.containersEnded}`)
  if (now.dataLost && !shown.dataLost) worse.push('stored data would be lost')
  if (undoRank[now.undo] > undoRank[shown.undo])
    worse.push(`its undo would be ${now.undo}, not ${shown.undo}`)
  if (now.zCloudsDelta > shown.zCloudsDelta)
    worse.push(`it would reserve ${now.zCloudsDelta} zClouds more, not ${shown.zCloudsDelta}`)
  const applied = (one: Impact) => one.variables.appliedOf.map(({ name, by }) => `${name} ${by}`)
  const known = new Set(applied(shown))
  const others = applied(now).filter((one) => !known.has(one))
  if (others.length > 0) worse.push('it would put other pending changes in force')
  return worse
}

const undoRank = { 'undo-change': 0, redeploy: 1, restore: 2, none: 3 } as const
