import type { Tx } from '../../store/db.ts'
import { findMembership } from '../../store/repositories/accounts.ts'
import { findFirstAccountId } from '../../store/repositories/installation.ts'

/** Operators are the admins of the first account, which the installation created. */
export async function isOperator(tx: Tx, userId: string): Promise<boolean> {
  const accountId = await findFirstAccountId(tx)
  const membership = accountId === null ? null : await findMembership(tx, accountId, userId)
  return membership?.admin ?? false
}
