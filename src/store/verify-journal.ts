import type { Tx } from './db.ts'
import { hashOfEntry } from './journal.ts'

export interface ChainReport {
  /** Null for what belongs to no account. */
  accountId: string | null
  entries: number
  /** Hash of the newest entry: kept elsewhere, it shows later that nothing up to it was cut off. */
  head: string
  /** The first entry that does not fit; null when the chain is whole. */
  broken: { entryId: string; why: string } | null
}

const pageSize = 500

/** Follows the chain of each account from its first entry. `expectedHeads` must still be in a chain. */
export async function verifyJournal(
  tx: Tx,
  expectedHeads: readonly string[] = [],
): Promise<{ chains: ChainReport[]; missingHeads: string[] }> {
  const chains = new Map<string | null, ChainReport>()
  const missing = new Set(expectedHeads)
  let after = 0
  for (;;) {
    const rows = await tx
      .selectFrom('journal')
      .selectAll()
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(pageSize)
      .execute()
    for (const row of rows) {
      const chain = chains.get(row.account_id) ?? startOf(row.account_id)
      chains.set(row.account_id, chain)
      chain.broken ??= faultOf(row, chain.head)
      chain.entries += 1
      chain.head = row.hash
      missing.delete(row.hash)
    }
    if (rows.length < pageSize) break
    after = rows.at(-1)?.seq ?? after
  }
  return { chains: [...chains.values()], missingHeads: [...missing] }
}

function startOf(accountId: string | null): ChainReport {
  return { accountId, entries: 0, head: '', broken: null }
}

function faultOf(
  row: Parameters<typeof hashOfEntry>[0] & { hash: string },
  head: string,
): ChainReport['broken'] {
  // Entries from before there were hashes come first and hang on nothing.
  if (row.hash === '' && head === '') return null
  if (row.previous_hash !== head) {
    return { entryId: row.entry_id, why: 'the entry before it was removed, added or put elsewhere' }
  }
  if (hashOfEntry(row) !== row.hash)
    return { entryId: row.entry_id, why: 'it was changed after it was written' }
  return null
}
