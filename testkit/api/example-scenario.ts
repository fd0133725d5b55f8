import { operations } from '../../src/contract/index.ts'
import { addMember } from '../../src/contract/members.ts'
import type { Operation } from '../../src/contract/operation.ts'
import { makeWorld } from '../mcp/account-world.ts'
import type { TestPlatform } from '../platform/test-platform.ts'
import { insertTestRun } from '../remediation/stored.ts'
import { untilRead } from '../until.ts'
import { chatScenario } from './chat-scenario.ts'
import { appScenario, functionScenario, jobScenario, settled } from './environment-scenarios.ts'
import { sampleCertificate } from './sample-certificate.ts'
import { inputWithIds } from './sample-input.ts'
import type { Answer, Call, Json } from './scenario-call.ts'
import { signInScenario } from './sign-in-scenario.ts'

/** One call of the scenario and its response. */
export interface CallRecord {
  row: Operation
  input: Json
  answer: Json
}

interface ScenarioOptions {
  /** Skips destructive calls and only records them, so that all objects exist at the end. */
  keeps?: boolean
  /** Replaces the input of a call. */
  dress?: (id: string, input: Json) => Json
  /** Marks the objects of operations that the scenario does not mention; unique on a platform. */
  world?: string
  /** Makes a call on another surface than REST; throws its error. */
  send?: (row: Operation, input: Json, token: string) => Promise<Json>
}

/**
 * Calls every operation once in an order in which each succeeds: the source of the examples in the OpenAPI document,
 * and of valid bodies to mutate. `receiver` gets test notifications.
 */
export async function runScenario(
  platform: TestPlatform,
  receiver: string,
  options: ScenarioOptions = {},
): Promise<CallRecord[]> {
  const played: CallRecord[] = []
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
  await accountScenario(platform, call)
  const fn = await functionScenario(platform, call)
  await appScenario(platform, call)
  await jobScenario(platform, call)
  await databaseScenario(platform, call)
  await alertScenario(platform, call, receiver, fn)
  await chatScenario(platform, call)
  await memberScenario(platform, call, fn)
  await invitationScenario(platform, call)
  await call('explain-policy', { operation: 'delete-app-env', input: { appEnvId: fn } })
  await approvalScenario(platform, call, fn)
  await domainScenario(call, fn, options.world)
  await call('delete-app-env', { appEnvId: fn })
  await call('get-user')
  const made = await call('create-user-token', { name: 'dashboard', readOnly: true })
  await call('list-user-tokens')
  await call('revoke-user-token', { tokenId: made.tokenId })
  await signInScenario(platform, call)
  await playRest(platform, played, call, options.world ?? 'EXAMPLE')
  const rotated = await call('rotate-user-token')
  token = rotated.token ?? token
  return played
}

/** Operations that the scenario does not mention, on objects of a world of their own. */
async function playRest(
  platform: TestPlatform,
  played: readonly CallRecord[],
  call: Call,
  marker: string,
): Promise<void> {
  const rest = operations.filter(
    (row) => row.id !== 'rotate-user-token' && !played.some((one) => one.row === row),
  )
  if (rest.length === 0) return
  const world = await makeWorld(platform, marker, platform.accountId)
  for (const row of rest) await call(row.id, inputWithIds(row, world))
}

function overRest(platform: TestPlatform): NonNullable<ScenarioOptions['send']> {
  return async (row, input, token) => {
    const { status, json, text } = await platform.request(row.method, row.path, { input, token })
    if (status !== 200) throw new Error(`${row.id} answered ${status}: ${text}`)
    return json
  }
}

const takesAway = new Set([
  'remove-app-env-domain',
  'delete-app',
  'delete-app-env',
  'delete-alert',
  'delete-app-env-backup',
  'delete-contact-point',
  'accept-invitation',
  'decline-invitation',
  'remove-member',
  'delete-chat-connection',
  'remove-chat-user',
  'revoke-user-token',
  'end-user-sessions',
  'remove-user-passkey',
  'remove-user',
  'rotate-user-token',
])

async function accountScenario({ accountId }: TestPlatform, call: Call): Promise<void> {
  await call('list-accounts')
  await call('create-account', { name: 'Second team' })
  await call('update-account', { accountId, name: 'Harbour team', memberEnvAccessEnabled: true })
  await call('list-regions')
  await call('list-database-presets')
  await call('diagnosis-causes')
}

