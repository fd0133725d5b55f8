import type { Tx } from '../db.ts'

/** The first account of the installation; null before the first start. */
export async function findFirstAccountId(tx: Tx): Promise<string | null> {
  const row = await tx
    .selectFrom('installation')
    .select('value')
    .where('key', '=', 'accountId')
    .executeTakeFirst()
  return row?.value ?? null
}
