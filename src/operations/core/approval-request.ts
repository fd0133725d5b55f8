import { randomBytes } from 'node:crypto'
import { timestamp } from '../../clock.ts'
import type { Approvers } from '../../contract/approvals.ts'
import { isRead } from '../../contract/operation.ts'
import {
  actionDigestOf,
  type Calls,
  defaultExpirySeconds,
  type Requester,
  reviewDigestOf,
  type StoredApproval,
} from '../../domain/approvals/approval.ts'
import { maskedInput } from '../../domain/approvals/masked-input.ts'
import { newId } from '../../domain/ids.ts'
import { AppError } from '../../errors.ts'
import {
  countWaiting,
  findWaiting,
  forgetEndedApprovals,
  insertApproval,
} from '../../store/repositories/approvals.ts'
import { keepUpload } from '../../store/repositories/uploads.ts'
import { inviteApprovers } from './approval-links.ts'
import type { StepCall } from './call.ts'
import type { Caller } from './caller.ts'
import type { Context, PreviewedStep } from './handler.ts'
import { keyHolder } from './idempotency.ts'

/** How a decision is to be made: the strictest of all rules that ask; a plan that no rule asks about needs one person. */
interface Ask {
  ruleId: string | null
  approvers: Approvers
  expiresSeconds: number
}

interface ApprovalRequest {
  accountId: string
  title: string
  reason: string | null
  calls: readonly StepCall[]
  /** The same request of the same requester is one approval. */
  requestHash: string
  /** For a newer approval of the same calls: who requested the first one. */
  requestedBy?: Requester
  requesterCaller?: Caller
}

const mostWaiting = 500
const keptDays = 90

/** Operations about approvals themselves: no approval may decide over another one. */
const neverInPlans = new Set([
  'propose-plan',
  'decide-approval',
  'withdraw-approval',
  'refresh-approval',
  'update-policy',
])

/** Stores an approval with the effects that its calls would have now, or returns the one that waits for the same calls. */
export async function requestApproval(context: Context, request: ApprovalRequest): Promise<StoredApproval> {
  const { tx, now, caller, secrets } = context
  const requester = request.requesterCaller ?? caller
  for (const call of request.calls) requirePlannable(call, requester)
  const held = { requester: keyHolder(requester), requestHash: request.requestHash }
  const waiting = await findWaiting(tx, { ...held, now })
  if (waiting) return waiting
  await requireRoom(context, request.accountId)
  const { calls: steps } = request
  const previewed = await context.steps.preview(steps, requester)
  const ask = askOf(previewed, request)
  const calls: Calls = {
    salt: randomBytes(16).toString('base64url'),
    steps: steps.map(({ operation, input }) => ({ operation: operation.id, input })),
  }
  const actionDigest = actionDigestOf(calls)
  const shown = steps.map(({ operation, input }, index) => ({
    operation: operation.id,
    input: maskedInput(input) as Record<string, unknown>,
    ...shownOf(previewed[index]!),
  }))
  const { accountId, title, reason } = request
  const about = { accountId, title, reason, steps: shown, actionDigest, approvers: ask.approvers }
  const approval: StoredApproval = {
    ...about,
    approvalId: newId('apv'),
    reviewDigest: reviewDigestOf(about),
    requestedBy: request.requestedBy ?? requesterOf(context),
    ruleId: ask.ruleId,
    createdAt: now,
    expiresAt: timestamp(Date.parse(now) + ask.expiresSeconds * 1000),
    status: 'pending',
    replacedBy: null,
    decisions: [],
    results: [],
    revision: 1,
  }
  const sealed = secrets.seal(JSON.stringify(calls), sealedAs(approval.approvalId))
  await insertApproval(tx, approval, { ...held, sealed })
  if (context.tokenMail !== null) await inviteApprovers(context, approval)
  for (const { input } of steps)
    if (typeof input.storageKey === 'string') await keepUpload(tx, input.storageKey, approval.expiresAt)
  return approval
}

function shownOf({ changes, effects, impact, base, beyond }: PreviewedStep) {
  return { changes, effects, impact, base, beyond }
}

/** The name that the calls of an approval are bound to. */
export function sealedAs(approvalId: string): string {
  return `${approvalId}/calls`
}

function requesterOf({ caller, agentSession, agent }: Context): Requester {
  return {
    userId: caller.kind === 'user' ? caller.userId : null,
    kind: caller.actor,
    agent: caller.token.agent ?? agent ?? null,
    tokenId: caller.token.tokenId || null,
    sessionId: agentSession ?? null,
    ...(caller.token.access.remediation && { remediationRunId: caller.token.access.remediation.runId }),
  }
}

function askOf(previewed: readonly PreviewedStep[], { reason }: ApprovalRequest): Ask {
  const asking = previewed.flatMap(({ decision }) => (decision?.effect === 'ask' ? [decision] : []))
  const wanted = asking.flatMap(({ approvers }) => approvers ?? [])
  if (reason === null && wanted.some(({ reasonRequired }) => reasonRequired)) {
    throw new AppError('invalid', 'A reason is required', {
      details: `Rule ${asking[0]!.ruleId} asks for one. Send the same call as a step of propose-plan, with reason.`,
      rule: 'policy',
    })
  }
  const needs = wanted.map((one) => one.needs)
  const needed = needs.includes('admin')
    ? 'admin'
    : needs.includes('manageMembers')
      ? 'manageMembers'
      : undefined
  return {
    ruleId: asking[0]?.ruleId ?? null,
    approvers: {
      count: Math.max(1, ...wanted.map(({ count }) => count)),
      notRequester: wanted.some(({ notRequester }) => notRequester),
      ...(needed === undefined ? {} : { needs: needed }),
    },
    expiresSeconds:
      wanted.length === 0
        ? defaultExpirySeconds
        : Math.min(...wanted.map(({ expiresSeconds }) => expiresSeconds)),
  }
}

async function requireRoom({ tx, now }: Context, accountId: string): Promise<void> {
  await forgetEndedApprovals(tx, now, timestamp(Date.parse(now) - keptDays * 86_400_000))
  if ((await countWaiting(tx, accountId, now)) < mostWaiting) return
  throw new AppError('invalid', 'Too many approvals wait', {
    details: `${mostWaiting} approvals of this account are pending. Have people decide them, or withdraw those that are no longer needed (list-approvals).`,
  })
}

function requirePlannable({ operation }: StepCall, requester: Caller): void {
  const refused = (details: string) =>
    new AppError('invalid', `${operation.id} cannot wait for an approval`, { details })
  if (isRead(operation)) throw refused('It only reads; call it directly.')
  if (neverInPlans.has(operation.id)) throw refused('Approvals and policies are decided by people directly.')
  if (operation.answersSecret)
    throw refused('Its answer shows a secret, which must not wait in a queue. A person has to call it.')
  if (operation.peopleOnly && requester.actor !== 'person') throw refused('Only people may call it.')
}
