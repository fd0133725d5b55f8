import { newId } from '../../domain/ids.ts'
import type { Tx } from '../db.ts'

declare module '../db.ts' {
  interface Tables {
    sign_in_links: {
      link_id: string
      user_id: string
      /** Of the code in the mail, which is made when it is sent; null before. */
      code_hash: string | null
      created_at: string
      expires_at: string
      mail: string
      attempts: number
      next_at: string
    }
  }
}

export interface SignInLink {
  linkId: string
  userId: string
  expiresAt: string
  attempts: number
}

export async function insertSignInLink(
  tx: Tx,
  { userId, now, expiresAt }: { userId: string; now: string; expiresAt: string },
): Promise<void> {
  await tx
    .insertInto('sign_in_links')
    .values({
      link_id: newId('lnk'),
      user_id: userId,
      code_hash: null,
      created_at: now,
      expires_at: expiresAt,
      mail: 'due',
      attempts: 0,
      next_at: now,
    })
    .execute()
}

export async function countSignInLinks(tx: Tx, userId: string, since: string): Promise<number> {
  const { count } = await tx
    .selectFrom('sign_in_links')
    .select((e) => e.fn.countAll().as('count'))
    .where('user_id', '=', userId)
    .where('created_at', '>', since)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Links whose mail is due, longest waiting first. */
export async function listDueSignInLinks(tx: Tx, now: string, limit: number): Promise<SignInLink[]> {
  const rows = await tx
    .selectFrom('sign_in_links')
    .selectAll()
    .where('mail', '=', 'due')
    .where('next_at', '<=', now)
    .orderBy('next_at')
    .limit(limit)
    .execute()
  return rows.map(linkOf)
}

/** Stores the code of the next mail; an earlier one stops working. */
export async function setSignInCode(tx: Tx, linkId: string, codeHash: string): Promise<void> {
  await tx.updateTable('sign_in_links').set({ code_hash: codeHash }).where('link_id', '=', linkId).execute()
}

export async function recordSignInMail(
  tx: Tx,
  linkId: string,
  { mail, attempts, nextAt }: { mail: 'due' | 'sent' | 'dropped'; attempts: number; nextAt: string },
): Promise<void> {
  await tx
    .updateTable('sign_in_links')
    .set({ mail, attempts, next_at: nextAt })
    .where('link_id', '=', linkId)
    .execute()
}

export async function findSignInLink(tx: Tx, codeHash: string): Promise<SignInLink | null> {
  const row = await tx
    .selectFrom('sign_in_links')
    .selectAll()
    .where('code_hash', '=', codeHash)
    .executeTakeFirst()
  return row ? linkOf(row) : null
}

/** Ends the link and returns it, so that only one of two simultaneous sign-ins gets it. The row still counts as a mail. */
export async function takeSignInLink(tx: Tx, codeHash: string): Promise<SignInLink | null> {
  const row = await tx
    .updateTable('sign_in_links')
    .set({ code_hash: null, mail: 'used' })
    .where('code_hash', '=', codeHash)
    .returningAll()
    .executeTakeFirst()
  return row ? linkOf(row) : null
}

export async function deleteSignInLinksOfUser(tx: Tx, userId: string): Promise<void> {
  await tx.deleteFrom('sign_in_links').where('user_id', '=', userId).execute()
}

export async function forgetSignInLinksBefore(tx: Tx, expiredBefore: string): Promise<void> {
  await tx.deleteFrom('sign_in_links').where('expires_at', '<', expiredBefore).execute()
}

function linkOf(row: { link_id: string; user_id: string; expires_at: string; attempts: number }): SignInLink {
  return { linkId: row.link_id, userId: row.user_id, expiresAt: row.expires_at, attempts: row.attempts }
}
