import { describe, expect, it } from 'vitest'
import { getUser } from '../../src/contract/users.ts'
import { checkHandlers } from '../../src/operations/check-handlers.ts'
import { handlers } from '../../src/operations/index.ts'
import { RateLimit } from '../../src/operations/rate-limit.ts'
import { TestClock } from '../fakes/test-clock.ts'

describe('the start', () => {
  it('is refused with a row that has no policy or no handler', () => {
    const one = handlers.find(({ operation }) => operation.id === 'get-user')!
    expect(checkHandlers([one], [getUser]).size).toBe(1)
    expect(() => checkHandlers([], [getUser])).toThrow('no handler carries out get-user')
    const open = { ...getUser, policy: undefined } as never
    expect(() => checkHandlers([one], [open])).toThrow('states no policy')
    expect(() => checkHandlers([one], [])).toThrow('no row of the contract')
    expect(() => checkHandlers([one, one], [getUser])).toThrow('two handlers')
  })
})

describe('rate limits', () => {
  it('let a burst through, then the rate, by key, and say how long to wait', async () => {
    const clock = new TestClock()
    const limit = new RateLimit({ perSecond: 2, burst: 3 }, clock)
    expect([1, 2, 3].map(() => limit.take('a'))).toEqual([0, 0, 0])
    expect(limit.take('a')).toBe(0.5)
    expect(limit.take('b')).toBe(0)
    await clock.advance(500)
    expect(limit.take('a')).toBe(0)
    expect(limit.take('a')).toBeGreaterThan(0)
    // A step of the wall clock gives nothing away.
    clock.stepWall(3_600_000)
    expect(limit.take('a')).toBeGreaterThan(0)
  })
})
