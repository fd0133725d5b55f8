import type { Tx } from '../db.ts'

/** Replaces the environments that `appEnvId` takes values from. */
export async function saveSources(tx: Tx, appEnvId: string, sourceIds: readonly string[]): Promise<void> {
  await tx.deleteFrom('variable_references').where('app_env_id', '=', appEnvId).execute()
  if (sourceIds.length === 0) return
  const rows = sourceIds.map((source_id) => ({ app_env_id: appEnvId, source_id }))
  await tx.insertInto('variable_references').values(rows).execute()
}

/** The environments whose variables take values from `sourceId`, in a stable order. */
export async function listDependentIds(tx: Tx, sourceId: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('variable_references')
    .select('app_env_id')
    .where('source_id', '=', sourceId)
    .orderBy('app_env_id')
    .execute()
  return rows.map((row) => row.app_env_id)
}
