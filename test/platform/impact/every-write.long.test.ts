import { afterEach, expect, it } from 'vitest'
import { ImpactDriver, writes } from '../../../testkit/impact/driver.ts'

let driver: ImpactDriver | null = null
afterEach(() => driver?.close())

const seed = Number(process.env.IMPACT_SEED ?? 100)
const done = new Map<string, number>()
/** A probe needs a gateway, and passkeys an authenticator. */
const elsewhere = new Set(['probe-function', 'create-user-passkey', 'remove-user-passkey'])

it.each(Array.from({ length: 10 }, (_, index) => seed + index))(
  'what the impact of a write says is what then happens in 260 random states (seed %i)',
  async (each) => {
    driver = await ImpactDriver.start()
    await driver.walk(260, each)
    for (const [id, times] of driver.done) done.set(id, (done.get(id) ?? 0) + times)
    expect(driver.wrong).toEqual([])
  },
  600_000,
)

it('every write was made', () => {
  const missing = writes.filter(({ id }) => !done.has(id) && !elsewhere.has(id)).map(({ id }) => id)
  expect(missing).toEqual([])
})
