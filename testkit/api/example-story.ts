import { createHash } from 'node:crypto'
import { operations } from '../../src/contract/index.ts'
import { addMember } from '../../src/contract/members.ts'
import { apiPrefix, type Operation } from '../../src/contract/operation.ts'
import { makeWorld } from '../mcp/two-worlds.ts'
import { tgz, until } from '../platform/story.ts'
import type { TestPlatform } from '../platform/test-platform.ts'
import { inputWithIds } from './sample-input.ts'

export type Json = Record<string, unknown>

/** One call of the story and its response. */
export interface Played {
  row: Operation
  input: Json
  answer: Json
}

// biome-ignore lint/suspicious/noExplicitAny: answers are checked against their rows, and read by their parts here
type Answer = any
type Call = (id: string, input?: Json) => Promise<Answer>

export interface StoryOptions {
  /** Skips destructive calls and only records them, so that all objects exist at the end. */
  keeps?: boolean
  /** Replaces the input of a call. */
  dress?: (id: string, input: Json) => Json
  /** Makes a call on another surface than REST; throws its error. */
  send?: (row: Operation, input: Json, token: string) => Promise<Json>
}

/**
 * Calls every operation once in an order in which each succeeds: the source of the examples in the OpenAPI document,
 * and of valid bodies to mutate. `receiver` gets test notifications.
 */
export async function playStory(
  platform: TestPlatform,
  receiver: string,
  options: StoryOptions = {},
): Promise<Played[]> {
  const played: Played[] = []
  const { dress = (_id, input) => input, send = overRest(platform) } = options
  const call: Call = async (id, plain = {}) => {
    const input = dress(id, plain)
    const row = operations.find((one) => one.id === id)
    if (!row) throw new Error(`no operation ${id}`)
    if (options.keeps && takesAway.has(id)) {
      played.push({ row, input, answer: {} })
      return {}
    }
    const answer = await send(row, input, by())
    played.push({ row, input, answer })
    return answer
  }
  let token = platform.admin.token
  const by = () => token
  await accountStory(platform, call)
  const fn = await functionStory(platform, call)
  await appStory(platform, call)
  await jobStory(platform, call)
  await databaseStory(platform, call)
  await alertStory(platform, call, receiver, fn)
  await memberStory(platform, call, fn)
  await invitationStory(platform, call)
  await call('delete-app-env', { appEnvId: fn })
  await call('get-user')
  const made = await call('create-user-token', { name: 'dashboard', readOnly: true })
  await call('list-user-tokens')
  await call('revoke-user-token', { tokenId: made.tokenId })
  await playRest(platform, played, call)
  const rotated = await call('rotate-user-token')
  token = rotated.token ?? token
  return played
}

/** Operations that the story does not mention, on objects of a world of their own. */
async function playRest(platform: TestPlatform, played: readonly Played[], call: Call): Promise<void> {
  const rest = operations.filter(
    (row) => row.id !== 'rotate-user-token' && !played.some((one) => one.row === row),
  )
  if (rest.length === 0) return
  const world = await makeWorld(platform, 'EXAMPLE', platform.accountId)
  for (const row of rest) await call(row.id, inputWithIds(row, world))
}

function overRest(platform: TestPlatform): NonNullable<StoryOptions['send']> {
  return async (row, input, token) => {
    const { status, json, text } = await platform.request(row.method, row.path, { input, token })
    if (status !== 200) throw new Error(`${row.id} answered ${status}: ${text}`)
    return json
  }
}

const takesAway = new Set([
  'delete-app',
  'delete-app-env',
  'delete-alert',
  'delete-app-env-backup',
  'delete-contact-point',
  'accept-invitation',
  'decline-invitation',
  'remove-member',
  'revoke-user-token',
  'rotate-user-token',
])

async function accountStory({ accountId }: TestPlatform, call: Call): Promise<void> {
  await call('list-accounts')
  await call('create-account', { name: 'Second team' })
  await call('update-account', { accountId, name: 'Harbour team', memberEnvAccessEnabled: true })
  await call('list-regions')
  await call('list-database-presets')
  await call('diagnosis-causes')
}

