import { sql } from 'kysely'
import type { Tx } from '../db.ts'

/** The region of an environment, and the one where it serves: another one while it moves. */
export interface EnvironmentRegions {
  region: string
  serving: string
}

/**
 * SQL of the serving region. Compares both columns, because the version before `served_from` writes `other_region` only.
 * During a rolling upgrade, a volume move that the older version ends counts as in progress until the next write.
 */
export const servingRegionSql = 'case when served_from = other_region then served_from else region end'
export const servingRegion = sql.raw<string>(servingRegionSql)

/** Ids of the environments that some regions, or all, have a part of, in the order of their creation. */
export async function listEnvironmentIdsIn(tx: Tx, regions?: readonly string[]): Promise<string[]> {
  const rows = await withPartIn(tx, regions).orderBy('created_at').orderBy('app_env_id').execute()
  return rows.map((row) => row.app_env_id)
}

/** Those too that serve there until they have moved, or have left a volume there. */
function withPartIn(tx: Tx, regions?: readonly string[]) {
  const query = tx.selectFrom('app_envs').select('app_env_id')
  if (regions === undefined) return query
  const some = listed(regions)
  return query.where((e) => e.or([e('region', 'in', some), e('other_region', 'in', some)]))
}

/** PostgreSQL has no empty list; no region has this name. */
export function listed(regions: readonly string[]): string[] {
  return regions.length === 0 ? ['-'] : [...regions]
}

/** Names and accounts of all environments that serve in these regions. */
export async function listEnvironmentNamesIn(
  tx: Tx,
  regions: readonly string[],
): Promise<{ appEnvId: string; accountId: string; region: string; envName: string }[]> {
  return withPartIn(tx, regions)
    .clearSelect()
    .select(['app_env_id as appEnvId', 'account_id as accountId', 'cli_env_name as envName'])
    .select(servingRegion.as('region'))
    .where(servingRegion, 'in', listed(regions))
    .execute()
}

/** The revision of each environment that some regions have a part of, by id; `onlyIds` limits the result. */
export async function listRevisionsIn(
  tx: Tx,
  regions: readonly string[],
  onlyIds?: readonly string[],
): Promise<Map<string, number>> {
  let query = withPartIn(tx, regions).select('revision')
  if (onlyIds) query = query.where('app_env_id', 'in', [...onlyIds])
  const rows = await query.execute()
  return new Map(rows.map((row) => [row.app_env_id, row.revision]))
}

export async function regionsOfEnvironment(tx: Tx, appEnvId: string): Promise<EnvironmentRegions | null> {
  const row = await tx
    .selectFrom('app_envs')
    .select(['region', servingRegion.as('serving')])
    .where('app_env_id', '=', appEnvId)
    .executeTakeFirst()
  return row ?? null
}
