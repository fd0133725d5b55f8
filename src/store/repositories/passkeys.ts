import { z } from 'zod'
import { newId } from '../../domain/ids.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

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

/** What the authenticator gave when it was registered, and what changes with each use. */
interface PasskeyRecord {
  name: string
  /** The host for which it works: browsers offer it at no other. */
  rpId: string
  /** COSE key, as base64url. */
  publicKey: string
  /** Uses, as the authenticator counts them; 0 where it does not count. */
  counter: number
  transports: string[]
  /** Kept by a service that copies it to other devices. */
  backedUp: boolean
}

export interface Passkey extends PasskeyRecord {
  passkeyId: string
  credentialId: string
  userId: string
  createdAt: string
  usedAt: string | null
}

const record = recordReader<PasskeyRecord>(
  'passkeys',
  null,
  z.object({ name: z.string(), rpId: z.string(), publicKey: z.string(), counter: z.number() }),
)

export async function insertPasskey(
  tx: Tx,
  passkey: Omit<Passkey, 'passkeyId' | 'usedAt'>,
): Promise<Passkey> {
  const passkeyId = newId('pky')
  await tx
    .insertInto('passkeys')
    .values({
      passkey_id: passkeyId,
      credential_id: passkey.credentialId,
      user_id: passkey.userId,
      record: recordOf(passkey),
      created_at: passkey.createdAt,
      used_at: null,
    })
    .execute()
  return { ...passkey, passkeyId, usedAt: null }
}

export async function findPasskey(tx: Tx, credentialId: string): Promise<Passkey | null> {
  const row = await tx
    .selectFrom('passkeys')
    .selectAll()
    .where('credential_id', '=', credentialId)
    .executeTakeFirst()
  return row ? passkeyOf(row) : null
}

export async function listPasskeys(tx: Tx, userId: string): Promise<Passkey[]> {
  const rows = await tx
    .selectFrom('passkeys')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('passkey_id')
    .execute()
  return rows.map(passkeyOf)
}

export async function notePasskeyUse(tx: Tx, passkey: Passkey, usedAt: string): Promise<void> {
  await tx
    .updateTable('passkeys')
    .set({ record: recordOf(passkey), used_at: usedAt })
    .where('passkey_id', '=', passkey.passkeyId)
    .execute()
}

export async function deletePasskey(tx: Tx, passkeyId: string): Promise<void> {
  await tx.deleteFrom('passkeys').where('passkey_id', '=', passkeyId).execute()
}

export async function deletePasskeysOfUser(tx: Tx, userId: string): Promise<void> {
  await tx.deleteFrom('passkeys').where('user_id', '=', userId).execute()
}

/** False if the challenge was spent before: each is answered once. */
export async function spendChallenge(
  tx: Tx,
  challenge: { challengeHash: string; expiresAt: string },
): Promise<boolean> {
  const inserted = await tx
    .insertInto('spent_challenges')
    .values({ challenge_hash: challenge.challengeHash, expires_at: challenge.expiresAt })
    .onConflict((conflict) => conflict.column('challenge_hash').doNothing())
    .executeTakeFirst()
  return (inserted.numInsertedOrUpdatedRows ?? 0n) > 0n
}

export async function forgetChallengesBefore(tx: Tx, expiredBefore: string): Promise<void> {
  await tx.deleteFrom('spent_challenges').where('expires_at', '<', expiredBefore).execute()
}

function recordOf({ name, rpId, publicKey, counter, transports, backedUp }: PasskeyRecord): string {
  return JSON.stringify({ name, rpId, publicKey, counter, transports, backedUp } satisfies PasskeyRecord)
}

function passkeyOf(row: {
  passkey_id: string
  credential_id: string
  user_id: string
  record: string
  created_at: string
  used_at: string | null
}): Passkey {
  return {
    ...record.parse(row.record, row.passkey_id),
    passkeyId: row.passkey_id,
    credentialId: row.credential_id,
    userId: row.user_id,
    createdAt: row.created_at,
    usedAt: row.used_at,
  }
}
