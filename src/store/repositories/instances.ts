import type { Tx } from '../db.ts'

/** Seen at most this long before the one that was seen last: an instance beats every 1.5 seconds. */
const recentMs = 6_000

/** Machines whose control plane runs and encrypts with another data key; none where the store is not shared. */
export async function nodesWithoutKey(tx: Tx, keyId: string): Promise<string[]> {
  const rows = await tx.selectFrom('instances').select(['node', 'record', 'seen_ms']).execute()
  const newestMs = Math.max(0, ...rows.map((row) => row.seen_ms))
  return rows
    .filter((row) => row.seen_ms > Math.max(0, newestMs - recentMs))
    .filter((row) => !row.record.includes(`"dataKey":"${keyId}"`))
    .map((row) => row.node)
}
