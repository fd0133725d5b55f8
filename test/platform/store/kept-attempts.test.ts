import { expect, it, onTestFinished } from 'vitest'
import type { JobAttempt } from '../../../src/domain/jobs/run.ts'
import {
  insertJobAttempt,
  insertJobRun,
  listKeptJobAttempts,
} from '../../../src/store/repositories/job-runs.ts'
import { storedRun } from '../../../testkit/jobs/stored-run.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

it('the kept container of a run belongs to the region where it ran, also after its environment has moved', async () => {
  const platform = await TestPlatform.start({ reconciles: false })
  onTestFinished(() => platform.close())
  const { db, accountId, now } = platform
  const { appEnvId } = await platform.makeEnvironment()
  const attempt: JobAttempt = {
    ...{ attemptId: 'pod_x', jobRunId: 'run_x', appEnvId, number: 1, containerName: 'x', contentId: 'dep_x' },
    ...{ state: 'ended', status: 'Succeeded', exitCode: 0, reason: null, cpuMillicores: 1, memoryMb: 1 },
    ...{ nodeName: 'n', createdAt: now, startedAt: now, finishedAt: now, kept: null },
  }
  await db.write(async (tx) => {
    await insertJobRun(tx, { ...storedRun('run_x', { appEnvId, accountId }, now), region: 'cluster' })
    await insertJobAttempt(tx, attempt)
  })
  const keptIn = async (...regions: string[]) =>
    (await db.read((tx) => listKeptJobAttempts(tx, regions))).map(({ run }) => run.jobRunId)
  expect(await keptIn(platform.region)).toEqual([])
  expect(await keptIn('cluster')).toEqual(['run_x'])
})
