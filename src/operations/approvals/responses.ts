import type { Approval } from '../../contract/approvals.ts'
import type { ImpactStatement } from '../../contract/impact.ts'
import { mayAccess } from '../../domain/access/environment-access.ts'
import { type Base, environmentsOf, type StoredApproval, statusAt } from '../../domain/approvals/approval.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import { countLinksOfApproval } from '../../store/repositories/approval-links.ts'
import { findUsers } from '../../store/repositories/users.ts'
import type { AccountTarget } from '../core/access-targets.ts'
import { restricted } from '../core/authorize.ts'
import type { Context } from '../core/handler.ts'
import { movedBases } from './moved-bases.ts'

/** The approval as it stands now: its time may have passed, and its objects may have changed since. */
export async function approvalResponse(context: Context, approval: StoredApproval): Promise<Approval> {
  const { accountId, steps, requestedBy, ...rest } = approval
  const userIds = [requestedBy.userId, ...approval.decisions.map((one) => one.userId)].filter(
    (id) => id !== null,
  )
  const users = await findUsers(context.tx, [...new Set(userIds)])
  const nameOf = (userId: string | null) => users.get(userId ?? '')?.name ?? null
  const moved = await movedSince(context, approval)
  return {
    ...rest,
    accountId,
    steps: steps.map(({ base: _base, beyond: _beyond, ...step }) => step),
    requestedBy: { ...requestedBy, name: nameOf(requestedBy.userId) },
    decisions: approval.decisions.map((one) => ({ ...one, name: nameOf(one.userId) })),
    url: approvalUrl(context, approval.approvalId),
    status: moved.length > 0 ? 'stale' : statusAt(approval, context.now),
    moved: moved.map(({ type, id }) => ({ type, id })),
  }
}

function approvalUrl({ installation }: Context, approvalId: string): string {
  return `${installation.publicUrl()}/console/approvals/${approvalId}`
}

/** With a mail server, everybody who may approve gets a link. */
export async function impactOfRequest(tx: Tx, { approvalId }: StoredApproval): Promise<ImpactStatement> {
  const peopleNotified = await countLinksOfApproval(tx, approvalId)
  return peopleNotified > 0
    ? { actions: ['create-object', 'send-message'], peopleNotified }
    : { actions: ['create-object'] }
}

export async function currentStatus(context: Context, approval: StoredApproval): Promise<Approval['status']> {
  return (await movedSince(context, approval)).length > 0 ? 'stale' : statusAt(approval, context.now)
}

/** Only while it waits: afterwards its own steps changed its objects. */
async function movedSince({ tx, now }: Context, approval: StoredApproval): Promise<Base[]> {
  return statusAt(approval, now) === 'pending' ? movedBases(tx, approval) : []
}

/** M2: its requester, and members who may access every environment that it touches. */
export function mayRead(
  { caller }: Pick<Context, 'caller'>,
  { account, membership }: AccountTarget,
  { requestedBy, steps }: StoredApproval,
): boolean {
  if (requestedBy.tokenId !== null && requestedBy.tokenId === caller.token.tokenId) return true
  return environmentsOf(steps).every((appEnvId) => mayAccess(account, membership, appEnvId))
}

export function requireReadable(
  context: Pick<Context, 'caller'>,
  target: AccountTarget,
  approval: StoredApproval,
): void {
  if (!mayRead(context, target, approval)) throw restricted('approval')
}

export function notPending(status: string): AppError {
  return new AppError('conflict', `The approval is ${status}`, {
    details:
      status === 'stale'
        ? 'Its objects changed since it was shown. refresh-approval shows the effects as of now.'
        : 'Only a pending approval can be decided. get-approval shows what happened.',
  })
}
