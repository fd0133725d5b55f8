import { AppError } from '../../errors.ts'
import type { HeldLease } from './fence.ts'
import type { Session } from './session.ts'

/** How often an instance renews its row, and when one that did not counts as gone. By the database's clock. */
export const beatMs = 1_500
export const expiryMs = 6_000
const patienceMs = expiryMs + 3 * beatMs
const retryMs = 250

/** Milliseconds of the database's clock, in SQL. */
export const nowMs = '(extract(epoch from clock_timestamp()) * 1000)::bigint'

/** The prefix of the lease of a machine's own work; the other leases are for shared work. */
const machinePrefix = 'machine '

export function sessionName(instanceId: string): string {
  return `longshore ${instanceId}`
}

interface Joining {
  node: string
  /** Host and data directory. Their lock proves that an earlier process of the same place is gone. */
  place: string
  instanceId: string
}

/**
 * Takes the machine's row and lease. Waits for an earlier control plane of the same name to expire, and throws
 * `AppError` if it does not.
 */
export async function joinMachine(session: Session, joining: Joining): Promise<HeldLease> {
  const { node, place } = joining
  for (const endMs = performance.now() + patienceMs; ; ) {
    const [before] = await session.query<{ instance_id: string; place: string; age_ms: number }>(
      `select instance_id, place, ${nowMs} - seen_ms as age_ms from instances where node = $1`,
      [node],
    )
    if (!before || before.place === place || before.age_ms > expiryMs) {
      const lease = await replace(session, joining, before?.instance_id ?? '')
      if (lease) return lease
    }
    if (performance.now() > endMs) {
      throw new AppError('unavailable', `Another control plane serves the machine ${node}`, {
        details:
          'Each control plane of a database needs a name of its own: set LONGSHORE_NODE. If this one replaces the other, stop that one first.',
      })
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs))
  }
}

/** Null if another process was faster. */
async function replace(
  session: Session,
  { node, place, instanceId }: Joining,
  before: string,
): Promise<HeldLease | null> {
  if (before !== '') await endSessions(session, [before])
  const taken = await session.query(
    `insert into instances (node, instance_id, place, record, started_ms, seen_ms)
     values ($1, $2, $3, '', ${nowMs}, ${nowMs})
     on conflict (node) do update set instance_id = excluded.instance_id, place = excluded.place,
       started_ms = excluded.started_ms, seen_ms = excluded.seen_ms
     where instances.instance_id = $4 returning node`,
    [node, instanceId, place, before],
  )
  if (taken.length === 0) return null
  const name = `${machinePrefix}${node}`
  const [row] = await session.query<{ token: number }>(
    `insert into leases (name, instance_id, token, since_ms) values ($1, $2, 1, ${nowMs})
     on conflict (name) do update set instance_id = excluded.instance_id, token = leases.token + 1,
       since_ms = excluded.since_ms
     returning token`,
    [name, instanceId],
  )
  await session.query("update leases set instance_id = '', token = token + 1 where instance_id = $1", [
    before,
  ])
  return row ? { name, token: row.token } : null
}

/** Ends the database sessions of instances that are gone: their open transactions would block others. */
export async function endSessions(session: Session, instanceIds: readonly string[]): Promise<void> {
  if (instanceIds.length === 0) return
  await session.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = any($1) and datname = current_database() and usename = current_user`,
    [instanceIds.map(sessionName)],
  )
}
