import type { Db } from '../../src/store/db.ts'

const tables = [
  'audit_log',
  'app_envs',
  'apps',
  'contact_points',
  'alerts',
  'memberships',
  'job_runs',
] as const

/** All stored state that a tool's write can change; entries of refused calls are no change. */
export async function storedState(db: Db): Promise<string> {
  const rows = await db.read((tx) =>
    Promise.all(tables.map((table) => tx.selectFrom(table).selectAll().execute())),
  )
  const changes = rows.map((table) => table.filter((row) => !('outcome' in row) || row.outcome !== 'refused'))
  return JSON.stringify(changes)
}
