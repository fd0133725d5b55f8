import type { Tx } from '../db.ts'

declare module '../db.ts' {
  interface Tables {
    last_requests: { app_env_id: string; at: string }
  }
}

/** Older times tell nothing that callers ask for. */
const keptMs = 86_400_000

/** Whether one of the environments answered a request since an ISO time. */
export async function answeredSince(tx: Tx, appEnvIds: readonly string[], since: string): Promise<boolean> {
  if (appEnvIds.length === 0) return false
  const row = await tx
    .selectFrom('last_requests')
    .select('app_env_id')
    .where('app_env_id', 'in', [...appEnvIds])
    .where('at', '>', since)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Rows of deleted environments go with the old ones: the impact of a deletion needs them. */
export async function saveLastRequests(
  tx: Tx,
  noted: readonly (readonly [appEnvId: string, atMs: number])[],
  nowMs: number,
): Promise<void> {
  for (const [appEnvId, atMs] of noted) {
    const at = new Date(atMs).toISOString()
    await tx
      .insertInto('last_requests')
      .values({ app_env_id: appEnvId, at })
      .onConflict((conflict) => conflict.column('app_env_id').doUpdateSet({ at }))
      .execute()
  }
  await tx
    .deleteFrom('last_requests')
    .where('at', '<', new Date(nowMs - keptMs).toISOString())
    .execute()
}
