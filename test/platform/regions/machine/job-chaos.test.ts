import { expect, it } from 'vitest'
import { runJobChaos } from '../../../../testkit/jobs/chaos.ts'

it('job runs: each attempt starts exactly one container, through crashes, lost answers and clock steps', async () => {
  const result = await runJobChaos({ runs: 200, crashes: 10, seed: 7 })
  expect(result).toMatchObject({ runs: 200, doubled: [], tooMany: [], overLimit: [], forgotten: [] })
  expect(result.crashes).toBe(10)
  expect(result.lostReplies).toBeGreaterThan(100)
  expect(result.clockSteps).toBeGreaterThan(3)
  for (const status of ['SUCCEEDED', 'FAILED', 'CANCELED', 'TIMED_OUT'])
    expect(result.byStatus[status], status).toBeGreaterThan(0)
})
