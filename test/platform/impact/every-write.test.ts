import { afterEach, describe, expect, it } from 'vitest'
import { calls } from '../../../testkit/impact/calls.ts'
import { ImpactDriver, writes } from '../../../testkit/impact/driver.ts'

let driver: ImpactDriver | null = null
afterEach(() => driver?.close())

describe('what the impact of a write says is what then happens', () => {
  it('has a call of every write', () => {
    expect(Object.keys(calls).sort()).toEqual(writes.map(({ id }) => id).sort())
  })

  it('in random states, in a dry run and for real', async () => {
    driver = await ImpactDriver.start()
    await driver.walk(150, Number(process.env.IMPACT_SEED ?? 1))
    expect(driver.wrong).toEqual([])
    expect(driver.done.size).toBeGreaterThan(25)
  }, 180_000)
})
