import { expect, it, onTestFinished } from 'vitest'
import { regionsOfEnvironment } from '../../../src/store/repositories/environments-in-regions.ts'
import { upgradedStore } from '../../../testkit/store/upgraded-store.ts'

it('a move that is under way during an upgrade serves where it did', async () => {
  const row = (id: string, record: string) =>
    `('${id}', 'app_1', 'acc_1', '${id}', 'UPDATING', 1, 'eu', 'local', '${record}', 1, '2026-11-01T00:00:00.000Z')`
  const { db, remove } = await upgradedStore(
    'served from',
    `insert into app_envs (app_env_id, app_id, account_id, cli_env_name, status, size, region, other_region, record, revision, created_at)
     values ${row('env_moves', '{"servedFrom":"local"}')}, ${row('env_moved', '{"leftVolumeIn":"local"}')}`,
  )
  onTestFinished(remove)
  const regionsOf = (appEnvId: string) => db.read((tx) => regionsOfEnvironment(tx, appEnvId))
  expect(await regionsOf('env_moves')).toEqual({ region: 'eu', serving: 'local' })
  expect(await regionsOf('env_moved')).toEqual({ region: 'eu', serving: 'eu' })
})
