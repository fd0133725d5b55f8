import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MeteredContainer, UsageMeter } from '../../../src/regions/usage-meter.ts'
import { insertRun } from '../../../src/store/repositories/usage.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const minute = 60_000
const second = 1_000

describe('usage of containers whose meter is away', () => {
  let clock: TestClock
  let platform: TestPlatform
  beforeEach(async () => {
    clock = new TestClock()
    platform = await TestPlatform.start({ clock, reconciles: false })
  })
  afterEach(() => platform.close())

  /** That of a control plane that starts on a machine, or takes a cluster region over. */
  async function meterOf(node: string): Promise<UsageMeter> {
    const meter = new UsageMeter(platform.db, clock, platform.log, node)
    await meter.open()
    return meter
  }

  /** A container that starts now, in an environment of its own. */
  async function container(name: string): Promise<MeteredContainer> {
    const { appEnvId } = await platform.makeEnvironment()
    const startedAt = new Date(clock.wallMs()).toISOString()
    return { name, appEnvId, podId: `pod_${name}`, state: 'running', startedAt, finishedAt: null }
  }

  const look = (meter: UsageMeter, containers: MeteredContainer[], isWhole = true) =>
    meter.observe(containers, clock.wallMs(), isWhole)

  async function read(path: string, input: Record<string, unknown>) {
    return (await platform.request('GET', path, { token: platform.admin.token, input })).json
  }
  const secondsOf = async ({ appEnvId }: MeteredContainer): Promise<number> =>
    (await read('/app-env/usage', { appEnvId })).containerSeconds
  const lastCount = async ({ appEnvId }: MeteredContainer) =>
    (await read('/app-env/container-series', { appEnvId })).points.at(-1)

  it('counts up to when a machine that does not come back saw them, and adds what really ran if it does', async () => {
    const [one, two] = [await meterOf('one'), await meterOf('two')]
    const [lost, kept] = [await container('a'), await container('b')]
    await look(one, [lost])
    await clock.advance(20 * second)
    await look(one, [lost])
    await look(two, [kept])
    await clock.advance(10 * minute)
    await look(two, [kept])
    expect([await secondsOf(lost), await secondsOf(kept)], 'for ten minutes, both').toEqual([620, 620])
    await clock.advance(20 * second)
    expect([await secondsOf(lost), await secondsOf(kept)]).toEqual([20, 640])
    const account = await read('/account/usage', { accountId: platform.accountId })
    expect(account.containerSeconds).toBe(660)
    await clock.advance(30 * minute)
    await look(two, [kept])
    expect(await lastCount(lost)).toMatchObject({ least: 0, most: 0 })
    expect(await lastCount(kept)).toMatchObject({ least: 1, most: 1 })
    await look(await meterOf('one'), [lost])
    expect([await secondsOf(lost), await secondsOf(kept)]).toEqual([2440, 2440])
  })

  it('counts on in a cluster region that another control plane runs now', async () => {
    const running = await container('a')
    await look(await meterOf('region:eu'), [running])
    await clock.advance(20 * minute)
    expect(await secondsOf(running)).toBe(0)
    await look(await meterOf('region:eu'), [running])
    await clock.advance(30 * second)
    expect(await secondsOf(running)).toBe(1230)
  })

  it('counts a container on that no meter has seen yet', async () => {
    const { appEnvId, name } = await container('a')
    const run = { container: name, appEnvId, accountId: platform.accountId, zClouds: 1, rateMultiplier: 1 }
    await platform.db.write((tx) =>
      insertRun(tx, { ...run, startedMs: clock.wallMs(), finishedMs: null }, 'one'),
    )
    await clock.advance(10 * minute)
    expect((await read('/app-env/usage', { appEnvId })).containerSeconds).toBe(600)
  })

  it('counts containers on while another engine of their machine is away, and after a crash up to then', async () => {
    const meter = await meterOf('one')
    const [listed, unlisted] = [await container('a'), await container('b')]
    const seconds = async () => [await secondsOf(listed), await secondsOf(unlisted)]
    await look(meter, [listed, unlisted])
    for (let turn = 0; turn < 12; turn += 1) {
      await clock.advance(minute)
      await look(meter, [listed], false)
    }
    expect(await seconds()).toEqual([720, 0])
    await clock.advance(2 * second)
    await look(meter, [listed, unlisted])
    expect(await seconds(), 'its containers ran on').toEqual([722, 722])
    await clock.advance(minute)
    await look(meter, [listed], false)
    await clock.advance(5 * minute)
    await look(await meterOf('one'), [])
    expect(await seconds()).toEqual([782, 722])
  })
})
