import type { Tx } from '../db.ts'
import { type Membership, membershipOf } from './accounts.ts'

/** A pending invitation of the user by its id; null if there is none. */
export async function findInvitation(
  tx: Tx,
  userId: string,
  invitationId: string,
): Promise<Membership | null> {
  const row = await tx
    .selectFrom('memberships')
    .selectAll()
    .where('invitation_id', '=', invitationId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row ? membershipOf(row) : null
}

export interface ShownInvitation {
  membership: Membership
  accountName: string
  createdAt: string
}

/** Pending invitations of a user, oldest first. */
export async function listInvitationsOf(tx: Tx, userId: string): Promise<ShownInvitation[]> {
  const rows = await tx
    .selectFrom('memberships')
    .innerJoin('accounts', 'accounts.account_id', 'memberships.account_id')
    .selectAll('memberships')
    .select('accounts.name as account_name')
    .where('user_id', '=', userId)
    .where('invitation_id', 'is not', null)
    .orderBy('memberships.created_at')
    .orderBy('membership_id')
    .execute()
  return rows.map((row) => ({
    membership: membershipOf(row),
    accountName: row.account_name,
    createdAt: row.created_at,
  }))
}

/** How many invitations are pending: to a user, from a user, or of an account. */
export async function countInvitations(
  tx: Tx,
  of: { userId: string } | { invitedBy: string } | { accountId: string },
): Promise<number> {
  const query = tx.selectFrom('memberships').where('invitation_id', 'is not', null)
  const narrowed =
    'userId' in of
      ? query.where('user_id', '=', of.userId)
      : 'invitedBy' in of
        ? query.where('invited_by', '=', of.invitedBy)
        : query.where('account_id', '=', of.accountId)
  const row = await narrowed.select((e) => e.fn.countAll<number>().as('count')).executeTakeFirst()
  return Number(row?.count ?? 0)
}

/** Accepts the invitation: the membership becomes active. */
export async function acceptInvitation(tx: Tx, { membershipId, revision }: Membership): Promise<void> {
  await tx
    .updateTable('memberships')
    .set({ invitation_id: null, revision })
    .where('membership_id', '=', membershipId)
    .execute()
}
