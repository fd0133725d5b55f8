import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deleteAppEnv, getAppEnv, updateAppEnv } from '../../../src/contract/app-envs.ts'
import { listAppEnvBackups } from '../../../src/contract/backups.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { findEnvironment } from '../../../src/store/repositories/environments.ts'
import type { FakeEngine } from '../../../testkit/fakes/engine.ts'
import type { Fault } from '../../../testkit/fakes/faulty-db.ts'
import { FaultBed } from '../../../testkit/platform/fault-bed.ts'

let bed: FaultBed
beforeAll(async () => {
  bed = await FaultBed.start()
})
afterAll(() => bed.close())

/** There and back with a volume. */
async function story(): Promise<void> {
  const { engine, plainEngine, admin, accountId } = bed.platform
  const { appEnvId } = await bed.makeEnvironment({
    app: { useImage: true },
    environment: { useVolume: true },
  })
  const volumeOf = (one: FakeEngine) => one.host.volumes.get(`${appEnvId}/data`)
  const seenIn = (one: FakeEngine, other: FakeEngine) => async () => {
    const { status, changingRegion } = await admin.client.call(getAppEnv, { appEnvId })
    const running = [one, other].map(
      (engineOf) => engineOf.running().filter(({ spec }) => spec.appEnvId === appEnvId).length,
    )
    const environment = await bed.platform.db.read((tx) => findEnvironment(tx, { appEnvId }))
    const left = [volumeOf(other) ?? null, environment?.leftVolumeIn ?? null]
    return [status, changingRegion, running, volumeOf(one)?.get('note') ?? null, left]
  }
  await bed.call(deployAppEnvImage, { appEnvId, image: 'sample:1' })
  const served = ['RUNNING', false, [1, 0], null, [null, null]]
  await bed.converges('deployed', seenIn(engine, plainEngine), served)
  volumeOf(engine)?.set('note', 'kept')
  for (const [region, to, from] of [
    ['plain', plainEngine, engine],
    ['local', engine, plainEngine],
  ] as const) {
    await bed.call(updateAppEnv, { appEnvId, region })
    await bed.converges(`moved to ${region}`, seenIn(to, from), [
      'RUNNING',
      false,
      [1, 0],
      'kept',
      [null, null],
    ])
  }
  const { backups } = await admin.client.call(listAppEnvBackups, { accountId, appEnvId })
  expect(backups.map(({ status }) => status)).toEqual(['SUCCEEDED', 'SUCCEEDED'])
  await bed.call(deleteAppEnv, { appEnvId })
}

describe('3.3 a move of a volume on a store', () => {
  it.each<Fault>(['rolled-back', 'answer-lost'])(
    'of which one write fails (%s): within 10 s all is as if it had not, whichever write it was',
    async (fault) => {
      expect((await bed.playAll(fault, story)).size).toBeGreaterThan(5)
    },
    300_000,
  )

  it.each([
    ['old', 'engine'],
    ['new', 'plainEngine'],
  ] as const)('whose %s region is away is given up after five minutes', async (_which, away) => {
    const { platform } = bed
    const { engine, plainEngine, admin } = platform
    const { appEnvId } = await bed.makeEnvironment({
      app: { useImage: true },
      environment: { useVolume: true },
    })
    const seen = async () => {
      const { status, changingRegion, region } = await admin.client.call(getAppEnv, { appEnvId })
      const running = engine.running().filter(({ spec }) => spec.appEnvId === appEnvId).length
      return [status, changingRegion, region, running]
    }
    await bed.call(deployAppEnvImage, { appEnvId, image: 'sample:1' })
    await bed.converges('deployed', seen, ['RUNNING', false, 'local', 1])
    platform[away].volumes.away = true
    await bed.call(updateAppEnv, { appEnvId, region: 'plain' })
    await bed.converges('copying', seen, ['UPDATING', true, 'plain', 0])
    for (let passed = 0; passed < 300_000; passed += 10_000) await bed.clock.advance(10_000)
    await bed.converges('given up', seen, ['RUNNING', false, 'local', 1])
    engine.volumes.away = false
    plainEngine.volumes.away = false
    const left = async () =>
      (await bed.platform.db.read((tx) => findEnvironment(tx, { appEnvId })))?.leftVolumeIn
    await bed.converges('nothing left', left, undefined)
    await bed.call(deleteAppEnv, { appEnvId })
  })

  it('that carries out every transaction twice', async () => {
    bed.db.repeats = true
    await story().finally(() => {
      bed.db.repeats = false
    })
  }, 180_000)
})