async function functionStory(platform: TestPlatform, call: Call): Promise<string> {
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
  await call('get-app-env-usage', { appEnvId })
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
  await call('stop-app-env', { appEnvId })
  await settled(platform, appEnvId, 'STOPPED')
  await call('diagnose-app-env', { appEnvId })
  await call('start-app-env', { appEnvId })
  await settled(platform, appEnvId)
  await call('get-app-env-history', { appEnvId, limit: 5 })
  await call('rotate-app-env-token', { appEnvId })
  return appEnvId
}

async function appStory({ accountId, region }: TestPlatform, call: Call): Promise<void> {
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
  await call('list-audit', { accountId, objectId: appEnvId, limit: 2 }).then(({ entries }) =>
    call('undo-change', { entryId: entries[0].entryId }),
  )
}

async function jobStory(platform: TestPlatform, call: Call): Promise<void> {
  const { accountId, region } = platform
  const jobConfig = { command: 'node', args: ['report.js'] }
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
  const { jobRun } = await call('start-job-run', { appEnvId, args: ['report.js', '--yesterday'] })
  const { jobRunId } = jobRun
  await call('get-job-run', { jobRunId })
  await call('cancel-job-run', { jobRunId })
  await call('list-job-runs', { appEnvId, status: 'CANCELED' })
}

async function databaseStory(platform: TestPlatform, call: Call): Promise<void> {
  const { accountId, region } = platform
  const { appId } = await call('create-app', { accountId, name: 'orders', dockerPreset: 'POSTGRESQL' })
  const input = { accountId, appId, name: 'prod', region, cliEnvName: 'orders-prod', withPersistence: true }
  const { appEnvId } = await call('create-app-env', input)
  await settled(platform, appEnvId)
  const { backup } = await call('create-app-env-backup', { appEnvId })
  const { backupId } = backup
  const token = platform.admin.token
  await until(
    async () =>
      (await platform.request('GET', '/app-env/backup', { token, input: { backupId } })).json as Answer,
    (answer) => answer.backup?.status === 'SUCCEEDED',
    'the backup',
    15_000,
  )
  await call('list-app-env-backups', { accountId })
  await call('get-app-env-backup', { backupId })
  await call('restore-app-env-backup', { appEnvId, backupId })
  await call('delete-app-env-backup', { backupId })
  await call('rotate-database-password', { appEnvId })
}

async function alertStory(
  platform: TestPlatform,
  call: Call,
  receiver: string,
  appEnvId: string,
): Promise<void> {
  const { accountId } = platform
  const { contactPoint } = await call('create-contact-point', {
    accountId,
    name: 'On call',
    type: 'webhook',
    config: { url: receiver },
  })
  const { contactPointId } = contactPoint
  await call('list-contact-points', { accountId })
  await call('get-contact-point', { contactPointId })
  await call('update-contact-point', { contactPointId, name: 'On call, all hours' })
  await call('test-contact-point', { contactPointId })
  const { alert } = await call('create-alert', {
    appEnvId,
    name: 'slow answers',
    metric: 'ingress_p95_latency',
    operator: 'gt',
    threshold: 0.5,
    duration: '5m',
    contactPointIds: [contactPointId],
  })
  const { alertId } = alert
  await call('list-alerts', { appEnvId })
  await call('get-alert', { alertId })
  await call('update-alert', { alertId, threshold: 0.8 })
  await call('refresh-alert', { alertId })
  await call('toggle-alert', { alertId, enabled: false })
  await call('delete-alert', { alertId })
  await call('delete-contact-point', { contactPointId })
}

async function memberStory({ accountId }: TestPlatform, call: Call, appEnvId: string): Promise<void> {
  const { membershipId } = await call('add-member', { accountId, email: 'ada@example.com', name: 'Ada' })
  await call('list-members', { accountId })
  await call('get-member-env-access', { accountId, membershipId })
  await call('update-member-env-access', { accountId, membershipId, allowedAppEnvIds: [appEnvId] })
  await call('explain-access', { appEnvId })
  await call('remove-member', { accountId, membershipId })
}

