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

export async function deleteIdentitiesOfUser(tx: Tx, userId: string): Promise<void> {
  await tx.deleteFrom('identities').where('user_id', '=', userId).execute()
}
