import { expect, it, onTestFinished } from 'vitest'
import {
  listEnvironmentNamesIn,
  regionsOfEnvironment,
} from '../../../src/store/repositories/environments-in-regions.ts'
import { placeEnvironment } from '../../../testkit/platform/place-environment.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

it('an environment serves in its region, and until it has moved in the one before', async () => {
  const platform = await TestPlatform.start({ reconciles: false })
  onTestFinished(() => platform.close())
  const { db } = platform
  const { appEnvId } = await platform.makeEnvironment()
  const regions = () => db.read((tx) => regionsOfEnvironment(tx, appEnvId))
  const namesIn = async (...some: string[]) =>
    (await db.read((tx) => listEnvironmentNamesIn(tx, some))).map(({ region }) => region)

  await placeEnvironment(db, appEnvId, { region: 'eu' })
  expect(await regions()).toEqual({ region: 'eu', serving: 'eu' })
  await placeEnvironment(db, appEnvId, { region: 'eu', servedFrom: 'local' })
  expect(await regions()).toEqual({ region: 'eu', serving: 'local' })
  expect([await namesIn('eu'), await namesIn('local'), await namesIn('eu', 'local')]).toEqual([
    [],
    ['local'],
    ['local'],
  ])
  await placeEnvironment(db, appEnvId, { region: 'eu', leftVolumeIn: 'local' })
  expect(await regions()).toEqual({ region: 'eu', serving: 'eu' })
  expect([await namesIn('eu'), await namesIn('local')]).toEqual([['eu'], []])

  // During a rolling upgrade, the version before ends a move without `served_from`.
  await placeEnvironment(db, appEnvId, { region: 'eu', servedFrom: 'local' })
  await db.write((tx) =>
    tx.updateTable('app_envs').set({ other_region: null }).where('app_env_id', '=', appEnvId).execute(),
  )
  expect(await regions()).toEqual({ region: 'eu', serving: 'eu' })
  expect(await db.read((tx) => regionsOfEnvironment(tx, 'env_none'))).toBeNull()
})