/** Two other accounts invite the caller. */
async function invitationStory(platform: TestPlatform, call: Call): Promise<void> {
  for (const name of ['Harbour pilots', 'Harbour masters']) {
    const accountId = await platform.makeAccount(name)
    const { token } = await platform.makeUser({ accountId, admin: true })
    const member = { accountId, email: platform.admin.email, name: 'Admin' }
    await overRest(platform)(addMember, member, token)
  }
  const { invitations } = await call('list-invitations')
  const [accepted, declined] = invitations ?? []
  await call('accept-invitation', { invitationId: accepted.invitationId })
  await call('decline-invitation', { invitationId: declined.invitationId })
}

/** Waits until no rollout is unfinished. */
async function settled(platform: TestPlatform, appEnvId: string, wanted = 'RUNNING'): Promise<void> {
  const read = () =>
    platform.request('GET', '/app-env/status', { token: platform.admin.token, input: { appEnvId } })
  await until(
    async () => (await read()).json as Answer,
    ({ status, currentDeployment }) =>
      (status === wanted || (wanted === 'RUNNING' && status === 'SLEEPING')) &&
      ['DEPLOYED', 'FAILED'].includes(currentDeployment?.status),
    `${appEnvId} ${wanted}`,
    15_000,
  )
}

const idPattern = /\b([a-z]{2,3})_[a-z2-7]{20}\b/g
const fixedTime = '2026-11-01T12:00:00.000Z'
/** Usage of one container of one zCloud for a minute, at the rate of functions. */
const measuredUsage: Json = { containerSeconds: 60, zCloudSeconds: 60, billedZCloudSeconds: 180 }

/** Makes the story reproducible: ids by order, one time, one address, no token. */
export function asExamples(played: readonly Played[]): Record<string, { input: Json; answer: Json }> {
  const ids = new Map<string, string>()
  const idOf = (id: string, prefix: string) => {
    const known = ids.get(id)
    if (known) return known
    const count = [...ids.keys()].filter((other) => other.startsWith(prefix)).length + 1
    const digits = createHash('sha256').update(`${prefix}${count}`).digest('hex')
    const text = [...digits.slice(0, 20)].map((digit) => 'abcdefghijklmnop'[Number.parseInt(digit, 16)])
    ids.set(id, `${prefix}_${text.join('')}`)
    return ids.get(id) as string
  }
  const text = (value: string) =>
    value
      .replace(idPattern, (id, prefix) => idOf(id, prefix))
      .replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, fixedTime)
      .replace(/\b(ls[ue])_[A-Za-z0-9]{40,}\b/g, '$1_shown-once')
      .replace(/(\/uploads\/)[\w-]+/g, '$1one-time-secret')
      .replace(/http:\/\/127\.0\.0\.1:\d+/g, 'http://localhost:8080')
      .replace(/\b([a-z-]+-(?:prod|nightly))-[a-z2-7]{10}\b/g, '$1-abcdefghij')
      .replace(/\.localhost:\d+/g, '.localhost:8081')
      .replace(/\b\d+(?:\.\d+)? s\b/g, '0.06 s')
  const clean = (value: unknown, key = ''): unknown => {
    if (typeof value === 'string') return text(value)
    // Measured values differ between runs.
    if (typeof value === 'number' && key === 'requestsPerSecond') return 16
    if (typeof value === 'number' && /^(took|p\d\d)Seconds$/.test(key)) return 0.06
    if (typeof value === 'number' && /containerSeconds|zCloudSeconds/i.test(key)) return measuredUsage[key]
    if (key === 'hours') return [{ hour: fixedTime, ...measuredUsage }]
    if (typeof value === 'number') return value
    if (Array.isArray(value)) return value.map((one) => clean(one, key))
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, clean(one, name)]))
  }
  const examples: Record<string, { input: Json; answer: Json }> = {}
  // The first call of an operation is its example.
  for (const { row, input, answer } of played) {
    const cleaned = { input: clean(input) as Json, answer: clean(answer) as Json }
    examples[row.id] ??= cleaned
  }
  return Object.fromEntries(operations.flatMap(({ id }) => (examples[id] ? [[id, examples[id]]] : [])))
}

export { apiPrefix }
