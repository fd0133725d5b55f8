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

/** All stored state that a tool's write can change. */
export async function storedState(db: Db): Promise<string> {
  const rows = await db.read((tx) =>
    Promise.all(tables.map((table) => tx.selectFrom(table).selectAll().execute())),
  )
  return JSON.stringify(rows)
}
