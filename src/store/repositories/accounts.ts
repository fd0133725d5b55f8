import { z } from 'zod'
import { type AccountSettings, accountSettings } from '../../contract/accounts.ts'
import type { NarrowedAgent } from '../../domain/access/environment-access.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

const settingsRecord = recordReader<AccountSettings>('accounts', null, accountSettings, { fillsIn: true })

const allowedRecord = recordReader<Membership['allowedAppEnvIds']>(
  'memberships',
  null,
  z.array(z.string()).nullable(),
)

export interface Account {
  accountId: string
  name: string
  slug: string
  settings: AccountSettings
  revision: number
  /** Revision of its policy; 0: it has none, so that everything is allowed. */
  policyRevision: number
  createdAt: string
}

export interface Membership {
  membershipId: string
  accountId: string
  userId: string
  admin: boolean
  manageMembers: boolean
  /** Empty means full access (2.8). */
  allowedAppEnvIds: string[]
  revision: number
  /** Set until the user accepts; until then the user has no access to the account. */
  invitation: Invitation | null
  /** Set while a narrowed agent of the member acts; never stored. */
  agent?: NarrowedAgent
}

interface Invitation {
  invitationId: string
  /** User id. */
  invitedBy: string
}

export async function findAccount(tx: Tx, accountId: string): Promise<Account | null> {
  const row = await tx
    .selectFrom('accounts')
    .selectAll()
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row
    ? {
        accountId: row.account_id,
        name: row.name,
        slug: row.slug,
        settings: settingsRecord.parse(row.settings, row.account_id),
        revision: row.revision,
        policyRevision: row.policy_revision,
        createdAt: row.created_at,
      }
    : null
}

export async function insertAccount(tx: Tx, account: Omit<Account, 'policyRevision'>): Promise<void> {
  await tx
    .insertInto('accounts')
    .values({
      account_id: account.accountId,
      name: account.name,
      slug: account.slug,
      settings: JSON.stringify(account.settings),
      revision: account.revision,
      created_at: account.createdAt,
    })
    .execute()
}

export async function updateAccount(tx: Tx, account: Account): Promise<void> {
  await tx
    .updateTable('accounts')
    .set({ name: account.name, settings: JSON.stringify(account.settings), revision: account.revision })
    .where('account_id', '=', account.accountId)
    .execute()
}

/** The active membership; null if it has not been accepted yet. */
export async function findMembership(tx: Tx, accountId: string, userId: string): Promise<Membership | null> {
  const row = await tx
    .selectFrom('memberships')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('user_id', '=', userId)
    .where('invitation_id', 'is', null)
    .executeTakeFirst()
  return row ? membershipOf(row) : null
}

/** The membership, accepted or not. */
export async function findMembershipOrInvitation(
  tx: Tx,
  accountId: string,
  userId: string,
): Promise<Membership | null> {
  const row = await tx
    .selectFrom('memberships')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row ? membershipOf(row) : null
}

/** Accepted memberships. */
export async function listMembershipsOfUser(tx: Tx, userId: string): Promise<Membership[]> {
  const rows = await tx
    .selectFrom('memberships')
    .selectAll()
    .where('user_id', '=', userId)
    .where('invitation_id', 'is', null)
    .orderBy('created_at')
    .orderBy('membership_id')
    .execute()
  return rows.map(membershipOf)
}

/** Accepted or not. */
export async function listAllMembershipsOfUser(tx: Tx, userId: string): Promise<Membership[]> {
  const rows = await tx.selectFrom('memberships').selectAll().where('user_id', '=', userId).execute()
  return rows.map(membershipOf)
}

/** Accepted or not, for configuring access. */
export async function findMembershipById(tx: Tx, membershipId: string): Promise<Membership | null> {
  const row = await tx
    .selectFrom('memberships')
    .selectAll()
    .where('membership_id', '=', membershipId)
    .executeTakeFirst()
  return row ? membershipOf(row) : null
}

/** Members and invited users, in the order in which they were added. */
export async function listMembersOfAccount(
  tx: Tx,
  accountId: string,
): Promise<{ membership: Membership; email: string; name: string }[]> {
  const rows = await tx
    .selectFrom('memberships')
    .innerJoin('users', 'users.user_id', 'memberships.user_id')
    .selectAll('memberships')
    .select(['users.email as email', 'users.name as user_name'])
    .where('account_id', '=', accountId)
    .orderBy('memberships.created_at')
    .orderBy('membership_id')
    .execute()
  return rows.map((row) => ({ membership: membershipOf(row), email: row.email, name: row.user_name }))
}

export async function countAdmins(tx: Tx, accountId: string): Promise<number> {
  const row = await tx
    .selectFrom('memberships')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
    .where('admin', '=', 1)
    .where('invitation_id', 'is', null)
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

export async function deleteMembership(tx: Tx, membershipId: string): Promise<void> {
  await tx.deleteFrom('memberships').where('membership_id', '=', membershipId).execute()
}

export function membershipOf(row: {
  membership_id: string
  account_id: string
  user_id: string
  admin: number
  manage_members: number
  allowed_app_env_ids: string
  revision: number
  invitation_id: string | null
  invited_by: string | null
}): Membership {
  return {
    membershipId: row.membership_id,
    accountId: row.account_id,
    userId: row.user_id,
    admin: row.admin === 1,
    manageMembers: row.manage_members === 1,
    allowedAppEnvIds: allowedRecord.parse(row.allowed_app_env_ids, row.membership_id),
    revision: row.revision,
    invitation:
      row.invitation_id === null
        ? null
        : { invitationId: row.invitation_id, invitedBy: row.invited_by as string },
  }
}

export async function insertMembership(tx: Tx, membership: Membership, createdAt: string): Promise<void> {
  await tx
    .insertInto('memberships')
    .values({
      membership_id: membership.membershipId,
      account_id: membership.accountId,
      user_id: membership.userId,
      admin: membership.admin ? 1 : 0,
      manage_members: membership.manageMembers ? 1 : 0,
      allowed_app_env_ids: JSON.stringify(membership.allowedAppEnvIds),
      revision: membership.revision,
      created_at: createdAt,
      invitation_id: membership.invitation?.invitationId ?? null,
      invited_by: membership.invitation?.invitedBy ?? null,
    })
    .execute()
}

export async function updateMembership(tx: Tx, membership: Membership): Promise<void> {
  await tx
    .updateTable('memberships')
    .set({
      admin: membership.admin ? 1 : 0,
      manage_members: membership.manageMembers ? 1 : 0,
      allowed_app_env_ids: JSON.stringify(membership.allowedAppEnvIds),
      revision: membership.revision,
    })
    .where('membership_id', '=', membership.membershipId)
    .execute()
}
