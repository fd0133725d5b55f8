import type { Environment, Rollout } from '../domain/environment.ts'
import type { Db, Tx } from './db.ts'

/** What a region of this installation runs on since something was deployed to it. */
export interface RegionEngine {
  region: string
  engine: 'docker' | 'process'
  /** Whether it has the plain names of the installation's first region. */
  plain: boolean
}

const prefix = 'region:'

export async function listRegionEngines(db: Db): Promise<RegionEngine[]> {
  const rows = await db.read((tx) =>
    tx.selectFrom('installation').selectAll().where('key', 'like', `${prefix}%`).orderBy('key').execute(),
  )
  return rows.map(({ key, value }) => ({ region: key.slice(prefix.length), ...JSON.parse(value) }))
}

export async function saveRegionEngine(tx: Tx, { region, engine, plain }: RegionEngine): Promise<void> {
  const value = JSON.stringify({ engine, plain })
  await tx
    .insertInto('installation')
    .values({ key: `${prefix}${region}`, value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
    .execute()
}

/** Names of environments that have an image, a volume or a container there: those that a change of engine breaks. */
export async function environmentsDeployedIn(tx: Tx, region: string): Promise<string[]> {
  const environments = await tx.selectFrom('app_envs').select('record').orderBy('cli_env_name').execute()
  const found: string[] = []
  for (const { record } of environments) {
    const environment: Environment = JSON.parse(record)
    const rollouts = await tx
      .selectFrom('rollouts')
      .select('record')
      .where('app_env_id', '=', environment.appEnvId)
      .execute()
    const isHere = environment.region === region || environment.changingRegion
    if (isHere && rollouts.some((row) => (JSON.parse(row.record) as Rollout).region === region)) {
      found.push(environment.cliEnvName)
    }
  }
  return found
}
