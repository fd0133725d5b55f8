import type { Tx } from '../db.ts'

/** Reserves `count` free ports for the environment; null if there are too few. */
export async function claimDatabasePorts(
  tx: Tx,
  appEnvId: string,
  candidates: readonly number[],
  count: number,
): Promise<number[] | null> {
  if (count === 0) return []
  const taken = await tx
    .selectFrom('database_ports')
    .select('port')
    .where('port', 'in', [...candidates])
    .execute()
  const used = new Set(taken.map((row) => Number(row.port)))
  const ports = candidates.filter((port) => !used.has(port)).slice(0, count)
  if (ports.length < count) return null
  const rows = ports.map((port) => ({ port, app_env_id: appEnvId }))
  await tx.insertInto('database_ports').values(rows).execute()
  return ports
}
