import type { Approval } from '../../contract/approvals.ts'
import { mayAccess } from '../../domain/access/environment-access.ts'
import { type StoredApproval, statusAt } from '../../domain/approvals/approval.ts'
import { AppError } from '../../errors.ts'
import { findUser } from '../../store/repositories/users.ts'
import type { AccountTarget } from '../core/access-targets.ts'
import { restricted } from '../core/authorize.ts'
import type { Context } from '../core/handler.ts'
import { movedBases } from './moved-bases.ts'

/** The approval as it stands now: its time may have passed, and its objects may have changed since. */
export async function approvalResponse(context: Context, approval: StoredApproval): Promise<Approval> {
  const { accountId, steps, requestedBy, ...rest } = approval
  const user = requestedBy.userId === null ? null : await findUser(context.tx, { userId: requestedBy.userId })
  return {
    ...rest,
    accountId,
    steps: steps.map(({ base: _base, beyond: _beyond, ...step }) => step),
    requestedBy: { ...requestedBy, name: user?.name ?? null },
    url: approvalUrl(context, approval.approvalId),
    status: await currentStatus(context, approval),
  }
}

function approvalUrl({ installation }: Context, approvalId: string): string {
  return `${installation.publicUrl()}/console/approvals/${approvalId}`
}

export async function currentStatus(context: Context, approval: StoredApproval): Promise<Approval['status']> {
  const status = statusAt(approval, context.now)
  if (status !== 'pending') return status
  return (await movedBases(context.tx, approval)).length > 0 ? 'stale' : 'pending'
}

/** M2: its requester, and members who may access every environment that it touches. */
export function mayRead(
  { caller }: Pick<Context, 'caller'>,
  { account, membership }: AccountTarget,
  { requestedBy, steps }: StoredApproval,
): boolean {
  if (requestedBy.tokenId !== null && requestedBy.tokenId === caller.token.tokenId) return true
  const ids = new Set(
    steps.flatMap(({ base, impact }) => [
      ...base.flatMap(({ type, id }) => (type === 'environment' && id !== 'new' ? [id] : [])),
      ...(impact?.environments ?? []),
    ]),
  )
  return [...ids].every((appEnvId) => mayAccess(account, membership, appEnvId))
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
