import type { Tx } from '../db.ts'

const queues = { 'job-runs': 'job_runs', backups: 'backups', restores: 'restores' } as const

/** Numbers of items that wait or are in progress, by the loop that works on them. Every count reads an index. */
export async function queueLengths(tx: Tx): Promise<{ queue: string; length: number }[]> {
  const due = await tx
    .selectFrom('notifications')
    .where('status', '=', 'due')
    .select((e) => e.fn.countAll().as('length'))
    .executeTakeFirstOrThrow()
  const lengths = [{ queue: 'notifications', length: Number(due.length) }]
  for (const [queue, table] of Object.entries(queues)) {
    const { length } = await tx
      .selectFrom(table)
      .where('status', 'in', ['PENDING', 'RUNNING'])
      .select((e) => e.fn.countAll().as('length'))
      .executeTakeFirstOrThrow()
    lengths.push({ queue, length: Number(length) })
  }
  return lengths
}
