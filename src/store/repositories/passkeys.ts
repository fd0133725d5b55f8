import type { Tx } from '../db.ts'

declare module '../db.ts' {
  interface Tables {
    passkeys: {
      passkey_id: string
      credential_id: string
      user_id: string
      record: string
      created_at: string
      used_at: string | null
    }
    spent_challenges: { challenge_hash: string; expires_at: string }
  }
}

export async function deletePasskeysOfUser(tx: Tx, userId: string): Promise<void> {
  await tx.deleteFrom('passkeys').where('user_id', '=', userId).execute()
}
