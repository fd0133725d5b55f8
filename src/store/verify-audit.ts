import type { Tx } from './db.ts'
import { hashOfEntry } from './repositories/audit.ts'
import { type AuditHead, listHeads } from './repositories/audit-heads.ts'
import type { SecretBox } from './secrets/secret-box.ts'

export interface ChainReport {
  /** Null for entries without an account. */
  accountId: string | null
  entries: number
  /** Hash of the newest entry. Stored elsewhere, it proves later that no entry up to it was removed. */
  head: string
  /**
   * The first entry that does not match, or the last one if later entries are missing; null if the chain is intact.
   */
  broken: { entryId: string; why: string } | null
  /** A remark about an intact chain; usually null. */
  note: string | null
}

interface Chain extends ChainReport {
  lastEntryId: string
}

const pageSize = 500

/**
 * Verifies the chain of each account from its first entry to its sealed head. `expectedHeads` must still be in a
 * chain. Without `secrets` the heads are not checked, and truncation is not detected.
 */
export async function verifyAudit(
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
      .selectFrom('audit_log')
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
  // Entries from before hashes were introduced come first and have none.
  if (row.hash === '' && head === '') return null
  if (row.previous_hash !== head) {
    return { entryId: row.entry_id, why: 'the entry before it was removed, inserted or moved' }
  }
  if (hashOfEntry(row) !== row.hash)
    return { entryId: row.entry_id, why: 'it was changed after it was written' }
  return null
}

function compareHead(chain: Chain, head: AuditHead | null | undefined): void {
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
        ? 'the sealed head does not match the chain: the entries were rewritten'
        : 'the sealed head of the chain is missing or cannot be opened: entries after it may have been cut off'
  chain.broken = { entryId: chain.lastEntryId, why }
}
