import { expect, it } from 'vitest'
import { JobStressTest } from '../../../../testkit/jobs/stress-test.ts'

/** The small form of `npm run bench -- jobs`. */
it('job runs: one container an attempt, limits, bills and ends hold through real kill -9 of schedulers and engine', async () => {
  const result = await new JobStressTest({ runs: 60, kills: 8, engineKillEvery: 4, environments: 6 }).run()
  const { doubled, tooMany, overLimit, forgotten, wrong, misbilled } = result
  expect({ doubled, tooMany, overLimit, forgotten, wrong, misbilled }).toEqual({
    doubled: [],
    tooMany: [],
    overLimit: [],
    forgotten: [],
    wrong: [],
    misbilled: [],
  })
  expect(result).toMatchObject({ runs: 60, schedulerKills: 6, engineKills: 2, clockSteps: 8 })
  expect(result.attempts).toBeGreaterThanOrEqual(60)
  expect(result.lostReplies).toBeGreaterThan(20)
  expect(result.byStatus.SUCCEEDED).toBeGreaterThan(0)
})
