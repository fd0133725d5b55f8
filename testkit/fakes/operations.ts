import type { AppEnv } from '../../src/contract/app-envs.ts'
import type { FunctionConfig } from '../../src/contract/function-config.ts'
import { AppError } from '../../src/errors.ts'
import { fakeAlertOperations } from './alerts.ts'
import { fakeApp } from './apps.ts'
import { fakeBackupOperations } from './backups.ts'
import { fakeJobOperations } from './jobs.ts'
import { fakeRemediationOperations } from './remediations.ts'
import { change, type FakeEnv, type FakeState } from './state.ts'

type Input = Record<string, unknown>
type FakeOperation = (state: FakeState, input: Input, token: string) => unknown

/** The fake's implementation of each row, with the state that tests need. */
export const fakeOperations: Record<string, FakeOperation> = {
  ...fakeAlertOperations,
  ...fakeBackupOperations,
  ...fakeJobOperations,
  ...fakeRemediationOperations,
  'list-accounts': (state) => ({ accounts: [state.account] }),
  'list-regions': () => ({
    regions: [
      {
        region: 'local',
        name: 'This machine',
        functionDomain: 'fn.localhost',
        engine: 'fake',
        isolation: { metadataBlocked: false },
        available: true,
        capabilities: {
          ...{ functions: true, apps: true, jobs: true, builds: true, autoscaling: true, volumes: true },
          databases: [],
        },
      },
    ],
  }),
  'create-app': (state) => ({ appId: `app_${state.nextId++}` }),
  'get-app': (_state, input) => fakeApp(String(input.appId)),
  'update-app': (_state, input) => ({ message: 'App changed', app: fakeApp(String(input.appId)) }),
  'list-apps': () => ({ apps: [fakeApp('app_1')] }),
  'create-app-env': (state, input) => ({
    appEnvId: state.add({ name: String(input.name), status: 'STOPPED', currentVersion: null, hosts: [] })
      .appEnvId,
  }),
  // The name contains the caller, so that a test detects mixed-up responses.
  'get-app-env': (state, input, token) => {
    const env = read(state.env(input))
    return state.envs.has(`mirror-${token}`) ? { ...env, name: token } : env
  },
  'update-app-env': (state, input) => {
    const env = change(state.env(input))
    if (Array.isArray(input.envVars)) {
      env.envVars = input.envVars.map((variable, index) => ({ ...variable, _id: `var_${index}` }))
    }
    if (typeof input.region === 'string') Object.assign(env, { region: input.region, changingRegion: true })
    return { appEnvId: env.appEnvId }
  },
  'create-user-token': () => ({ tokenId: 'tok_1', token: 'lsu_local_agent', expiresAt: null }),
  'revoke-user-token': () => ({ message: 'Token revoked' }),
  'delete-app-env': (state, input) => {
    state.envs.delete(state.env(input).appEnvId)
    return { message: 'Environment deleted' }
  },
  'list-app-envs': (state) => ({ appEnvs: [...state.envs.values()].map(read) }),
  'get-app-env-status': (state, input) => status(state.env(input)),
  'get-app-env-pods': (state, input) => ({ appEnvId: state.env(input).appEnvId, contentId: null, pods: [] }),
  'diagnose-app-env': (state, input) => ({
    appEnvId: state.env(input).appEnvId,
    healthy: true,
    servingVersion: 1,
    findings: [],
    checked: ['status'],
    checkedAt: '2026-11-01T00:00:00.000Z',
  }),
  'what-changed': (state, input) => ({
    appEnvId: state.env(input).appEnvId,
    from: '2026-10-31T00:00:00.000Z',
    to: '2026-11-01T00:00:00.000Z',
    broke: null,
    changes: [],
    truncated: false,
  }),
  'get-app-env-history': (state, input) => ({
    appEnvId: state.env(input).appEnvId,
    activities: [],
    pagination: { limit: 50, offset: 0, total: 0, hasMore: false },
  }),
  'get-logs': (state, input) => ({
    appEnvId: state.env(input).appEnvId,
    logs: state.logs.slice(-Number(input.size)).map((line) => ({
      timestamp: '2026-11-01T00:00:00.000Z',
      type: input.type,
      podName: 'pod-1',
      contentId: null,
      ...line,
    })),
    cursor: state.logs.length > Number(input.size) ? '1.1' : null,
    truncated: false,
  }),
  'request-deploy-storage-key': () => ({
    uploadUrl: 'http://127.0.0.1:1/uploads/x',
    storageKey: 'upl_1',
    envUrl: 'http://shop-prod.app.localhost:4480',
    expiresAt: '2026-11-01T00:15:00.000Z',
  }),
  'request-secret': () => ({ url: 'http://127.0.0.1/secret/x', expiresAt: '2026-11-01T00:15:00.000Z' }),
  'notify-code-upload': (state, input) => deployed(state, input, 'BUILD'),
  'deploy-app-env-image': (state, input) => deployed(state, input, 'IMAGE'),
  'redeploy-app-env': (state, input) => ({
    ...deployed(state, input, 'BUILD'),
    ...{ settings: 'of-version', variables: [], changedSettings: [], changedSecrets: [], pending: [] },
    servingVersion: null,
  }),
  'cancel-deployment': (state, input) => ({
    ...environmentResponse(state.env(input), 'No deployment is under way'),
    ...{ contentId: null, version: null, servingVersion: null },
  }),
  'apply-app-env-changes': (state, input) => {
    const env = state.env(input)
    if (!env.pendingChanges.hasDeployChanges) {
      return { ...environmentResponse(env, 'Nothing was pending.'), appliedImmediately: true }
    }
    begin(state, env, 'BUILD')
    return { ...environmentResponse(env, 'Applying.'), appliedImmediately: true }
  },
  'stop-app-env': (state, input) => {
    const env = change(state.env(input))
    env.status = 'STOPPED'
    return environmentResponse(env, 'Stopping.')
  },
  'start-app-env': (state, input) => rollOut(state, input, 'Starting.'),
  'restart-app-env': (state, input) => rollOut(state, input, 'Restarting.'),
  'update-app-env-variables': (state, input) => {
    const env = change(state.env(input))
    env.pendingChanges = { ...env.pendingChanges, hasDeployChanges: true }
    return { ...environmentResponse(env, 'Variables saved.'), pendingChanges: env.pendingChanges }
  },
  'update-function-config': (state, input) => {
    const env = change(state.env(input))
    if (!env.isFunction)
      throw new AppError('invalid', 'Only FUNCTION apps have function settings', { rule: 'E3' })
    return {
      success: true,
      appEnv: {
        ...environmentResponse(env, '').appEnv,
        isFunction: true,
        functionConfig: functionConfig(input),
      },
      appliedImmediately: input.applyImmediately,
    }
  },
  'probe-function': (state, input) => ({
    appEnvId: state.env(input).appEnvId,
    startedAt: '2026-11-01T00:00:00.000Z',
    tookSeconds: 2,
    cutShort: false,
    coldStartSeconds: 0.3,
    containersBefore: 0,
    mostContainers: 1,
    levels: [],
    checks: [{ rule: 'F1', holds: true, because: 'It stood at zero containers before the probe.' }],
    proposal: { containerConcurrency: 20, minScale: 0, because: ['containerConcurrency 20 stays.'] },
  }),
  'update-app-env-autoscaling': (state, input) => {
    const env = notFunction(change(state.env(input)), 'autoscaling')
    return { ...environmentResponse(env, 'Autoscaling saved.'), autoscaling: autoscaling() }
  },
  'scale-app-env-containers': (state, input) => {
    const env = notFunction(change(state.env(input)), 'manual container scaling')
    env.containers = Number(input.containers)
    return { ...environmentResponse(env, `Scaling to ${env.containers}.`), containers: env.containers }
  },
}

