import { afterEach, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../../../src/contract/app-env-reads.ts'
import { deployAppEnvImage } from '../../../../src/contract/deployments.ts'
import { FakeEngine } from '../../../../testkit/fakes/engine.ts'
import { SettledClock } from '../../../../testkit/platform/settled-clock.ts'
import { TestPlatform } from '../../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
afterEach(() => platform.close())

it('a container that lived is started again at once, one that ends early later and later', async () => {
  const clock = new SettledClock()
  const engine = new FakeEngine({ clock: clock.clock })
  platform = await TestPlatform.start({ engine, clock: clock.clock, wrapDb: clock.wrapDb })
  clock.drive(platform)
  const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
  const { client } = platform.admin
  await client.call(deployAppEnvImage, { appEnvId, image: 'sample:1' })
  const status = async () => (await client.call(getAppEnvStatus, { appEnvId })).containers.ready === 1
  await clock.passed(status, 'a ready container')
  /** From the end of its container until the next one runs. */
  const crash = async () => {
    const [running] = engine.running()
    engine.crash(running?.spec.name ?? '')
    const delayMs = await clock.passed(() => engine.running().length === 1, 'the next container')
    await clock.passed(status, 'a ready container')
    return delayMs
  }
  await clock.clock.advance(60_000)
  const afterLong = [await crash()]
  const early = [await crash(), await crash(), await crash()]
  await clock.clock.advance(60_000)
  afterLong.push(await crash())
  for (const delayMs of afterLong) expect(delayMs).toBeLessThan(1_000)
  expect(early[0]).toBeGreaterThanOrEqual(1_000)
  expect(early[1]).toBeGreaterThanOrEqual(2_000)
  expect(early[2]).toBeGreaterThanOrEqual(4_000)
})
