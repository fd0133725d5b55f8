import type { Tx } from '../db.ts'
import { lastBackup } from './backups.ts'

interface Wanted {
  operation: string
  appEnvId: string
  /** ISO time; later successes do not count. */
  until: string
}

/** When an operation last succeeded on an environment; null: never. A backup succeeds when it is complete. */
export async function lastSuccess(tx: Tx, { operation, appEnvId, until }: Wanted): Promise<string | null> {
  if (operation === 'create-app-env-backup') return lastBackup(tx, appEnvId, until)
  const row = await tx
    .selectFrom('audit_log')
    .select('at')
    .where('object_id', '=', appEnvId)
    .where('operation', '=', operation)
    .where('outcome', '=', 'done')
    .where('at', '<=', until)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.at ?? null
}
