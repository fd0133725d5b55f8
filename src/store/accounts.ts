import { type AccountSettings, accountSettings } from '../contract/accounts.ts'
import { newId } from '../domain/ids.ts'
import type { Tx } from './db.ts'

export interface Account {
  accountId: string
  name: string
  slug: string
  settings: AccountSettings
  revision: number
  createdAt: string
}

export interface Membership {
  membershipId: string
  accountId: string
  userId: string
  admin: boolean
  manageMembers: boolean
  /** Empty means full access (interface.md 2.8). */
  allowedAppEnvIds: string[]
  revision: number
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
        settings: accountSettings.parse(JSON.parse(row.settings)),
        revision: row.revision,
        createdAt: row.created_at,
      }
    : null
}

export async function insertAccount(tx: Tx, account: Account): Promise<void> {
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

export async function findMembership(tx: Tx, accountId: string, userId: string): Promise<Membership | null> {
  const row = await tx
    .selectFrom('memberships')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row ? membershipOf(row) : null
}

export async function listMembershipsOfUser(tx: Tx, userId: string): Promise<Membership[]> {
  const rows = await tx
    .selectFrom('memberships')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('membership_id')
    .execute()
  return rows.map(membershipOf)
}

function membershipOf(row: {
  membership_id: string
  account_id: string
  user_id: string
  admin: number
  manage_members: number
  allowed_app_env_ids: string
  revision: number
}): Membership {
  return {
    membershipId: row.membership_id,
    accountId: row.account_id,
    userId: row.user_id,
    admin: row.admin === 1,
    manageMembers: row.manage_members === 1,
    allowedAppEnvIds: JSON.parse(row.allowed_app_env_ids),
    revision: row.revision,
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

export async function insertUser(
  tx: Tx,
  user: { email: string; name: string; createdAt: string },
): Promise<string> {
  const userId = newId('usr')
  await tx
    .insertInto('users')
    .values({ user_id: userId, email: user.email, name: user.name, created_at: user.createdAt })
    .execute()
  return userId
}
