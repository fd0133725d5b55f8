import { z } from 'zod'
import { type PolicyContent, policyContent } from '../../contract/policy.ts'
import type { Usage } from '../../domain/policy/budgets.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'
import { findAccount } from './accounts.ts'

declare module '../db.ts' {
  interface Tables {
    policies: { account_id: string; revision: number; record: string }
    budget_usage: { account_id: string; key: string; record: string }
  }
}

const policyRecord = recordReader<PolicyContent>('policies', null, policyContent, { fillsIn: true })
const usageRecord = recordReader<Usage>('budget_usage', null, z.record(z.string(), z.number()))

export interface StoredPolicy {
  accountId: string
  /** 0: the account has no policy of its own. */
  revision: number
  content: PolicyContent
}

/** Null: the account has none, so everything is allowed. */
export async function findPolicy(tx: Tx, accountId: string): Promise<StoredPolicy | null> {
  const row = await tx
    .selectFrom('policies')
    .selectAll()
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  if (!row) return null
  return { accountId, revision: row.revision, content: policyRecord.parse(row.record, accountId) }
}

/** The policy of an account, also one without a row; null for an unknown account. */
export async function findPolicyOfAccount(tx: Tx, accountId: string): Promise<StoredPolicy | null> {
  if ((await findAccount(tx, accountId)) === null) return null
  return (await findPolicy(tx, accountId)) ?? { accountId, revision: 0, content: policyContent.parse({}) }
}

export async function savePolicy(tx: Tx, { accountId, content, revision }: StoredPolicy): Promise<void> {
  const row = { revision, record: JSON.stringify(content) }
  await tx
    .insertInto('policies')
    .values({ account_id: accountId, ...row })
    .onConflict((conflict) => conflict.column('account_id').doUpdateSet(row))
    .execute()
  await tx
    .updateTable('accounts')
    .set({ policy_revision: revision })
    .where('account_id', '=', accountId)
    .execute()
}

/** The used units of budgets, by key; keys that were never used are absent. */
export async function findUsage(
  tx: Tx,
  accountId: string,
  keys: readonly string[],
): Promise<Map<string, Usage>> {
  if (keys.length === 0) return new Map()
  const rows = await tx
    .selectFrom('budget_usage')
    .select(['key', 'record'])
    .where('account_id', '=', accountId)
    .where('key', 'in', keys)
    .execute()
  return new Map(rows.map(({ key, record }) => [key, usageRecord.parse(record, accountId)]))
}

/** The used units of every budget of an account, by key. */
export async function listUsage(tx: Tx, accountId: string): Promise<Map<string, Usage>> {
  const rows = await tx
    .selectFrom('budget_usage')
    .select(['key', 'record'])
    .where('account_id', '=', accountId)
    .execute()
  return new Map(rows.map(({ key, record }) => [key, usageRecord.parse(record, accountId)]))
}

export async function saveUsage(tx: Tx, accountId: string, key: string, usage: Usage): Promise<void> {
  const record = JSON.stringify(usage)
  await tx
    .insertInto('budget_usage')
    .values({ account_id: accountId, key, record })
    .onConflict((conflict) => conflict.columns(['account_id', 'key']).doUpdateSet({ record }))
    .execute()
}
