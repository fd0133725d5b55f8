import type { Tx } from '../db.ts'

declare module '../db.ts' {
  interface Tables {
    identities: {
      issuer: string
      subject: string
      user_id: string
      membership_id: string | null
      created_at: string
    }
  }
}

/** A person at a provider of OpenID Connect, bound to one user. */
export interface Identity {
  issuer: string
  subject: string
  userId: string
  /** The membership that the groups of the provider decide over; null: none. */
  membershipId: string | null
}

export async function findIdentity(
  tx: Tx,
  issuer: string,
  by: { subject: string } | { userId: string },
): Promise<Identity | null> {
  const query = tx.selectFrom('identities').selectAll().where('issuer', '=', issuer)
  const row = await ('subject' in by
    ? query.where('subject', '=', by.subject)
    : query.where('user_id', '=', by.userId)
  ).executeTakeFirst()
  return row ? { issuer, subject: row.subject, userId: row.user_id, membershipId: row.membership_id } : null
}

export async function saveIdentity(tx: Tx, identity: Identity, now: string): Promise<void> {
  const { issuer, subject, userId, membershipId } = identity
  await tx
    .insertInto('identities')
    .values({ issuer, subject, user_id: userId, membership_id: membershipId, created_at: now })
    .onConflict((conflict) =>
      conflict.columns(['issuer', 'subject']).doUpdateSet({ membership_id: membershipId }),
    )
    .execute()
}

export async function deleteIdentitiesOfUser(tx: Tx, userId: string): Promise<void> {
  await tx.deleteFrom('identities').where('user_id', '=', userId).execute()
}
