import type { Generated } from 'kysely'
import type { Tx } from '../db.ts'
import { insertRemovals } from './removals.ts'

declare module '../db.ts' {
  interface Tables {
    uploads: {
      upload_id: string
      app_env_id: string
      secret_hash: string
      extension: string
      state: 'requested' | 'uploaded' | 'used'
      expires_at: string
      created_at: string
      claim: string | null
      claim_node: string | null
      claimed_until: string | null
      /** A waiting approval names the upload. */
      kept_until: Generated<string | null>
    }
  }
}

export interface Upload {
  uploadId: string
  appEnvId: string
  extension: '.tgz' | '.tar.gz' | '.zip'
  state: 'requested' | 'uploaded' | 'used'
  expiresAt: string
}

export async function insertUpload(
  tx: Tx,
  upload: Upload,
  secretHash: string,
  createdAt: string,
): Promise<void> {
  await tx
    .insertInto('uploads')
    .values({
      upload_id: upload.uploadId,
      app_env_id: upload.appEnvId,
      secret_hash: secretHash,
      extension: upload.extension,
      state: upload.state,
      expires_at: upload.expiresAt,
      created_at: createdAt,
    })
    .execute()
}

export async function findUpload(
  tx: Tx,
  by: { uploadId: string } | { secretHash: string },
): Promise<Upload | null> {
  const query = tx.selectFrom('uploads').selectAll()
  const row = await ('uploadId' in by
    ? query.where('upload_id', '=', by.uploadId)
    : query.where('secret_hash', '=', by.secretHash)
  ).executeTakeFirst()
  return row
    ? {
        uploadId: row.upload_id,
        appEnvId: row.app_env_id,
        extension: row.extension as Upload['extension'],
        state: row.state,
        expiresAt: row.expires_at,
      }
    : null
}

/** One transfer of an upload at one control plane. */
interface Claim {
  token: string
  node: string
  until: string
}

/**
 * Reserves a requested upload for one transfer; false if another control plane has it. Transfers of the same node are
 * over: it has restarted, or has let them go.
 */
export async function claimUpload(tx: Tx, uploadId: string, now: string, claim: Claim): Promise<boolean> {
  const result = await tx
    .updateTable('uploads')
    .set({ claim: claim.token, claim_node: claim.node, claimed_until: claim.until })
    .where('upload_id', '=', uploadId)
    .where('state', '=', 'requested')
    .where((e) =>
      e.or([e('claim', 'is', null), e('claim_node', '=', claim.node), e('claimed_until', '<=', now)]),
    )
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Renews a claim, gives it back or completes the upload; false if the transfer has lost its claim. */
export async function changeClaimed(
  tx: Tx,
  uploadId: string,
  token: string,
  change: { claimed_until: string } | { claim: null } | { state: 'uploaded' },
): Promise<boolean> {
  const result = await tx
    .updateTable('uploads')
    .set(change)
    .where('upload_id', '=', uploadId)
    .where('state', '=', 'requested')
    .where('claim', '=', token)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Changes an upload's state; false if it was not in the expected state, so each step happens once. */
export async function moveUpload(
  tx: Tx,
  uploadId: string,
  from: Upload['state'],
  to: Upload['state'],
): Promise<boolean> {
  const result = await tx
    .updateTable('uploads')
    .set({ state: to })
    .where('upload_id', '=', uploadId)
    .where('state', '=', from)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Upload addresses of an environment created since a time and not deployed yet. */
export async function countUnusedUploads(tx: Tx, appEnvId: string, since: string): Promise<number> {
  const counted = await tx
    .selectFrom('uploads')
    .select((e) => e.fn.countAll().as('uploads'))
    .where('app_env_id', '=', appEnvId)
    .where('state', '!=', 'used')
    .where('created_at', '>', since)
    .executeTakeFirstOrThrow()
  return Number(counted.uploads)
}

/** Keeps an upload that a waiting approval names. */
export async function keepUpload(tx: Tx, uploadId: string, until: string): Promise<void> {
  await tx.updateTable('uploads').set({ kept_until: until }).where('upload_id', '=', uploadId).execute()
}

/** Deletes all undeployed uploads of an environment except the newest, and stores that their files go. */
export async function keepNewestUnused(tx: Tx, appEnvId: string, most: number, now: string): Promise<void> {
  const rows = await tx
    .selectFrom('uploads')
    .select('upload_id')
    .where('app_env_id', '=', appEnvId)
    .where('state', '!=', 'used')
    .where((e) => e.or([e('kept_until', 'is', null), e('kept_until', '<=', now)]))
    .orderBy('created_at', 'desc')
    .orderBy('upload_id')
    .execute()
  await deleteUploads(
    tx,
    rows.slice(most).map((row) => row.upload_id),
  )
}

/** Deletes uploads that were never deployed, and stores that their files go. */
export async function forgetUnusedUploads(tx: Tx, createdBefore: string, now: string): Promise<void> {
  const rows = await tx
    .selectFrom('uploads')
    .select('upload_id')
    .where('state', '!=', 'used')
    .where('created_at', '<', createdBefore)
    .where((e) => e.or([e('kept_until', 'is', null), e('kept_until', '<=', now)]))
    .execute()
  await deleteUploads(
    tx,
    rows.map((row) => row.upload_id),
  )
}

/** Environments with more than `most` deployed uploads. */
export async function listEnvironmentsWithSources(tx: Tx, most: number): Promise<string[]> {
  const rows = await tx
    .selectFrom('uploads')
    .select('app_env_id')
    .where('state', '=', 'used')
    .groupBy('app_env_id')
    .having((e) => e.fn.countAll(), '>', most)
    .execute()
  return rows.map((row) => row.app_env_id)
}

export async function listDeployedUploads(tx: Tx, appEnvId: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('uploads')
    .select('upload_id')
    .where('app_env_id', '=', appEnvId)
    .where('state', '=', 'used')
    .execute()
  return rows.map((row) => row.upload_id)
}

/** Stores that their files go. */
export async function deleteUploads(tx: Tx, uploadIds: readonly string[]): Promise<void> {
  for (let at = 0; at < uploadIds.length; at += 500) {
    const some = uploadIds.slice(at, at + 500)
    const rows = await tx
      .selectFrom('uploads')
      .leftJoin('app_envs', 'app_envs.app_env_id', 'uploads.app_env_id')
      .select(['upload_id', 'region'])
      .where('upload_id', 'in', some)
      .execute()
    const files = rows.map((row) => ({ subject: `uploads/${row.upload_id}`, region: row.region ?? '' }))
    await insertRemovals(
      tx,
      files.map((file) => ({ kind: 'file', ...file })),
    )
    await tx.deleteFrom('uploads').where('upload_id', 'in', some).execute()
  }
}

export async function deleteUploadsOf(tx: Tx, appEnvId: string): Promise<void> {
  const rows = await tx.selectFrom('uploads').select('upload_id').where('app_env_id', '=', appEnvId).execute()
  await deleteUploads(
    tx,
    rows.map((row) => row.upload_id),
  )
}

/** Every upload whose file must be kept. */
export async function listUploadIds(tx: Tx): Promise<string[]> {
  const rows = await tx.selectFrom('uploads').select('upload_id').execute()
  return rows.map((row) => row.upload_id)
}