/** A plan that is replaced, one that is withdrawn, and one that a person approves. */
async function approvalScenario({ accountId }: TestPlatform, call: Call, appEnvId: string): Promise<void> {
  const plan = (value: string) => {
    const set = [{ name: 'GREETING', value, isSecret: false }]
    const steps = [{ operation: 'update-app-env-variables', input: { appEnvId, set } }]
    return { accountId, title: 'A new greeting', reason: 'The old one is too formal.', steps }
  }
  const first = await call('propose-plan', plan('hi'))
  const { approvalId, reviewDigest } = await call('refresh-approval', { approvalId: first.approvalId })
  await call('list-approvals', { accountId, status: 'pending' })
  await call('decide-approval', { approvalId, reviewDigest, decision: 'approve', comment: 'Good.' })
  await call('get-approval', { approvalId })
  const second = await call('propose-plan', plan('hello'))
  await call('withdraw-approval', { approvalId: second.approvalId })
}

async function domainScenario(call: Call, appEnvId: string, world = 'shop'): Promise<void> {
  const domain = `${world.toLowerCase()}.example.com`
  await call('add-app-env-domain', { appEnvId, domain })
  await call('list-app-env-domains', { appEnvId })
  await call('verify-app-env-domain', { appEnvId, domain })
  await call('upload-app-env-certificate', { appEnvId, domain, certificate: sampleCertificate })
  await call('remove-app-env-domain', { appEnvId, domain })
}

async function databaseScenario(platform: TestPlatform, call: Call): Promise<void> {
  const { accountId, region } = platform
  const { appId } = await call('create-app', { accountId, name: 'orders', dockerPreset: 'POSTGRESQL' })
  const input = { accountId, appId, name: 'prod', region, cliEnvName: 'orders-prod', withPersistence: true }
  const { appEnvId } = await call('create-app-env', input)
  await settled(platform, appEnvId)
  const { backup } = await call('create-app-env-backup', { appEnvId })
  const { backupId } = backup
  const read = async () => {
    const { token } = platform.admin
    const { json } = await platform.request('GET', '/app-env/backup', { token, input: { backupId } })
    return json as Answer
  }
  await untilRead(read, ({ backup: made }) => made?.status === 'SUCCEEDED', 'the backup', 15_000)
  await call('list-app-env-backups', { accountId })
  await call('get-app-env-backup', { backupId })
  await call('restore-app-env-backup', { appEnvId, backupId })
  await untilRead(read, ({ restores }) => restores?.[0]?.status === 'SUCCEEDED', 'the restore', 15_000)
  await call('delete-app-env-backup', { backupId })
  await call('rotate-database-password', { appEnvId })
}

async function alertScenario(
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
  await call('list-alert-notifications', { alertId })
  await call('list-alert-state-changes', { alertId })
  await call('update-alert', { alertId, threshold: 0.8 })
  await call('refresh-alert', { alertId })
  await call('toggle-alert', { alertId, enabled: false })
  await remediationScenario(platform, call, appEnvId)
  await call('delete-alert', { alertId })
  await call('delete-contact-point', { contactPointId })
}

async function remediationScenario(platform: TestPlatform, call: Call, appEnvId: string): Promise<void> {
  const { remediation } = await call('create-remediation', {
    appEnvId,
    name: 'restart when it crashes',
    trigger: { cause: 'crash-loop' },
    mode: 'observe',
    steps: [{ action: 'restart' }],
  })
  const { remediationId } = remediation
  const run = await insertTestRun(platform, remediationId)
  await call('list-remediations', { appEnvId })
  await call('get-remediation', { remediationId })
  await call('list-remediation-runs', { remediationId })
  await call('get-remediation-run', run)
  await call('update-remediation', { remediationId, holdSeconds: 60 })
  await call('toggle-remediation', { remediationId, enabled: false })
  await call('delete-remediation', { remediationId })
}

async function memberScenario({ accountId }: TestPlatform, call: Call, appEnvId: string): Promise<void> {
  const { membershipId } = await call('add-member', { accountId, email: 'ada@example.com', name: 'Ada' })
  await call('list-members', { accountId })
  await call('get-member-env-access', { accountId, membershipId })
  await call('update-member-env-access', { accountId, membershipId, allowedAppEnvIds: [appEnvId] })
  await call('explain-access', { appEnvId })
  await call('remove-member', { accountId, membershipId })
}

/** Two other accounts invite the caller. */
async function invitationScenario(platform: TestPlatform, call: Call): Promise<void> {
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
