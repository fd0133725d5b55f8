import { expect, it } from 'vitest'
import type { ContainerSpec } from '../../../../src/engines/engine.ts'
import { ClusterJobs } from '../../../../src/regions/kubernetes/jobs/engine.ts'
import { TestClock } from '../../../../testkit/fakes/clock.ts'

it('2.5 keeps an attempt in its list while the watch says nothing and the API server has it', async () => {
  const metadata = { name: 'report-1', namespace: 'ls-1', labels: { 'longshore.dev/attempt': 'pod_a' } }
  const running = { state: { running: { startedAt: '2026-01-05T10:00:00Z' } } }
  const objects: Record<string, object[]> = {
    Job: [{ metadata }],
    Pod: [{ metadata, status: { containerStatuses: [running] } }],
  }
  const clock = new TestClock()
  const jobs = new ClusterJobs({
    ...{ clock, installationId: 'ins_1', cache: { jobs: () => [] } },
    cluster: { list: async (kind: string) => objects[kind] } as never,
    namespaceOf: () => 'ls-1',
    claimOf: (_appEnvId, volume) => volume,
  })
  await jobs.apply({ name: 'report-1', accountId: 'acc_a', appEnvId: 'env_a' } as ContainerSpec)
  for (let round = 0; round < 2; round += 1) {
    await clock.advance(11_000)
    expect(await jobs.list()).toMatchObject([{ name: 'report-1', state: 'running' }])
  }
  objects.Job = []
  await clock.advance(11_000)
  expect(await jobs.list()).toEqual([])
})
