import { expect, it } from 'vitest'
import { runJobChaos } from '../../../../testkit/jobs/chaos.ts'

it('job runs: each attempt starts exactly one container, through crashes, lost answers and clock steps', async () => {
  const result = await runJobChaos({ runs: 100, crashes: 6, seed: 7 })
  expect(result).toMatchObject({ runs: 100, doubled: [], tooMany: [], overLimit: [], forgotten: [] })
  expect(result.crashes).toBe(6)
  expect(result.lostReplies).toBeGreaterThan(50)
  expect(result.clockSteps).toBeGreaterThan(1)
  expect(Object.keys(result.byStatus).sort()).toEqual(['CANCELED', 'FAILED', 'SUCCEEDED', 'TIMED_OUT'])
})
