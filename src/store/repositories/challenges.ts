import { z } from 'zod'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

declare module '../db.ts' {
  interface Tables {
    acme_challenges: { domain: string; token: string; created_at: string; record: string }
  }
}

/** What gateways show to a certificate authority under a domain. */
export type StoredChallenge = { domain: string } & (
  | { type: 'http-01'; token: string; keyAuthorization: string }
  | { type: 'tls-alpn-01'; chain: string; key: string }
)

const challengeRecord = recordReader<StoredChallenge>(
  'acme_challenges',
  'domain',
  z.object({ domain: z.string(), type: z.string() }),
)

export async function listChallenges(tx: Tx): Promise<StoredChallenge[]> {
  const rows = await tx
    .selectFrom('acme_challenges')
    .select('record')
    .orderBy('domain')
    .orderBy('token')
    .execute()
  return challengeRecord.all(rows)
}

export async function saveChallenge(tx: Tx, challenge: StoredChallenge, at: string): Promise<void> {
  const row = { created_at: at, record: JSON.stringify(challenge) }
  const token = challenge.type === 'http-01' ? challenge.token : challenge.type
  await tx
    .insertInto('acme_challenges')
    .values({ domain: challenge.domain, token, ...row })
    .onConflict((conflict) => conflict.columns(['domain', 'token']).doUpdateSet(row))
    .execute()
}

export async function deleteChallenges(tx: Tx, domain: string): Promise<void> {
  await tx.deleteFrom('acme_challenges').where('domain', '=', domain).execute()
}
