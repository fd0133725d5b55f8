import { z } from 'zod'
import type { Db, Tx } from '../db.ts'
import { recordReader } from '../record.ts'
import { environmentRecord } from './environments.ts'
import { rolloutRecord } from './rollouts.ts'

const regionRecord = recordReader<Omit<RegionEngine, 'region'>>(
  'installation',
  null,
  z.object({ engine: z.string(), plain: z.boolean(), node: z.string().optional() }),
)

/** The engine of a region, fixed since the first deployment to it. */
export interface RegionEngine {
  region: string
  engine: 'docker' | 'process' | 'kubernetes'
  /** Whether it uses the unprefixed names of the installation's first region. */
  plain: boolean
  /** The machine that runs it, where several control planes share the store. */
  node?: string | undefined
}

const prefix = 'region:'

export function listRegionEngines(db: Db): Promise<RegionEngine[]> {
  return db.read(regionEnginesIn)
}

export async function regionEnginesIn(tx: Tx): Promise<RegionEngine[]> {
  const rows = await tx
    .selectFrom('installation')
    .selectAll()
    .where('key', 'like', `${prefix}%`)
    .orderBy('key')
    .execute()
  return rows.map(({ key, value }) => ({
    region: key.slice(prefix.length),
    ...regionRecord.parse(value, key),
  }))
}

export async function saveRegionEngine(tx: Tx, { region, ...facts }: RegionEngine): Promise<void> {
  const value = JSON.stringify(facts)
  await tx
    .insertInto('installation')
    .values({ key: `${prefix}${region}`, value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
    .execute()
}

/** Names of environments with an image, volume or container there, which a change of engine would break. */
export async function environmentsDeployedIn(tx: Tx, region: string): Promise<string[]> {
  const environments = await tx.selectFrom('app_envs').select('record').orderBy('cli_env_name').execute()
  const found: string[] = []
  for (const { record } of environments) {
    const environment = environmentRecord.parse(record)
    const rollouts = await tx
      .selectFrom('rollouts')
      .select('record')
      .where('app_env_id', '=', environment.appEnvId)
      .execute()
    const isHere = environment.region === region || environment.changingRegion
    if (isHere && rolloutRecord.all(rollouts).some((rollout) => rollout.region === region)) {
      found.push(environment.cliEnvName)
    }
  }
  return found
}
