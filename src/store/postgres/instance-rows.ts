import { z } from 'zod'
import type { InstanceFacts, KnownInstance } from '../membership.ts'
import { recordReader } from '../record.ts'
import { expiryMs, nowMs } from './join-machine.ts'
import type { Session } from './session.ts'

const factsRecord = recordReader<InstanceFacts>(
  'instances',
  null,
  z.object({
    version: z.string(),
    address: z.string(),
    regions: z.array(z.looseObject({ region: z.string() })),
  }),
)
export interface InstanceRow {
  node: string
  instance_id: string
  record: string
  started_ms: number
  seen_ms: number
  age_ms: number
}

export interface LeaseRow {
  name: string
  instance_id: string
  token: number
  since_ms: number
}

export async function readInstances(session: Session): Promise<{ rows: InstanceRow[]; leases: LeaseRow[] }> {
  const rows = await session.query<InstanceRow>(
    `select *, ${nowMs} - seen_ms as age_ms from instances order by node`,
  )
  return { rows, leases: await session.query<LeaseRow>('select * from leases order by name') }
}

/** Those of an instance that has described itself. */
export function regionsOf({ record, node }: InstanceRow): string[] {
  return record === '' ? [] : factsRecord.parse(record, node).regions.map(({ region }) => region)
}

/** Not one that has not described itself yet. */
export function knownInstance(row: InstanceRow, leases: readonly LeaseRow[]): KnownInstance[] {
  if (row.record === '') return []
  return [
    {
      ...factsRecord.parse(row.record, row.node),
      node: row.node,
      isAlive: row.age_ms <= expiryMs,
      startedAtMs: row.started_ms,
      lastSeenAtMs: row.seen_ms,
      leases: leases
        .filter((lease) => lease.instance_id === row.instance_id)
        .map(({ name, since_ms }) => ({ name, sinceMs: since_ms })),
    },
  ]
}
