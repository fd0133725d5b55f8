import { z } from 'zod'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

declare module '../db.ts' {
  interface Tables {
    claims: { app_env_id: string; claimed_until: string; record: string }
  }
}

export interface StoredClaim {
  appEnvId: string
  /** User id. */
  by: string | null
  /** Name of the agent; null for a person. */
  agent: string | null
  /** Null for a person. */
  agentKey: string | null
  intent: string
  until: string
}

const claimRecord = recordReader<StoredClaim>(
  'claims',
  'appEnvId',
  z.object({ appEnvId: z.string(), intent: z.string(), until: z.string() }),
)

/** The claim that is on now; null: none. */
export async function findClaim(tx: Tx, appEnvId: string, now: string): Promise<StoredClaim | null> {
  const row = await tx
    .selectFrom('claims')
    .select('record')
    .where('app_env_id', '=', appEnvId)
    .where('claimed_until', '>', now)
    .executeTakeFirst()
  return claimRecord.one(row)
}

/** Replaces the claim of the environment, and forgets those that are over. */
export async function saveClaim(tx: Tx, claim: StoredClaim, now: string): Promise<void> {
  const row = { claimed_until: claim.until, record: JSON.stringify(claim) }
  await tx.deleteFrom('claims').where('claimed_until', '<=', now).execute()
  await tx
    .insertInto('claims')
    .values({ app_env_id: claim.appEnvId, ...row })
    .onConflict((conflict) => conflict.column('app_env_id').doUpdateSet(row))
    .execute()
}

export async function deleteClaim(tx: Tx, appEnvId: string): Promise<void> {
  await tx.deleteFrom('claims').where('app_env_id', '=', appEnvId).execute()
}
