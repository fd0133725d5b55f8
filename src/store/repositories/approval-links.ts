import { z } from 'zod'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

declare module '../db.ts' {
  interface Tables {
    approval_links: {
      link_id: string
      approval_id: string
      user_id: string
      review_digest: string
      expires_at: string
      created_at: string
      /** As JSON, as rotations of keys expect sealed values. */
      sealed: string
      mail: string
      attempts: number
      next_at: string
      used_at: string | null
    }
  }
}

/** Everything that the signature of a link covers. */
export interface ApprovalLink {
  linkId: string
  approvalId: string
  userId: string
  reviewDigest: string
  expiresAt: string
}

export interface StoredLink extends ApprovalLink {
  sealedKey: string
  attempts: number
  usedAt: string | null
}

const sealedRecord = recordReader<{ key: string }>('approval_links', null, z.object({ key: z.string() }))

export async function insertApprovalLink(
  tx: Tx,
  link: ApprovalLink & { sealedKey: string },
  createdAt: string,
): Promise<void> {
  await tx
    .insertInto('approval_links')
    .values({
      link_id: link.linkId,
      approval_id: link.approvalId,
      user_id: link.userId,
      review_digest: link.reviewDigest,
      expires_at: link.expiresAt,
      created_at: createdAt,
      sealed: JSON.stringify({ key: link.sealedKey }),
      mail: 'due',
      attempts: 0,
      next_at: createdAt,
      used_at: null,
    })
    .execute()
}

export async function findApprovalLink(tx: Tx, linkId: string): Promise<StoredLink | null> {
  const row = await tx
    .selectFrom('approval_links')
    .selectAll()
    .where('link_id', '=', linkId)
    .executeTakeFirst()
  return row ? linkOf(row) : null
}

/** False if it was used meanwhile. */
export async function takeApprovalLink(tx: Tx, linkId: string, now: string): Promise<boolean> {
  const taken = await tx
    .updateTable('approval_links')
    .set({ used_at: now })
    .where('link_id', '=', linkId)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return taken.numUpdatedRows === 1n
}

/** Links of an approval: the people who get a mail about it. */
export async function countLinksOfApproval(tx: Tx, approvalId: string): Promise<number> {
  const { count } = await tx
    .selectFrom('approval_links')
    .select((e) => e.fn.countAll().as('count'))
    .where('approval_id', '=', approvalId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function countLinksOfUser(tx: Tx, userId: string, since: string): Promise<number> {
  const { count } = await tx
    .selectFrom('approval_links')
    .select((e) => e.fn.countAll().as('count'))
    .where('user_id', '=', userId)
    .where('created_at', '>', since)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Links whose mail is due, longest waiting first. */
export async function listDueLinks(tx: Tx, now: string, limit: number): Promise<StoredLink[]> {
  const rows = await tx
    .selectFrom('approval_links')
    .selectAll()
    .where('mail', '=', 'due')
    .where('next_at', '<=', now)
    .orderBy('next_at')
    .limit(limit)
    .execute()
  return rows.map(linkOf)
}

export async function recordMail(
  tx: Tx,
  linkId: string,
  attempt: { mail: 'due' | 'sent' | 'dropped'; attempts: number; nextAt: string },
): Promise<void> {
  const { mail, attempts, nextAt } = attempt
  await tx
    .updateTable('approval_links')
    .set({ mail, attempts, next_at: nextAt })
    .where('link_id', '=', linkId)
    .execute()
}

export async function deleteLinksOfUser(tx: Tx, userId: string): Promise<void> {
  await tx.deleteFrom('approval_links').where('user_id', '=', userId).execute()
}

export async function forgetLinksBefore(tx: Tx, expiredBefore: string): Promise<void> {
  await tx.deleteFrom('approval_links').where('expires_at', '<', expiredBefore).execute()
}

function linkOf(row: {
  link_id: string
  approval_id: string
  user_id: string
  review_digest: string
  expires_at: string
  sealed: string
  attempts: number
  used_at: string | null
}): StoredLink {
  return {
    linkId: row.link_id,
    approvalId: row.approval_id,
    userId: row.user_id,
    reviewDigest: row.review_digest,
    expiresAt: row.expires_at,
    sealedKey: sealedRecord.parse(row.sealed, row.link_id).key,
    attempts: row.attempts,
    usedAt: row.used_at,
  }
}
