import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { warmUp } from '../../../src/gateway/workers/warm-up.ts'
import { untilRead } from '../../../testkit/until.ts'

const open = () =>
  process
    .getActiveResourcesInfo()
    .filter((name) => /TCP|Timeout/.test(name))
    .sort()

describe('warming up the gateway', () => {
  it('leaves no port, connection or timer behind, also when it is done twice at once', async () => {
    const before = open()
    await Promise.all([warmUp(systemClock), warmUp(systemClock)])
    await untilRead(
      async () => open().length,
      (count) => count <= before.length,
      `what was open before: ${before}`,
      5_000,
    )
  })

  it('runs whole requests: what they run through is called', async () => {
    const { RequestScheduler } = await import('../../../src/gateway/routing/request-scheduler.ts')
    const statuses = new Map<number, number>()
    const { answered } = RequestScheduler.prototype
    RequestScheduler.prototype.answered = function (status, ms) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      answered.call(this, status, ms)
    }
    try {
      await warmUp(systemClock)
    } finally {
      RequestScheduler.prototype.answered = answered
    }
    expect(statuses.get(200)).toBeGreaterThanOrEqual(200)
    expect([...statuses.keys()].every((status) => status === 200 || status === 503)).toBe(true)
  })
})
