import type { Content, PodRecord, Rollout } from '../domain/environment.ts'
import type { Tx } from './db.ts'

export async function findContent(tx: Tx, contentId: string): Promise<Content | null> {
  const row = await tx
    .selectFrom('contents')
    .select('record')
    .where('content_id', '=', contentId)
    .executeTakeFirst()
  return row ? JSON.parse(row.record) : null
}

export async function findContentByVersion(
  tx: Tx,
  appEnvId: string,
  version: number,
): Promise<Content | null> {
  const row = await tx
    .selectFrom('contents')
    .select('record')
    .where('app_env_id', '=', appEnvId)
    .where('version', '=', version)
    .executeTakeFirst()
  return row ? JSON.parse(row.record) : null
}

export async function insertContent(tx: Tx, content: Content): Promise<void> {
  await tx
    .insertInto('contents')
    .values({
      content_id: content.contentId,
      app_env_id: content.appEnvId,
      version: content.version,
      record: JSON.stringify(content),
      created_at: content.createdAt,
    })
    .execute()
}

export async function saveContent(tx: Tx, content: Content): Promise<void> {
  await tx
    .updateTable('contents')
    .set({ record: JSON.stringify(content) })
    .where('content_id', '=', content.contentId)
    .execute()
}

export async function findRollout(tx: Tx, rolloutId: string): Promise<Rollout | null> {
  const row = await tx
    .selectFrom('rollouts')
    .select('record')
    .where('rollout_id', '=', rolloutId)
    .executeTakeFirst()
  return row ? JSON.parse(row.record) : null
}

export async function insertRollout(tx: Tx, rollout: Rollout): Promise<void> {
  await tx
    .insertInto('rollouts')
    .values({
      rollout_id: rollout.rolloutId,
      app_env_id: rollout.appEnvId,
      content_id: rollout.contentId,
      status: rollout.status,
      record: JSON.stringify(rollout),
      created_at: rollout.createdAt,
    })
    .execute()
}

export async function saveRollout(tx: Tx, rollout: Rollout): Promise<void> {
  await tx
    .updateTable('rollouts')
    .set({ status: rollout.status, record: JSON.stringify(rollout) })
    .where('rollout_id', '=', rollout.rolloutId)
    .execute()
}

export async function findPod(tx: Tx, podId: string): Promise<PodRecord | null> {
  const row = await tx.selectFrom('pods').select('record').where('pod_id', '=', podId).executeTakeFirst()
  return row ? JSON.parse(row.record) : null
}

/** Pods of an environment, newest first; `limit` bounds how far back the dead ones go. */
export async function listPods(tx: Tx, appEnvId: string, limit: number): Promise<PodRecord[]> {
  const rows = await tx
    .selectFrom('pods')
    .select('record')
    .where('app_env_id', '=', appEnvId)
    .orderBy('created_at', 'desc')
    .orderBy('pod_id', 'desc')
    .limit(limit)
    .execute()
  return rows.map((row) => JSON.parse(row.record))
}

/** Pods that are not over yet, of one environment or of all environments that exist. */
export async function listLivePods(tx: Tx, appEnvId?: string): Promise<PodRecord[]> {
  let query = tx.selectFrom('pods').select('record').where('wish', '!=', 'gone')
  query =
    appEnvId !== undefined
      ? query.where('app_env_id', '=', appEnvId)
      : query.where('app_env_id', 'in', tx.selectFrom('app_envs').select('app_env_id'))
  const rows = await query.orderBy('created_at').orderBy('pod_id').execute()
  return rows.map((row) => JSON.parse(row.record))
}

/** How many containers of an environment run and have answered. */
export async function countRunningPods(tx: Tx, appEnvId: string): Promise<number> {
  const pods = await listLivePods(tx, appEnvId)
  return pods.filter((pod) => pod.status === 'Running').length
}

export async function insertPod(tx: Tx, pod: PodRecord): Promise<void> {
  await tx
    .insertInto('pods')
    .values({
      pod_id: pod.podId,
      app_env_id: pod.appEnvId,
      rollout_id: pod.rolloutId,
      wish: pod.wish,
      record: JSON.stringify(pod),
      created_at: pod.createdAt,
    })
    .execute()
}

export async function savePod(tx: Tx, pod: PodRecord): Promise<void> {
  await tx
    .updateTable('pods')
    .set({ wish: pod.wish, record: JSON.stringify(pod) })
    .where('pod_id', '=', pod.podId)
    .execute()
}

/** Forgets records of pods that are over, but for the newest `keep` of the environment. */
export async function prunePods(tx: Tx, appEnvId: string, keep: number): Promise<void> {
  const old = await tx
    .selectFrom('pods')
    .select('pod_id')
    .where('app_env_id', '=', appEnvId)
    .where('wish', '=', 'gone')
    .orderBy('created_at', 'desc')
    .orderBy('pod_id', 'desc')
    .limit(500)
    .offset(keep)
    .execute()
  if (old.length === 0) return
  await tx
    .deleteFrom('pods')
    .where(
      'pod_id',
      'in',
      old.map((row) => row.pod_id),
    )
    .execute()
}
