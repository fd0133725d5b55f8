import type { Tx } from '../db.ts'
import { listed } from './environments-in-regions.ts'

declare module '../db.ts' {
  interface Tables {
    removals: Removal
  }
}

/**
 * Something outside the store that a deleted row owned. Written in the transaction that deletes the row and ended once it
 * is gone, so that a crash in between loses nothing.
 */
interface Removal {
  /** `environment`: containers, images, volumes, logs and measurements in a region. `file`: of an upload or a backup. */
  kind: 'environment' | 'file'
  /** Id of the environment, or key of the file. */
  subject: string
  /** Where it is; empty: in the files of any control plane. */
  region: string
}

export async function insertRemovals(tx: Tx, removals: readonly Removal[]): Promise<void> {
  for (let at = 0; at < removals.length; at += 300)
    await tx
      .insertInto('removals')
      .values(removals.slice(at, at + 300))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
}

/** Absent regions: all. */
export function listRemovals(
  tx: Tx,
  of: { kind?: Removal['kind']; regions?: readonly string[] | undefined },
) {
  let query = tx.selectFrom('removals').selectAll()
  if (of.kind !== undefined) query = query.where('kind', '=', of.kind)
  if (of.regions !== undefined) query = query.where('region', 'in', listed([...of.regions, '']))
  return query.orderBy('subject').execute()
}

/** The ids of deleted environments that may have left something in these regions. */
export async function listDeletedEnvironments(tx: Tx, regions?: readonly string[]): Promise<string[]> {
  const found = await listRemovals(tx, { kind: 'environment', regions })
  return [...new Set(found.map(({ subject }) => subject))]
}

export async function endRemoval(
  tx: Tx,
  { kind, subject }: Pick<Removal, 'kind' | 'subject'>,
  regions?: readonly string[],
): Promise<void> {
  let query = tx.deleteFrom('removals').where('kind', '=', kind).where('subject', '=', subject)
  if (regions !== undefined) query = query.where('region', 'in', listed([...regions, '']))
  await query.execute()
}
