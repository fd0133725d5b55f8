import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { deepCopy } from '../../domain/deep-copy.ts'
import type { Environment, Settings, StoredVariable } from '../../domain/environments/environment.ts'
import { Pacer } from '../../pacer.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

const settings = z.object({
  zClouds: z.number(),
  containers: z.number(),
  // Variables are not checked one by one: lists read a hundred of these.
  envVars: z.custom(Array.isArray),
})

const storedRecord = recordReader<StoredEnvironment>(
  'app_envs',
  'appEnvId',
  z.object({
    appEnvId: z.string(),
    appId: z.string(),
    accountId: z.string(),
    cliEnvName: z.string(),
    region: z.string(),
    status: z.string(),
    desiredState: z.enum(['running', 'stopped']),
    saved: settings,
    applied: settings,
    wantedRolloutId: z.string().nullable(),
    currentRolloutId: z.string().nullable(),
    nextVersion: z.number(),
    revision: z.number(),
  }),
)

/** As stored: an applied variable that is the same as the saved one is reduced to its name, which halves most records. */
type StoredEnvironment = Omit<Environment, 'applied' | 'labels' | 'protected'> & {
  /** Absent in rows of an earlier version. */
  labels?: string[]
  protected?: boolean

  applied: Omit<Settings, 'envVars'> & { envVars: (StoredVariable | Pick<StoredVariable, 'name'>)[] }
}

export const environmentRecord = {
  parse(text: string): Environment {
    const stored = storedRecord.parse(text)
    const saved = new Map(stored.saved.envVars.map((one) => [one.name, one]))
    const envVars = stored.applied.envVars.map((one) =>
      'value' in one ? one : deepCopy(saved.get(one.name)!),
    )
    const { labels = [], protected: isProtected = false } = stored
    return { ...stored, labels, protected: isProtected, applied: { ...stored.applied, envVars } }
  },
}

function recordText(environment: Environment): string {
  const { saved, applied } = environment
  const known = new Map(saved.envVars.map((one) => [one.name, one]))
  const envVars = applied.envVars.map((one) =>
    isDeepStrictEqual(one, known.get(one.name)) ? { name: one.name } : one,
  )
  return JSON.stringify({ ...environment, applied: { ...applied, envVars } } satisfies StoredEnvironment)
}

export async function findEnvironment(
  tx: Tx,
  ref: { appEnvId?: string | undefined; envName?: string | undefined },
): Promise<Environment | null> {
  const query = tx.selectFrom('app_envs').select('record')
  const row = await (ref.appEnvId !== undefined
    ? query.where('app_env_id', '=', ref.appEnvId)
    : query.where('cli_env_name', '=', ref.envName ?? '')
  ).executeTakeFirst()
  if (!row) return null
  const found = environmentRecord.parse(row.record)
  // Callers read several in a row, such as all environments that a variable refers to.
  await new Pacer().after(row.record.length)
  return found
}

/**
 * Stable order: by creation, then id. `onlyIds` limits the result to environments that a restricted member may see (M1),
 * `limit` to the first of them.
 */
export async function listEnvironments(
  tx: Tx,
  of: { accountId: string } | { appId: string } | 'installation',
  onlyIds?: readonly string[] | null,
  limit?: number,
): Promise<Environment[]> {
  if (onlyIds) return (await listNamed(tx, of, onlyIds)).slice(0, limit)
  let query = tx.selectFrom('app_envs').select('record')
  if (limit !== undefined) query = query.limit(limit)
  if (of !== 'installation') {
    query =
      'accountId' in of ? query.where('account_id', '=', of.accountId) : query.where('app_id', '=', of.appId)
  }
  return parsed(await query.orderBy('created_at').orderBy('app_env_id').execute())
}

/** A record may have megabytes, so yield to the event loop between them. */
async function parsed(rows: readonly { record: string }[]): Promise<Environment[]> {
  const found: Environment[] = []
  const pacer = new Pacer()
  for (const row of rows) {
    found.push(environmentRecord.parse(row.record))
    await pacer.after(row.record.length)
  }
  return found
}

