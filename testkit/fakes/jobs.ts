import type { JobRunResponse } from '../../src/contract/jobs.ts'
import { AppError } from '../../src/errors.ts'
import { change, type FakeState } from './state.ts'

type Input = Record<string, unknown>

/** Job settings and runs of the fake platform. */
export const fakeJobOperations: Record<string, (state: FakeState, input: Input) => unknown> = {
  'update-job-config': (state, input) => {
    const { appEnvId, pendingChanges, isJob } = change(state.env(input))
    if (!isJob) throw new AppError('invalid', 'Only JOB apps have job settings', { rule: 'E4' })
    const jobConfig = { command: input.command as string }
    const { applyImmediately } = input
    return {
      success: true,
      appEnv: { appEnvId, pendingChanges },
      jobConfig,
      appliedImmediately: applyImmediately,
    }
  },
  'start-job-run': (state, input) => {
    const run = fakeRun(`run_${state.nextId++}`, change(state.env(input)).appEnvId)
    const { ends } = state.runs
    state.runs.byId.set(run.jobRunId, { ...run, status: ends, exitCode: ends === 'SUCCEEDED' ? 0 : 3 })
    return { jobRun: { ...run, finishedAt: null } }
  },
  'list-job-runs': (state) => {
    const jobRuns = [...state.runs.byId.values()]
    return { jobRuns, pagination: { limit: 50, offset: 0, total: jobRuns.length, hasMore: false } }
  },
  'get-job-run': (state, input) => ({ jobRun: foundRun(state, input) }),
  'cancel-job-run': (state, input) => ({ jobRun: { ...foundRun(state, input), status: 'CANCELED' } }),
}

export function fakeRun(jobRunId: string, appEnvId: string): JobRunResponse {
  const snapshot = { image: 'job:1', contentId: 'dep_1', command: 'echo hi', args: [], shell: true }
  return {
    jobRunId,
    appEnvId,
    status: 'PENDING',
    attempt: 1,
    snapshot: { ...snapshot, workingDir: null, timeoutSeconds: 1800, backoffLimit: 0 },
    trigger: { userId: 'usr_1', tokenKind: 'user' },
    createdAt: '2026-11-01T00:00:00.000Z',
    startedAt: null,
    finishedAt: '2026-11-01T00:00:05.000Z',
    exitCode: null,
    reason: null,
  }
}

function foundRun(state: FakeState, input: Input): JobRunResponse {
  const run = state.runs.byId.get(String(input.jobRunId))
  if (!run) throw new AppError('not-found', 'Job run not found')
  return run
}
