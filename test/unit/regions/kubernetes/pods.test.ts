import { describe, expect, it } from 'vitest'
import { runsOfPod } from '../../../../src/regions/kubernetes/pods.ts'
import type { WorkloadPod } from '../../../../src/regions/kubernetes/status.ts'

const at = (second: number) => new Date(Date.UTC(2026, 10, 1, 12, 0, second)).toISOString()
const nowMs = Date.parse(at(50))

function pod(values: { metadata?: object; status?: object; container?: object } = {}): WorkloadPod {
  const own = { name: 'app', ready: true, restartCount: 0, state: { running: { startedAt: at(10) } } }
  return {
    metadata: { name: 'db-0', namespace: 'ls-1', uid: 'u1', ...values.metadata },
    status: { containerStatuses: [{ ...own, ...values.container }], ...values.status },
  }
}
const runs = (one: WorkloadPod) =>
  runsOfPod(one, nowMs).map(({ state, startedAt, finishedAt }) => [state, startedAt, finishedAt])

describe('what ran in a pod', () => {
  it('is its container, and before a restart the one before', () => {
    expect(runs(pod())).toEqual([['running', at(10), null]])
    const lastState = { terminated: { exitCode: 1, startedAt: at(1), finishedAt: at(8) } }
    expect(runs(pod({ container: { lastState } }))).toEqual([
      ['exited', at(1), at(8)],
      ['running', at(10), null],
    ])
    expect(runs(pod({ container: { lastState, state: { waiting: {} } } }))).toEqual([
      ['exited', at(1), at(8)],
    ])
    expect(runs(pod({ container: { state: { waiting: {} } } }))).toEqual([])
  })

  it('has another name in the next pod of the same name, and after a restart', () => {
    const restarted = pod({ container: { state: { running: { startedAt: at(20) } } } })
    const names = [pod(), pod({ metadata: { uid: 'u2' } }), restarted].map(
      (one) => runsOfPod(one, nowMs)[0]?.name,
    )
    expect(new Set(names).size).toBe(3)
    expect(runsOfPod(pod(), nowMs)[0]).toMatchObject({ podId: 'pod_u1' })
  })

  it('has ended where its node is gone: at its eviction, or when it would have been killed', () => {
    const evicted = { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager' }
    const conditions = [{ ...evicted, lastTransitionTime: at(40) }]
    const metadata = { deletionTimestamp: new Date(nowMs + 45_000).toISOString() }
    expect(runs(pod({ status: { conditions }, metadata }))).toEqual([['exited', at(10), at(40)]])
    expect(runs(pod({ metadata }))).toEqual([['running', at(10), null]])
    expect(runs(pod({ metadata: { deletionTimestamp: at(30) } }))).toEqual([['exited', at(10), at(30)]])
    expect(runs(pod({ metadata: { deletionTimestamp: at(45) } }))).toEqual([['running', at(10), null]])
  })
})
