import { expect, it } from 'vitest'
import type { RateLimit } from '../../../src/operations/core/rate-limit.ts'
import { RateSharing } from '../../../src/operations/core/rate-sharing.ts'
import type { Spent } from '../../../src/store/membership.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'

const rate = { perSecond: 40, burst: 200 }

/** Instances that hear each other, and what they report. */
function instances(count: number) {
  const clock = new TestClock()
  const reports: Spent[] = []
  const all: { sharing: RateSharing; limit: RateLimit }[] = []
  for (let nth = 0; nth < count; nth += 1) {
    const sharing: RateSharing = new RateSharing(clock, (spent) => {
      reports.push(spent)
      for (const other of all) if (other.sharing !== sharing) other.sharing.spent(spent)
    })
    all.push({ sharing, limit: sharing.limit('writes', rate) })
  }
  return { clock, reports, limits: all.map(({ limit }) => limit) }
}

it.each([1, 2, 4])('a caller has the limit once over %i instances', async (count) => {
  const { clock, limits } = instances(count)
  let through = 0
  for (let tick = 0; tick < 2_000; tick += 1) {
    // 100 calls a second, in turn to each.
    if (limits[tick % count]!.take('a') === 0) through += 1
    await clock.advance(10)
  }
  const allowed = rate.burst + 20 * rate.perSecond
  expect(through).toBeGreaterThan(allowed * 0.9)
  expect(through).toBeLessThan(allowed * 1.1)
})

it('a caller is limited on an instance that it never used before', async () => {
  const { clock, limits } = instances(2)
  while (limits[0]!.take('a') === 0);
  await clock.advance(250)
  const left = rate.perSecond / 4
  let through = 0
  while (limits[1]!.take('a') === 0) through += 1
  expect(through).toBeLessThanOrEqual(left)
  expect(limits[1]!.take('b')).toBe(0)
})

it('quiet callers are not reported, nor anything between calls', async () => {
  const { clock, reports, limits } = instances(2)
  for (let second = 0; second < 20; second += 1) {
    limits[0]!.take('a')
    await clock.advance(1_000)
  }
  expect(reports).toEqual([])
  for (let calls = 0; calls < 30; calls += 1) limits[0]!.take('a')
  await clock.advance(250)
  expect(reports).toEqual([[['writes', 'a', 30]]])
  await clock.advance(60_000)
  expect(reports).toHaveLength(1)
})

it('a debt is at most one burst, and a name that only another version knows changes nothing', async () => {
  const { clock, limits } = instances(1)
  const sharing = new RateSharing(clock, () => {})
  const limit = sharing.limit('writes', rate)
  sharing.spent([
    ['writes', 'a', 1_000_000],
    ['another', 'a', 5],
  ])
  expect(limit.take('a')).toBeGreaterThan(0)
  await clock.advance((1000 * (rate.burst + 1)) / rate.perSecond)
  expect(limit.take('a')).toBe(0)
  expect(limits[0]!.take('a')).toBe(0)
})

it('a limit that is off counts and reports nothing', async () => {
  const clock = new TestClock()
  const reports: Spent[] = []
  const sharing = new RateSharing(clock, (spent) => reports.push(spent))
  const limit = sharing.limit('reads', null)
  for (let calls = 0; calls < 1_000; calls += 1) expect(limit.take('a')).toBe(0)
  await clock.advance(1_000)
  expect(reports).toEqual([])
})
