import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../src/config/config.ts'
import { getUser } from '../../../src/contract/users.ts'
import type { AppError } from '../../../src/errors.ts'
import { checkHandlers } from '../../../src/operations/core/check-handlers.ts'
import { RateLimit, rateLimitsOf } from '../../../src/operations/core/rate-limit.ts'
import { handlers } from '../../../src/operations/index.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'

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

describe('LONGSHORE_OAUTH', () => {
  const publicUrl = 'https://longshore.example.com'
  const issuer = 'https://login.example.com/'

  it('is off, embedded or external with an issuer', () => {
    expect(readConfig({}).oauth).toBeNull()
    expect(readConfig({ LONGSHORE_OAUTH: 'embedded' }).oauth).toEqual({ issuer: null })
    const external = { LONGSHORE_OAUTH: 'external', LONGSHORE_OAUTH_ISSUER: issuer }
    expect(readConfig(external).oauth).toEqual({ issuer })
    const open = { LONGSHORE_OAUTH: 'embedded', LONGSHORE_HOST: '0.0.0.0', LONGSHORE_PUBLIC_URL: publicUrl }
    expect(readConfig(open).oauth).toEqual({ issuer: null })
  })

  it.each([
    [{ LONGSHORE_OAUTH: 'on' }, 'LONGSHORE_OAUTH: must be off, embedded or external'],
    [{ LONGSHORE_OAUTH: 'external' }, 'external needs LONGSHORE_OAUTH_ISSUER'],
    [{ LONGSHORE_OAUTH_ISSUER: issuer }, 'needs LONGSHORE_OAUTH=external'],
    [
      { LONGSHORE_OAUTH: 'external', LONGSHORE_OAUTH_ISSUER: 'http://login.example.com' },
      'must be an https address',
    ],
    [{ LONGSHORE_OAUTH: 'embedded', LONGSHORE_HOST: '0.0.0.0' }, 'needs LONGSHORE_PUBLIC_URL'],
    [{ LONGSHORE_OAUTH: 'embedded', LONGSHORE_PUBLIC_URL: 'http://longshore.example.com' }, 'must be https'],
  ])('%j does not start', (env, details) => {
    let problem = ''
    try {
      readConfig(env)
    } catch (error) {
      problem = (error as AppError).details ?? ''
    }
    expect(problem).toContain(details)
  })
})

it('LONGSHORE_KEPT_VERSIONS is a whole number from 1 to 1000, and 10 when it is not set', () => {
  expect(readConfig({}).keptVersions).toBe(10)
  expect(readConfig({ LONGSHORE_KEPT_VERSIONS: '3' }).keptVersions).toBe(3)
  for (const LONGSHORE_KEPT_VERSIONS of ['0', '1001', '2.5', 'ten'])
    expect(() => readConfig({ LONGSHORE_KEPT_VERSIONS })).toThrow('Configuration cannot be used')
})

describe('rate limits', () => {
  it.each([
    [{}, { perSecond: 50, burst: 250 }, { perSecond: 500, burst: 2_500 }],
    [{ LONGSHORE_RATE_LIMITS: 'writes=2,reads=9' }, { perSecond: 2, burst: 10 }, { perSecond: 9, burst: 45 }],
    [{ LONGSHORE_RATE_LIMITS: 'off' }, null, null],
  ])(
    'come from the setting %j, with bursts of five seconds; wrong tokens stay limited',
    (env, writes, reads) => {
      const limits = rateLimitsOf(readConfig(env).rateLimits)
      expect(limits).toEqual({ writes, reads, failures: { perSecond: 1, burst: 100 } })
    },
  )

  it.each([
    'on',
    '50',
    'writes=50',
    'writes=0,reads=5',
    'writes=50,reads=-1',
    'writes=1.5,reads=2',
    'OFF',
    ' off',
  ])('refuse the start with the malformed setting %j', (LONGSHORE_RATE_LIMITS) => {
    expect(() => readConfig({ LONGSHORE_RATE_LIMITS })).toThrow('Configuration cannot be used')
  })

  it('set to null limit nothing', () => {
    const limit = new RateLimit(null, new TestClock())
    for (let count = 0; count < 10_000; count += 1) expect(limit.take('a')).toBe(0)
    expect(limit.keys).toBe(0)
  })

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
