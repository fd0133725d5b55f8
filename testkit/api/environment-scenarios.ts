import { tgz } from '../platform/deploy.ts'
import type { TestPlatform } from '../platform/test-platform.ts'
import { untilRead } from '../until.ts'
import type { Answer, Call } from './scenario-call.ts'

export async function functionScenario(platform: TestPlatform, call: Call): Promise<string> {
  const { accountId, region } = platform
  const unused = await call('create-app', { accountId, name: 'unused', dockerPreset: 'CUSTOM', port: 8080 })
  await call('delete-app', { appId: unused.appId })
  const { appId } = await call('create-app', {
    accountId,
    name: 'hello',
    dockerPreset: 'FUNCTION',
    port: 8080,
  })
  await call('get-app', { appId })
  await call('list-apps', { accountId })
  const { appEnvId } = await call('create-app-env', {
    accountId,
    appId,
    name: 'prod',
    region,
    cliEnvName: 'hello-prod',
    zClouds: 1,
    envVars: [{ name: 'GREETING', value: 'hello', isSecret: false }],
    functionConfig: { containerConcurrency: 10, maxScale: 3 },
  })
  const { storageKey, uploadUrl } = await call('request-deploy-storage-key', { appEnvId })
  const source = { Dockerfile: 'FROM node:20-alpine\nCMD ["node", "server.js"]\n', 'server.js': '' }
  await fetch(uploadUrl, { method: 'PUT', body: new Uint8Array(await tgz(source)) })
  await call('notify-code-upload', { appEnvId, storageKey, gitCommitId: '0a1b2c3d' })
  await settled(platform, appEnvId)
  await call('get-app-env', { appEnvId })
  await call('list-app-envs', { accountId })
  await call('get-app-env-status', { appEnvId })
  await call('get-app-env-pods', { appEnvId })
  await call('get-logs', { appEnvId, type: 'BUILD', size: 5 })
  await call('get-app-env-metrics', { appEnvId })
  await call('get-app-env-metrics-series', { appEnvId, metric: 'ingress_request_rate' })
  await call('get-app-env-container-series', { appEnvId, step: 600 })
  await call('get-app-env-usage', { appEnvId })
  await changeScenario(platform, call, appEnvId)
  return appEnvId
}

/** Versions, pending changes, and the life of an environment. */
async function changeScenario(platform: TestPlatform, call: Call, appEnvId: string): Promise<void> {
  await call('deploy-app-env-image', { appEnvId, image: 'registry.example.com/hello:2' })
  await settled(platform, appEnvId)
  await call('compare-app-env-versions', { appEnvId, from: 1, to: 2 })
  await call('redeploy-app-env', { appEnvId, version: 1 })
  await settled(platform, appEnvId)
  await call('update-app-env', { appEnvId, zClouds: 4 })
  await call('discard-app-env-changes', { appEnvId })
  await call('update-app-env', { appEnvId, zClouds: 2 })
  await call('update-app-env-variables', {
    appEnvId,
    set: [{ name: 'GREETING', value: 'ahoy', isSecret: false }],
  })
  await call('update-function-config', { appEnvId, containerConcurrency: 20, minScale: 1 })
  await call('apply-app-env-changes', { appEnvId })
  await settled(platform, appEnvId)
  await call('probe-function', { appEnvId, requests: 25, concurrency: 4 })
  await call('restart-app-env', { appEnvId })
  await settled(platform, appEnvId)
  await call('cancel-deployment', { appEnvId })
  await call('stop-app-env', { appEnvId })
  await settled(platform, appEnvId, 'STOPPED')
  await call('diagnose-app-env', { appEnvId })
  await call('start-app-env', { appEnvId })
  await settled(platform, appEnvId)
  await call('get-app-env-history', { appEnvId, limit: 5 })
  await call('rotate-app-env-token', { appEnvId })
}

export async function appScenario({ accountId, region }: TestPlatform, call: Call): Promise<void> {
  const { appId } = await call('create-app', { accountId, name: 'shop', dockerPreset: 'CUSTOM', port: 3000 })
  const { appEnvId } = await call('create-app-env', {
    accountId,
    appId,
    name: 'prod',
    region,
    cliEnvName: 'shop-prod',
  })
  await call('update-app-env-autoscaling', {
    appEnvId,
    enabled: true,
    minContainers: 1,
    maxContainers: 4,
    targetCpuPercent: 70,
  })
  await call('update-app-env-autoscaling', { appEnvId, enabled: false })
  const scaled = await call('scale-app-env-containers', { appEnvId, containers: 2 })
  if (!scaled) throw new Error('not scaled')
  await call('what-changed', { appEnvId })
  await call('get-incident', { appEnvId })
  await call('list-audit', { accountId, objectId: appEnvId, limit: 2 }).then(({ entries }) =>
    call('undo-change', { entryId: entries[0].entryId }),
  )
}

export async function jobScenario(platform: TestPlatform, call: Call): Promise<void> {
  const { accountId, region } = platform
  const jobConfig = { command: 'node', args: ['report.js'], shell: false }
  const { appId } = await call('create-app', { accountId, name: 'report', dockerPreset: 'JOB', jobConfig })
  const { appEnvId } = await call('create-app-env', {
    accountId,
    appId,
    name: 'nightly',
    region,
    cliEnvName: 'report-nightly',
  })
  await call('update-app-env', { appEnvId, zClouds: 1 })
  await call('update-job-config', { appEnvId, timeoutSeconds: 600, backoffLimit: 2, applyImmediately: true })
  const { storageKey, uploadUrl } = await call('request-deploy-storage-key', { appEnvId })
  const source = { Dockerfile: 'FROM node:20-alpine\nCMD ["node", "report.js"]\n', 'report.js': '' }
  await fetch(uploadUrl, { method: 'PUT', body: new Uint8Array(await tgz(source)) })
  await call('notify-code-upload', { appEnvId, storageKey })
  await settled(platform, appEnvId)
  const { jobRun } = await call('start-job-run', { appEnvId, command: 'sleep', args: ['600'] })
  const { jobRunId } = jobRun
  // One state to record: the run has a container, and goes on until it is canceled.
  const input = { jobRunId }
  await untilRead(
    async () =>
      (await platform.request('GET', '/job-run', { token: platform.admin.token, input })).json as Answer,
    (answer) => answer.jobRun.status === 'RUNNING',
    'a run that runs',
  )
  await call('get-job-run', { jobRunId })
  await call('cancel-job-run', { jobRunId })
  await call('list-job-runs', { appEnvId, status: 'CANCELED' })
}

/**
 * Waits until no rollout is unfinished and no container of an earlier one is left: these environments have at
 * most one, and that of the version before is still desired when a deployment is done.
 */
export async function settled(platform: TestPlatform, appEnvId: string, wanted = 'RUNNING'): Promise<void> {
  const read = () =>
    platform.request('GET', '/app-env/status', { token: platform.admin.token, input: { appEnvId } })
  await untilRead(
    async () => (await read()).json as Answer,
    ({ status, currentDeployment, containers }) =>
      (status === wanted || (wanted === 'RUNNING' && status === 'SLEEPING')) &&
      containers.running === containers.desired &&
      containers.running <= 1 &&
      ['DEPLOYED', 'FAILED'].includes(currentDeployment?.status),
    `${appEnvId} ${wanted}`,
    15_000,
  )
}
