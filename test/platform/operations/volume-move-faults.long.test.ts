import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deleteAppEnv, getAppEnv, updateAppEnv } from '../../../src/contract/app-envs.ts'
import { listAppEnvBackups } from '../../../src/contract/backups.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { findEnvironment } from '../../../src/store/repositories/environments.ts'
import type { FakeEngine } from '../../../testkit/fakes/engine.ts'
import type { Fault } from '../../../testkit/fakes/faulty-db.ts'
import { FaultFixture } from '../../../testkit/platform/fault-fixture.ts'

let fixture: FaultFixture
beforeAll(async () => {
  fixture = await FaultFixture.start()
})
afterAll(() => fixture.close())

/** There and back with a volume. */
async function scenario(): Promise<void> {
  const { engine, plainEngine, admin, accountId } = fixture.platform
  const { appEnvId } = await fixture.makeEnvironment({
    app: { useImage: true },
    environment: { useVolume: true },
  })
  const volumeOf = (one: FakeEngine) => one.host.volumes.get(`${appEnvId}/data`)
  const seenIn = (one: FakeEngine, other: FakeEngine) => async () => {
    const { status, changingRegion } = await admin.client.call(getAppEnv, { appEnvId })
    const running = [one, other].map(
      (engineOf) => engineOf.running().filter(({ spec }) => spec.appEnvId === appEnvId).length,
    )
    const environment = await fixture.platform.db.read((tx) => findEnvironment(tx, { appEnvId }))
    const left = [volumeOf(other) ?? null, environment?.leftVolumeIn ?? null]
    return [status, changingRegion, running, volumeOf(one)?.get('note') ?? null, left]
  }
  await fixture.call(deployAppEnvImage, { appEnvId, image: 'sample:1' })
  const served = ['RUNNING', false, [1, 0], null, [null, null]]
  await fixture.converges('deployed', seenIn(engine, plainEngine), served)
  volumeOf(engine)?.set('note', 'kept')
  for (const [region, to, from] of [
    ['plain', plainEngine, engine],
    ['local', engine, plainEngine],
  ] as const) {
    await fixture.call(updateAppEnv, { appEnvId, region })
    await fixture.converges(`moved to ${region}`, seenIn(to, from), [
      'RUNNING',
      false,
      [1, 0],
      'kept',
      [null, null],
    ])
  }
  const { backups } = await admin.client.call(listAppEnvBackups, { accountId, appEnvId })
  expect(backups.map(({ status }) => status)).toEqual(['SUCCEEDED', 'SUCCEEDED'])
  await fixture.call(deleteAppEnv, { appEnvId })
}

describe('3.3 a move of a volume on a store', () => {
  it.each<Fault>(['rolled-back', 'answer-lost'])(
    'of which one write fails (%s): within 10 s all is as if it had not, whichever write it was',
    async (fault) => {
      expect((await fixture.failEachWrite(fault, scenario)).size).toBeGreaterThan(5)
    },
    300_000,
  )

  it.each([
    ['old', 'engine'],
    ['new', 'plainEngine'],
  ] as const)('whose %s region is away is given up after five minutes', async (_which, away) => {
    const { platform } = fixture
    const { engine, plainEngine, admin } = platform
    const { appEnvId } = await fixture.makeEnvironment({
      app: { useImage: true },
      environment: { useVolume: true },
    })
    const seen = async () => {
      const { status, changingRegion, region } = await admin.client.call(getAppEnv, { appEnvId })
      const running = engine.running().filter(({ spec }) => spec.appEnvId === appEnvId).length
      return [status, changingRegion, region, running]
    }
    await fixture.call(deployAppEnvImage, { appEnvId, image: 'sample:1' })
    await fixture.converges('deployed', seen, ['RUNNING', false, 'local', 1])
    platform[away].volumes.away = true
    await fixture.call(updateAppEnv, { appEnvId, region: 'plain' })
    await fixture.converges('copying', seen, ['UPDATING', true, 'plain', 0])
    for (let passed = 0; passed < 300_000; passed += 10_000) await fixture.clock.advance(10_000)
    await fixture.converges('given up', seen, ['RUNNING', false, 'local', 1])
    engine.volumes.away = false
    plainEngine.volumes.away = false
    const left = async () =>
      (await fixture.platform.db.read((tx) => findEnvironment(tx, { appEnvId })))?.leftVolumeIn
    await fixture.converges('nothing left', left, undefined)
    await fixture.call(deleteAppEnv, { appEnvId })
  })

  it('that carries out every transaction twice', async () => {
    fixture.db.repeats = true
    await scenario().finally(() => {
      fixture.db.repeats = false
    })
  }, 180_000)
})