/** Queried by id only: with the account in the query, the database would scan the whole account to get the order. */
async function listNamed(
  tx: Tx,
  of: { accountId: string } | { appId: string } | 'installation',
  ids: readonly string[],
): Promise<Environment[]> {
  if (ids.length === 0) return []
  const rows = await tx
    .selectFrom('app_envs')
    .select('record')
    .where('app_env_id', 'in', [...ids])
    .execute()
  const rank = ({ createdAt, appEnvId }: Environment) => `${createdAt} ${appEnvId}`
  return (await parsed(rows))
    .filter(
      (one) =>
        of === 'installation' ||
        ('accountId' in of ? one.accountId === of.accountId : one.appId === of.appId),
    )
    .sort((a, b) => (rank(a) < rank(b) ? -1 : 1))
}

/** Ids, app and account of environments, without their records. */
export async function listEnvironmentIds(
  tx: Tx,
  of: { appId: string } | { accountId: string },
): Promise<{ appEnvId: string; appId: string }[]> {
  const query = tx.selectFrom('app_envs').select(['app_env_id', 'app_id'])
  const rows = await ('appId' in of
    ? query.where('app_id', '=', of.appId)
    : query.where('account_id', '=', of.accountId)
  ).execute()
  return rows.map((row) => ({ appEnvId: row.app_env_id, appId: row.app_id }))
}

/** In a statement. */
const mostIds = 500

/** Those of `appEnvIds` that exist. */
export async function findEnvironmentIds(tx: Tx, appEnvIds: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (let from = 0; from < appEnvIds.length; from += mostIds) {
    const some = appEnvIds.slice(from, from + mostIds)
    const rows = await tx
      .selectFrom('app_envs')
      .select('app_env_id')
      .where('app_env_id', 'in', some)
      .execute()
    found.push(...rows.map((row) => row.app_env_id))
  }
  return found
}

export async function hasEnvironments(tx: Tx, appId: string): Promise<boolean> {
  const row = await tx
    .selectFrom('app_envs')
    .select('app_env_id')
    .where('app_id', '=', appId)
    .executeTakeFirst()
  return row !== undefined
}

export async function environmentNameTaken(tx: Tx, cliEnvName: string): Promise<boolean> {
  const row = await tx
    .selectFrom('app_envs')
    .select('app_env_id')
    .where('cli_env_name', '=', cliEnvName)
    .executeTakeFirst()
  return row !== undefined
}

/** zClouds of the account's other environments, as counted for the account's limit. */
export async function accountSize(tx: Tx, accountId: string, exceptAppEnvId: string | null): Promise<number> {
  const row = await tx
    .selectFrom('app_envs')
    .select((e) => e.fn.sum<number>('size').as('size'))
    .where('account_id', '=', accountId)
    .where('app_env_id', '!=', exceptAppEnvId ?? '')
    .executeTakeFirst()
  return Number(row?.size ?? 0)
}

/** zClouds of one environment, as counted for the account's limit. */
export async function storedSize(tx: Tx, appEnvId: string): Promise<number> {
  const query = tx.selectFrom('app_envs').select('size').where('app_env_id', '=', appEnvId)
  return Number((await query.executeTakeFirst())?.size ?? 0)
}

export async function insertEnvironment(tx: Tx, environment: Environment, size: number): Promise<void> {
  await tx
    .insertInto('app_envs')
    .values({
      app_env_id: environment.appEnvId,
      app_id: environment.appId,
      account_id: environment.accountId,
      cli_env_name: environment.cliEnvName,
      status: environment.status,
      size,
      region: environment.region,
      other_region: otherRegionOf(environment),
      served_from: environment.servedFrom ?? null,
      record: recordText(environment),
      revision: environment.revision,
      created_at: environment.createdAt,
    })
    .execute()
}

function otherRegionOf({ servedFrom, leftVolumeIn }: Environment): string | null {
  return leftVolumeIn ?? servedFrom ?? null
}

/** Writes the whole record; keeps `size` if it is omitted. */
export async function saveEnvironment(tx: Tx, environment: Environment, size?: number): Promise<void> {
  await tx
    .updateTable('app_envs')
    .set({
      status: environment.status,
      region: environment.region,
      other_region: otherRegionOf(environment),
      served_from: environment.servedFrom ?? null,
      record: recordText(environment),
      revision: environment.revision,
      ...(size === undefined ? {} : { size }),
    })
    .where('app_env_id', '=', environment.appEnvId)
    .execute()
}
