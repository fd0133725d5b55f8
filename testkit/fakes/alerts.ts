import type { Alert } from '../../src/contract/alerts.ts'
import type { FakeState } from './state.ts'

type Input = Record<string, unknown>

const at = '2026-11-01T00:00:00.000Z'

function contactPoint(name: unknown = 'Ops') {
  return {
    contactPointId: 'cp_1',
    name: String(name),
    type: 'webhook' as const,
    accountId: 'acc_1',
    monitoringDeployments: [{ region: 'local', monitoringContactPointUid: 'local-cp_1' }],
    createdAt: at,
    updatedAt: at,
    revision: 1,
  }
}

function alert(input: Input = {}): Alert {
  return {
    alertId: 'alr_1',
    appEnvId: 'env_1',
    accountId: 'acc_1',
    name: String(input.name ?? 'Busy'),
    description: '',
    metric: (input.metric ?? 'cpu_percent') as Alert['metric'],
    operator: 'gt',
    threshold: 80,
    duration: '5m',
    aggregation: 'mean',
    queryRange: '10m',
    contactPointIds: ['cp_1'],
    contactPoints: [{ contactPointId: 'cp_1', name: 'Ops', type: 'webhook' }],
    enabled: true,
    lastKnownState: 'Normal',
    lastStateCheck: at,
    region: 'local',
    createdAt: at,
    updatedAt: at,
    revision: 1,
  }
}

/** Contact points and alerts of the fake platform: one of each. */
export const fakeAlertOperations: Record<string, (state: FakeState, input: Input) => unknown> = {
  'list-contact-points': () => ({ contactPoints: [contactPoint()] }),
  'get-contact-point': () => contactPoint(),
  'create-contact-point': (_state, input) => ({
    message: 'Contact point created',
    contactPoint: contactPoint(input.name),
  }),
  'update-contact-point': (_state, input) => ({
    message: 'Contact point updated',
    contactPoint: contactPoint(input.name),
  }),
  'delete-contact-point': () => ({ message: 'Contact point deleted' }),
  'test-contact-point': () => ({
    delivered: false,
    attempts: [{ at, ok: false, reason: 'it answered 500' }],
  }),
  'list-alerts': () => ({ alerts: [alert()] }),
  'get-alert': () => ({
    ...alert(),
    currentValue: 12,
    unit: '%',
    stateHistory: [{ from: 'Normal', to: 'Pending', at, value: 90 }],
    notifications: [{ at, contactPointId: 'cp_1', ok: true }],
  }),
  'create-alert': (state, input) => {
    state.env(input)
    return { message: 'Alert created', alert: alert(input) }
  },
  'update-alert': (_state, input) => ({ message: 'Alert updated', alert: alert(input) }),
  'delete-alert': () => ({ message: 'Alert deleted' }),
  'toggle-alert': (_state, input) => ({ message: 'Alert paused', enabled: input.enabled }),
  'refresh-alert': () => ({ state: 'Firing', previousState: 'Pending', lastStateCheck: at }),
}
