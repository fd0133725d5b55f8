import type { Tx } from '../db.ts'
import { entryOf, type StoredAuditEntry } from './audit.ts'

/** What a run of a remediation did, by its steps and by the agent that it called; oldest first. */
export async function listEntriesOfRun(tx: Tx, runId: string): Promise<StoredAuditEntry[]> {
  const rows = await tx
    .selectFrom('audit_log')
    .selectAll()
    .where('remediation_run_id', '=', runId)
    .where('outcome', '=', 'done')
    // Changes that follow from another one have no impact of their own.
    .where('impact', 'is not', null)
    .orderBy('seq')
    .execute()
  return rows.map(entryOf)
}

/** The newest change of an object since a time that belongs to no remediation and not to the platform. */
export async function lastChangeByOthers(
  tx: Tx,
  { type, id }: { type: 'app-env' | 'alert'; id: string },
  since: string,
): Promise<Pick<StoredAuditEntry, 'at' | 'operation' | 'principal' | 'entryId'> | null> {
  const row = await tx
    .selectFrom('audit_log')
    .select(['at', 'operation', 'principal', 'entry_id'])
    .where('object_id', '=', id)
    .where('object_type', '=', type)
    .where('outcome', '=', 'done')
    .where('at', '>', since)
    .where('remediation_run_id', 'is', null)
    .where((e) => e.or([e('principal', 'like', 'usr_%'), e('principal', 'like', 'env_%')]))
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row
    ? { at: row.at, operation: row.operation, principal: row.principal, entryId: row.entry_id }
    : null
}

const mostRecent = 20

/** The latest changes of an object since a time, newest first. */
export async function listRecentChanges(
  tx: Tx,
  { objectType, objectId, since }: { objectType: string; objectId: string; since: string },
): Promise<StoredAuditEntry[]> {
  const rows = await tx
    .selectFrom('audit_log')
    .selectAll()
    .where('object_id', '=', objectId)
    .where('object_type', '=', objectType)
    .where('outcome', '=', 'done')
    .where('at', '>=', since)
    .orderBy('seq', 'desc')
    .limit(mostRecent)
    .execute()
  return rows.map(entryOf)
}
