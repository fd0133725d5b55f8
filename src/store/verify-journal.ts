import type { Tx } from './db.ts'
import { hashOfEntry } from './journal.ts'
import { type JournalHead, listHeads } from './journal-heads.ts'
import type { SecretBox } from './secret-box.ts'

export interface ChainReport {
  /** Null for what belongs to no account. */
  accountId: string | null
  entries: number
  /** Hash of the newest entry: kept elsewhere, it shows later that nothing up to it was cut off. */
  head: string
  /** The first entry that does not fit, or the last one when what came after it is gone; null: the chain is whole. */
  broken: { entryId: string; why: string } | null
  /** Something to know of a whole chain; null mostly. */
  note: string | null
}

interface Chain extends ChainReport {
  lastEntryId: string
}

const pageSize = 500

/**
 * Follows the chain of each account from its first entry to its sealed head. `expectedHeads` must still be in a
 * chain. Without `secrets` the heads are not looked at, and a cut at the end is not found.
 */
export async function verifyJournal(
  tx: Tx,
  expectedHeads: readonly string[] = [],
  secrets: SecretBox | null = null,
): Promise<{ chains: ChainReport[]; missingHeads: string[] }> {
  const missing = new Set(expectedHeads)
  const chains = await followChains(tx, missing)
  if (secrets) {
    const heads = await listHeads(tx, secrets)
    for (const accountId of heads.keys()) {
      if (!chains.has(accountId)) chains.set(accountId, startOf(accountId))
    }
    for (const chain of chains.values()) compareHead(chain, heads.get(chain.accountId))
  }
  const reports = [...chains.values()].map(({ lastEntryId: _, ...report }) => report)
  return { chains: reports, missingHeads: [...missing] }
}

async function followChains(tx: Tx, missing: Set<string>): Promise<Map<string | null, Chain>> {
  const chains = new Map<string | null, Chain>()
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
      chain.lastEntryId = row.entry_id
      missing.delete(row.hash)
    }
    if (rows.length < pageSize) return chains
    after = rows.at(-1)?.seq ?? after
  }
}

function startOf(accountId: string | null): Chain {
  return { accountId, entries: 0, head: '', broken: null, note: null, lastEntryId: '(none)' }
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

function compareHead(chain: Chain, head: JournalHead | null | undefined): void {
  if (head && head.entriesBefore > 0) {
    chain.note = `sealed from entry ${head.entriesBefore + 1} on: an older version wrote the others, or the head was removed`
  }
  if (chain.broken) return
  if (head && head.hash === chain.head && head.entries === chain.entries) return
  const cut = head && head.entries > chain.entries ? head.entries - chain.entries : 0
  const why =
    cut > 0
      ? `${cut} ${cut === 1 ? 'entry' : 'entries'} after it ${cut === 1 ? 'was' : 'were'} cut off`
      : head
        ? 'the sealed head of the chain is another: the entries were written anew'
        : 'the sealed head of the chain is gone or does not open: entries after it may have been cut off'
  chain.broken = { entryId: chain.lastEntryId, why }
}
