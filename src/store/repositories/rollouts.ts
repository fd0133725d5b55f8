import { z } from 'zod'
import type { Content, PodRecord, Rollout } from '../../domain/environments/environment.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

const contentRecord = recordReader<Content>(
  'contents',
  'contentId',
  z.object({
    contentId: z.string(),
    appEnvId: z.string(),
    version: z.number(),
    type: z.enum(['BUILD', 'IMAGE']),
    images: z.record(z.string(), z.string()),
    removedImages: z.record(z.string(), z.string()).optional(),
  }),
)

export const rolloutRecord = recordReader<Rollout>(
  'rollouts',
  'rolloutId',
  z.object({
    rolloutId: z.string(),
    appEnvId: z.string(),
    contentId: z.string(),
    region: z.string(),
    version: z.number(),
    status: z.enum(['BUILDING', 'DEPLOYING', 'DEPLOYED', 'FAILED']),
    settings: z.object({ zClouds: z.number(), containers: z.number() }),
  }),
)

const podRecord = recordReader<PodRecord>(
  'pods',
  'podId',
  z.object({
    podId: z.string(),
    name: z.string(),
    appEnvId: z.string(),
    rolloutId: z.string(),
    contentId: z.string(),
    region: z.string(),
    desiredState: z.enum(['run', 'end', 'gone']),
    restartCount: z.number(),
  }),
)

export async function findContent(tx: Tx, contentId: string): Promise<Content | null> {
  const row = await tx
    .selectFrom('contents')
    .select('record')
    .where('content_id', '=', contentId)
    .executeTakeFirst()
  return contentRecord.one(row)
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
  return contentRecord.one(row)
}

/** Every version of an environment, oldest first. */
export async function listContents(tx: Tx, appEnvId: string): Promise<Content[]> {
  const rows = await tx
    .selectFrom('contents')
    .select('record')
    .where('app_env_id', '=', appEnvId)
    .orderBy('version')
    .execute()
  return contentRecord.all(rows)
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
  return rolloutRecord.one(row)
}

/** The state of every rollout of an environment. */
export async function listRolloutStates(
  tx: Tx,
  appEnvId: string,
): Promise<Pick<Rollout, 'rolloutId' | 'contentId' | 'status'>[]> {
  const rows = await tx
    .selectFrom('rollouts')
    .select(['rollout_id', 'content_id', 'status'])
    .where('app_env_id', '=', appEnvId)
    .execute()
  return rows.map((row) => ({
    rolloutId: row.rollout_id,
    contentId: row.content_id,
    status: row.status as Rollout['status'],
  }))
}

/** The last rollout of a content that was deployed, or the last one when none was. */
export async function findRolloutOfContent(tx: Tx, content: Content): Promise<Rollout | null> {
  const query = tx
    .selectFrom('rollouts')
    .select('record')
    .where('app_env_id', '=', content.appEnvId)
    .where('content_id', '=', content.contentId)
    .orderBy('created_at', 'desc')
    .orderBy('rollout_id', 'desc')
    .limit(1)
  const row =
    (await query.where('status', '=', 'DEPLOYED').executeTakeFirst()) ?? (await query.executeTakeFirst())
  return rolloutRecord.one(row)
}

/** The rollout that was deployed last of those that passed their stability window. */
export async function findLastGoodRollout(
  tx: Tx,
  appEnvId: string,
  exceptContentId?: string,
): Promise<Rollout | null> {
  const row = await tx
    .selectFrom('rollouts')
    .select('record')
    .where('app_env_id', '=', appEnvId)
    .where('status', '=', 'DEPLOYED')
    .$if(exceptContentId !== undefined, (query) => query.where('content_id', '!=', exceptContentId!))
    .orderBy('created_at', 'desc')
    .orderBy('rollout_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return rolloutRecord.one(row)
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
  return podRecord.one(row)
}

/** Pods of an environment, newest first. */
export async function listPods(tx: Tx, appEnvId: string, limit: number): Promise<PodRecord[]> {
  const rows = await tx
    .selectFrom('pods')
    .select('record')
    .where('app_env_id', '=', appEnvId)
    .orderBy('created_at', 'desc')
    .orderBy('pod_id', 'desc')
    .limit(limit)
    .execute()
  return podRecord.all(rows)
}

/** Unfinished pods, of one environment or of all environments that exist. */
export async function listLivePods(tx: Tx, appEnvId?: string): Promise<PodRecord[]> {
  let query = tx.selectFrom('pods').select('record').where('desired_state', '!=', 'gone')
  query =
    appEnvId !== undefined
      ? query.where('app_env_id', '=', appEnvId)
      : query.where('app_env_id', 'in', tx.selectFrom('app_envs').select('app_env_id'))
  const rows = await query.orderBy('created_at').orderBy('pod_id').execute()
  return podRecord.all(rows)
}

/** Containers of an account that should run. */
export async function listDesiredPods(tx: Tx, accountId: string): Promise<PodRecord[]> {
  const rows = await tx
    .selectFrom('app_envs')
    .innerJoin('pods', 'pods.app_env_id', 'app_envs.app_env_id')
    .select('pods.record')
    .where('app_envs.account_id', '=', accountId)
    .where('pods.desired_state', '=', 'run')
    .execute()
  return podRecord.all(rows)
}

/** How many running containers of an environment have accepted a connection. */
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
      desired_state: pod.desiredState,
      record: JSON.stringify(pod),
      created_at: pod.createdAt,
    })
    .execute()
}

export async function savePod(tx: Tx, pod: PodRecord): Promise<void> {
  await tx
    .updateTable('pods')
    .set({ desired_state: pod.desiredState, record: JSON.stringify(pod) })
    .where('pod_id', '=', pod.podId)
    .execute()
}

/** Deletes records of finished pods except the newest `keep` of the environment. */
export async function prunePods(tx: Tx, appEnvId: string, keep: number): Promise<void> {
  const old = await tx
    .selectFrom('pods')
    .select('pod_id')
    .where('app_env_id', '=', appEnvId)
    .where('desired_state', '=', 'gone')
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
