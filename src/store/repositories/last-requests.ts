import type { Tx } from '../db.ts'

declare module '../db.ts' {
  interface Tables {
    last_requests: { app_env_id: string; at: string }
  }
}

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