function notFunction(env: FakeEnv, what: string): FakeEnv {
  if (env.isFunction) throw new AppError('invalid', `Functions do not use ${what}`, { rule: 'F8' })
  return env
}

function rollOut(state: FakeState, input: Input, message: string) {
  const env = change(state.env(input))
  begin(state, env, 'IMAGE')
  return environmentResponse(env, message)
}

function deployed(state: FakeState, input: Input, type: 'BUILD' | 'IMAGE') {
  const env = change(state.env(input))
  const { contentId, version } = begin(state, env, type)
  return { ...environmentResponse(env, `Version ${version} is being deployed.`), contentId, version }
}

function begin(state: FakeState, env: FakeEnv, type: 'BUILD' | 'IMAGE') {
  const planned = state.plans.shift() ?? { reads: 1 }
  const version = (env.deployment?.version ?? env.currentVersion ?? 0) + 1
  env.deployment = {
    contentId: `dep_${state.nextId++}`,
    version,
    status: type === 'BUILD' ? 'BUILDING' : 'DEPLOYING',
    type,
    containerImage: null,
    createdAt: new Date(Date.UTC(2026, 10, 1) + state.nextId * 1000).toISOString(),
    deployedAt: null,
    failure: null,
    readsLeft: planned.reads,
    planned,
  }
  env.status = env.currentVersion === null ? 'PENDING' : 'UPDATING'
  return env.deployment
}

