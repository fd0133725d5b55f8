import type { Remediation, RemediationRun } from '../../src/contract/remediations.ts'
import type { FakeState } from './state.ts'

type Input = Record<string, unknown>

const at = '2026-11-01T00:00:00.000Z'

function remediation(input: Input = {}): Remediation {
  return {
    remediationId: 'rem_1',
    appEnvId: 'env_1',
    accountId: 'acc_1',
    name: String(input.name ?? 'Restart'),
    trigger: { cause: 'crash-loop' },
    mode: (input.mode ?? 'observe') as Remediation['mode'],
    steps: [{ action: 'restart' }],
    notPastHumanChange: true,
    minSamples: 3,
    holdSeconds: 0,
    coolDownSeconds: 900,
    atMost: { count: 3, windowSeconds: 86_400 },
    verify: { healthyWithinSeconds: 600 },
    onFailure: 'undo',
    contactPointIds: [],
    actsFor: 'usr_1',
    problem: null,
    createdAt: at,
    updatedAt: at,
    revision: 1,
  }
}

const run: RemediationRun = {
  runId: 'rmr_1',
  remediationId: 'rem_1',
  appEnvId: 'env_1',
  episode: 'rem_1-1',
  status: 'observed',
  reason: 'Mode observe: nothing was changed; dryRun shows what the steps would have done.',
  trigger: { cause: 'crash-loop', name: 'crash-loop', startedAt: at, endedAt: null },
  mode: 'observe',
  dryRun: [{ action: 'restart', effects: ['Replaces every container with a new one.'] }],
  steps: [],
  picture: null,
  startedAt: at,
  finishedAt: at,
}

const pagination = { limit: 20, offset: 0, total: 1, hasMore: false }

/** Remediations of the fake platform: one, with one run. */
export const fakeRemediationOperations: Record<string, (state: FakeState, input: Input) => unknown> = {
  'create-remediation': (_state, input) => ({
    message: 'Remediation created',
    remediation: remediation(input),
  }),
  'update-remediation': (_state, input) => ({
    message: 'Remediation updated',
    remediation: remediation(input),
  }),
  'delete-remediation': () => ({ message: 'Remediation deleted' }),
  'toggle-remediation': (_state, { mode = 'observe' }) => ({
    message: 'Remediation changed',
    enabled: mode !== 'off',
    mode,
  }),
  'list-remediations': () => ({
    remediations: [{ ...remediation(), envName: 'hello-prod', lastRun: run }],
    pagination,
  }),
  'get-remediation': () => ({ ...remediation(), runs: [run] }),
  'list-remediation-runs': () => ({ runs: [run], pagination }),
  'get-remediation-run': () => run,
  'get-incident': (state, input) => ({
    appEnvId: state.env(input).appEnvId,
    envName: 'hello-prod',
    ...{ episodeId: 'rem_1-1', name: 'crash-loop', startedAt: at, endedAt: at, from: at, to: at },
    ...{ servingVersion: 1, findings: [], checked: ['status'], timeline: [], alerts: [], runs: [run] },
    ...{ metrics: [], logs: [], audit: [], createdAt: at },
  }),
}
