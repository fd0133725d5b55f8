import { afterEach, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../../../src/contract/app-env-reads.ts'
import { deployAppEnvImage } from '../../../../src/contract/deployments.ts'
import { TestClock } from '../../../../testkit/fakes/clock.ts'
import { FakeEngine } from '../../../../testkit/fakes/engine.ts'
import { TestPlatform } from '../../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
afterEach(() => platform.close())

/** Moves the clock on in small steps; answers how many milliseconds of it passed until the check held. */
async function passed(clock: TestClock, holds: () => boolean | Promise<boolean>): Promise<number> {
  const startMs = clock.monotonicMs()
  for (let step = 0; step < 4_000; step++) {
    if (await holds()) return clock.monotonicMs() - startMs
    await clock.advance(20)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  throw new Error('it never held')
}

it('a container that lived is started again at once, one that ends early later and later', async () => {
  const clock = new TestClock()
  const engine = new FakeEngine({ clock })
  platform = await TestPlatform.start({ engine, clock })
  const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
  const { client } = platform.admin
  await client.call(deployAppEnvImage, { appEnvId, image: 'sample:1' })
  const status = async () => (await client.call(getAppEnvStatus, { appEnvId })).containers.ready === 1
  await passed(clock, status)
  /** From the end of its container until the next one runs. */
  const crash = async () => {
    const [running] = engine.running()
    engine.crash(running?.spec.name ?? '')
    const delayMs = await passed(clock, () => engine.running().length === 1)
    await passed(clock, status)
    return delayMs
  }
  await clock.advance(60_000)
  const afterLong = [await crash()]
  const early = [await crash(), await crash(), await crash()]
  await clock.advance(60_000)
  afterLong.push(await crash())
  for (const delayMs of afterLong) expect(delayMs).toBeLessThan(1_000)
  expect(early[0]).toBeGreaterThanOrEqual(1_000)
  expect(early[1]).toBeGreaterThanOrEqual(2_000)
  expect(early[2]).toBeGreaterThanOrEqual(4_000)
})