/** Each read of the status advances the deployment, because the fake has no clock. */
function status(env: FakeEnv) {
  const { deployment } = env
  if (deployment !== null && (deployment.status === 'BUILDING' || deployment.status === 'DEPLOYING')) {
    if (deployment.readsLeft > 0) deployment.readsLeft -= 1
    else finish(env, deployment)
  }
  const shown =
    deployment === null ? null : (({ readsLeft: _left, planned: _planned, ...rest }) => rest)(deployment)
  return {
    appEnvId: env.appEnvId,
    cliEnvName: env.cliEnvName,
    status: env.status,
    claim: null,
    currentContentId: env.currentContentId,
    currentVersion: env.currentVersion,
    currentDeployment: shown,
    containers: { desired: env.containers, running: env.containers, ready: env.containers },
    health: env.health ?? null,
    pendingChanges: env.pendingChanges,
    hosts: env.hosts,
  }
}

function finish(env: FakeEnv, deployment: NonNullable<FakeEnv['deployment']>): void {
  const { failure } = deployment.planned
  if (failure !== undefined) {
    deployment.status = 'FAILED'
    deployment.failure = failure
    env.status = env.currentVersion === null ? 'STOPPED' : 'RUNNING'
    return
  }
  deployment.status = 'DEPLOYED'
  env.currentVersion = deployment.version
  env.currentContentId = deployment.contentId
  env.status = 'RUNNING'
}

function environmentResponse(env: FakeEnv, message: string) {
  return { success: true, message, appEnv: { appEnvId: env.appEnvId, name: env.name, status: env.status } }
}

function read(env: FakeEnv): AppEnv {
  const { deployment: _deployment, currentContentId: _content, ...shown } = env
  return shown
}

function functionConfig(input: Input): FunctionConfig {
  return {
    containerConcurrency: 20,
    timeoutSeconds: 60,
    idleTimeoutSeconds: Number(input.idleTimeoutSeconds ?? 900),
    responseStartTimeoutSeconds: 60,
    minScale: Number(input.minScale ?? 0),
    maxScale: Number(input.maxScale ?? 3),
  }
}

function autoscaling() {
  return {
    enabled: true,
    minContainers: 1,
    maxContainers: 3,
    targetCpuPercent: 70,
    targetMemoryPercent: null,
    scaleUpWindowSeconds: 0,
    scaleDownWindowSeconds: 300,
  }
}
