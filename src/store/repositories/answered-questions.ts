import type { Tx } from '../db.ts'

declare module '../db.ts' {
  interface Tables {
    answered_questions: { state_id: string; expires_at: string }
  }
}

/** False if the state was spent before. */
export async function spendQuestionState(tx: Tx, stateId: string, expiresAt: string): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('answered_questions')
    .values({ state_id: stateId, expires_at: expiresAt })
    .onConflict((conflict) => conflict.column('state_id').doNothing())
    .executeTakeFirstOrThrow()
  return Number(numInsertedOrUpdatedRows) === 1
}

export async function forgetAnsweredQuestionsBefore(tx: Tx, now: string): Promise<void> {
  await tx.deleteFrom('answered_questions').where('expires_at', '<=', now).execute()
}
