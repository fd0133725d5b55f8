import type { RestoreResponse } from '../../src/contract/backups.ts'
import type { FakeState } from './state.ts'

type Input = Record<string, unknown>

/** The one restore, which ends when a test says so. */
function restoring(state: FakeState, input: Input): RestoreResponse {
  return {
    ...{ restoreId: 'rst_1', backupId: 'bak_1', appEnvId: state.env(input).appEnvId, waitingFor: null },
    ...{ createdAt: '2026-11-01T00:00:00.000Z', ...state.restore },
  }
}

export const fakeBackupOperations = {
  'restore-app-env-backup': (state: FakeState, input: Input) => {
    const { appEnvId, name, status } = state.env(input)
    const appEnv = { appEnvId, name, status }
    return { success: true, message: 'Restoring', appEnv, restore: restoring(state, input) }
  },
  'list-app-env-backups': (state: FakeState, input: Input) => ({
    backups: [],
    restores: input.appEnvId === undefined ? [] : [restoring(state, input)],
  }),
}
