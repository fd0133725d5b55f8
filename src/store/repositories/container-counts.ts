import type { CountChange } from '../../domain/environments/container-counts.ts'
import type { Tx } from '../db.ts'
import { listLivePods } from './rollouts.ts'

/** The same time for which the runs of containers are kept exactly. */
const keptMs = 35 * 86_400_000

/** Records how many containers should run and are ready, if that changed; call it with every change of a pod. */
export async function noteContainerCounts(tx: Tx, appEnvId: string, nowMs: number): Promise<void> {
  const pods = (await listLivePods(tx, appEnvId)).filter(({ desiredState }) => desiredState === 'run')
  const counts = { desired: pods.length, ready: pods.filter(({ ready }) => ready).length }
  const last = await lastBefore(tx, appEnvId, Number.MAX_SAFE_INTEGER)
  // Without an earlier change, no container ran, and a deleted environment keeps no row.
  const { desired, ready } = last ?? { desired: 0, ready: 0 }
  if (desired === counts.desired && ready === counts.ready) return
  // A clock that was set back must not put the newest change before an older one.
  const atMs = Math.max(nowMs, last?.atMs ?? 0)
  await tx
    .insertInto('container_counts')
    .values({ app_env_id: appEnvId, at_ms: atMs, ...counts })
    .onConflict((conflict) => conflict.columns(['app_env_id', 'at_ms']).doUpdateSet(counts))
    .execute()
  // The last change before the kept time gives the count at its beginning.
  const oldest = await lastBefore(tx, appEnvId, nowMs - keptMs)
  if (!oldest) return
  await tx
    .deleteFrom('container_counts')
    .where('app_env_id', '=', appEnvId)
    .where('at_ms', '<', oldest.atMs)
    .execute()
}

/** Changes since a time, oldest first, after the one that counted then. */
export async function listContainerCounts(tx: Tx, appEnvId: string, fromMs: number): Promise<CountChange[]> {
  const first = await lastBefore(tx, appEnvId, fromMs)
  const rows = await tx
    .selectFrom('container_counts')
    .selectAll()
    .where('app_env_id', '=', appEnvId)
    .where('at_ms', '>', fromMs)
    .orderBy('at_ms')
    .execute()
  return [...(first ? [first] : []), ...rows.map(changeOf)]
}

async function lastBefore(tx: Tx, appEnvId: string, atMs: number): Promise<CountChange | null> {
  const row = await tx
    .selectFrom('container_counts')
    .selectAll()
    .where('app_env_id', '=', appEnvId)
    .where('at_ms', '<=', atMs)
    .orderBy('at_ms', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row ? changeOf(row) : null
}

function changeOf(row: { at_ms: number; desired: number; ready: number }): CountChange {
  // PostgreSQL returns wide integers as text.
  return { atMs: Number(row.at_ms), desired: row.desired, ready: row.ready }
}
