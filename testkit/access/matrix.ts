import { afterAll, beforeAll } from 'vitest'
import { isRead, type Operation, type Policy } from '../../src/contract/operation.ts'
import type { Backup } from '../../src/domain/backups/backup.ts'
import { insertBackup } from '../../src/store/repositories/backups.ts'
import { saveChatUser } from '../../src/store/repositories/chat-users.ts'
import { insertJobRun } from '../../src/store/repositories/job-runs.ts'
import { sampleCertificate } from '../api/sample-certificate.ts'
import { sampleInput } from '../api/sample-input.ts'
import { storedRun } from '../jobs/stored-run.ts'
import type { RawAnswer } from '../platform/raw-request.ts'
import { TestPlatform } from '../platform/test-platform.ts'
import { insertTestRemediation } from '../remediation/stored.ts'
import { emptyCredential } from '../sign-in/authenticator.ts'

export type ObjectKind = 'own' | 'restricted' | 'foreign' | 'unknown' | 'deleted'
type Ids = Record<
  | 'accountId'
  | 'appId'
  | 'appEnvId'
  | 'membershipId'
  | 'contactPointId'
  | 'alertId'
  | 'jobRunId'
  | 'backupId'
  | 'entryId'
  | 'approvalId'
  | 'reviewDigest'
  | 'connectionId'
  | 'chatUserId'
  | 'remediationId'
  | 'runId',
  string
>
export interface CallerKind {
  token: string | null
  /** The account that counts as the caller's own; for `outside`, the main account is foreign. */
  of: 'main' | 'outside' | 'environment' | 'otherEnvironment' | 'nobody'
  admin?: boolean
  manages?: boolean
  restricted?: boolean
  readOnly?: boolean
}

/** The ids that a policy uses, and the kinds of object that it distinguishes. */
export const named: Record<Policy['on'], { keys: (keyof Ids)[]; kinds: ObjectKind[] }> = {
  installation: { keys: [], kinds: ['own'] },
  account: { keys: ['accountId'], kinds: ['own', 'foreign', 'unknown', 'deleted'] },
  'account-or-app': { keys: ['appId'], kinds: ['own', 'restricted', 'foreign', 'unknown', 'deleted'] },
  environments: { keys: ['appEnvId'], kinds: ['own', 'restricted', 'foreign', 'unknown', 'deleted'] },
  'whole-account': { keys: ['accountId'], kinds: ['own', 'foreign', 'unknown', 'deleted'] },
  app: { keys: ['appId'], kinds: ['own', 'restricted', 'foreign', 'unknown', 'deleted'] },
  'new-environment': {
    keys: ['accountId', 'appId'],
    kinds: ['own', 'restricted', 'foreign', 'unknown', 'deleted'],
  },
  environment: { keys: ['appEnvId'], kinds: ['own', 'restricted', 'foreign', 'unknown', 'deleted'] },
  member: { keys: ['accountId', 'membershipId'], kinds: ['own', 'foreign', 'unknown'] },
  'contact-point': { keys: ['contactPointId'], kinds: ['own', 'foreign', 'unknown', 'deleted'] },
  alert: { keys: ['alertId'], kinds: ['own', 'restricted', 'foreign', 'unknown', 'deleted'] },
  'job-run': { keys: ['jobRunId'], kinds: ['own', 'restricted', 'foreign', 'unknown', 'deleted'] },
  backup: { keys: ['backupId'], kinds: ['own', 'restricted', 'foreign', 'unknown'] },
  policy: { keys: ['accountId'], kinds: ['own', 'foreign', 'unknown', 'deleted'] },
  'audit-entry': { keys: ['entryId'], kinds: ['own', 'restricted', 'foreign', 'unknown'] },
  approval: { keys: ['approvalId'], kinds: ['own', 'restricted', 'foreign', 'unknown'] },
  'chat-connection': { keys: ['connectionId'], kinds: ['own', 'foreign', 'unknown', 'deleted'] },
  'chat-user': { keys: ['accountId', 'chatUserId'], kinds: ['own', 'foreign', 'unknown'] },
  remediation: { keys: ['remediationId'], kinds: ['own', 'restricted', 'foreign', 'unknown', 'deleted'] },
  'remediation-run': { keys: ['runId'], kinds: ['own', 'restricted', 'foreign', 'unknown', 'deleted'] },
}

/** Other required inputs of a row, so that the outcome depends only on access. */
const rest: Record<string, (objects: Record<ObjectKind, Ids>, kind: ObjectKind) => Record<string, unknown>> =
  {
    'update-account': () => ({ memberEnvAccessEnabled: true }),
    'create-app': () => ({ name: 'x', port: 8080 }),
    'explain-policy': () => ({ operation: 'create-account', input: { name: 'x' } }),
    'create-app-env': () => ({ name: 'x', region: 'local' }),
    'notify-code-upload': () => ({ storageKey: 'upl_x' }),
    'deploy-app-env-image': () => ({ image: 'registry.example.com/x:1' }),
    'compare-app-env-versions': () => ({ from: 1, to: 1 }),
    'scale-app-env-containers': () => ({ containers: 2 }),
    'get-app-env-metrics-series': () => ({ metric: 'cpu_percent' }),
    'add-member': () => ({ email: 'x@example.com', name: 'X' }),
    'revoke-user-token': () => ({ tokenId: 'tok_x' }),
    'remove-user-passkey': () => ({ passkeyId: 'pky_x' }),
    'create-user-passkey': () => ({ name: 'x', credential: emptyCredential }),
    'remove-user': () => ({ userId: 'usr_x' }),
    'accept-invitation': () => ({ invitationId: 'inv_x' }),
    'decline-invitation': () => ({ invitationId: 'inv_x' }),
    'create-contact-point': () => ({ name: 'x', type: 'email', config: { addresses: ['x@example.com'] } }),
    'create-chat-connection': () => ({ name: 'x', kind: 'slack-http', config: { signingSecret: 'x' } }),
    'connect-chat-user': () => ({ code: 'x' }),
    'create-alert': () => alertBody(''),
    'add-app-env-domain': () => ({ domain: 'shop.example.com' }),
    'verify-app-env-domain': (objects, kind) => ({ domain: domainOf(objects[kind]) }),
    'remove-app-env-domain': (objects, kind) => ({ domain: domainOf(objects[kind]) }),
    'upload-app-env-certificate': (objects, kind) => ({
      domain: domainOf(objects[kind]),
      certificate: sampleCertificate,
    }),
    'create-remediation': () => remediationBody,
    'toggle-remediation': () => ({ enabled: false }),
    'restore-app-env-backup': (objects) => ({ backupId: objects.own.backupId }),
    'propose-plan': (objects, kind) => ({ title: 'x', steps: [variableStep(objects[kind].appEnvId)] }),
    'decide-approval': (objects, kind) => ({ reviewDigest: objects[kind].reviewDigest, decision: 'approve' }),
  }

/** Every kind of caller and of object on one platform, and the call of any operation by one on the other. */
export class AccessMatrix {
  platform!: TestPlatform
  readonly objects = {} as Record<ObjectKind, Ids>
  readonly callers: Record<string, CallerKind> = {}
  /** By cell; empty it when the rules change. */
  readonly answers = new Map<string, Promise<RawAnswer>>()

  constructor() {
    beforeAll(() => this.#start())
    afterAll(() => this.platform.close())
  }

  inputFor(row: Operation, kind: ObjectKind): Record<string, unknown> {
    const ids = this.objects[kind]
    // Accounts cannot be deleted, so deleted objects belong to an existing account.
    const accountId =
      kind === 'deleted' && row.policy.on === 'new-environment' ? this.objects.own.accountId : ids.accountId
    const all = { ...ids, accountId }
    const picked = Object.fromEntries(named[row.policy.on].keys.map((key) => [key, all[key]]))
    return { ...sampleInput(row), ...picked, ...rest[row.id]?.(this.objects, kind) }
  }

  /** The answer in one cell. Writes are dry runs, so cells do not affect each other, and each is requested once. */
  ask(row: Operation, caller: CallerKind, kind: ObjectKind): Promise<RawAnswer> {
    const cell = `${row.id} ${kind} ${caller.token}`
    const known = this.answers.get(cell)
    if (known) return known
    const answer = this.platform.request(row.method, row.path, {
      token: caller.token,
      input: this.inputFor(row, kind),
      headers: isRead(row) ? {} : { 'dry-run': 'true' },
    })
    this.answers.set(cell, answer)
    return answer
  }

  async send(
    method: string,
    path: string,
    input: Record<string, unknown>,
    token = this.platform.admin.token,
  ) {
    const answer = await this.platform.request(method, path, { token, input })
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.text}`)
    return answer.json
  }

  /** One object of every kind, related to each other, in the account of `token`. */
  async #makeObjects(accountId: string, token: string, membershipId: string): Promise<Ids> {
    const by = this.platform.client(token)
    const { appId, appEnvId } = await this.platform.makeEnvironment({ by, accountId })
    const { contactPoint } = await this.send(
      'POST',
      '/contact-point',
      { accountId, name: 'hook', type: 'webhook', config: { url: 'https://hooks.example.com/x' } },
      token,
    )
    const { contactPointId } = contactPoint
    const { alert } = await this.send(
      'POST',
      '/app-env/alert',
      { appEnvId, ...alertBody(contactPointId) },
      token,
    )
    const jobRunId = `run_${appEnvId.slice(4)}`
    await this.platform.db.write((tx) =>
      insertJobRun(tx, {
        ...storedRun(jobRunId, { appEnvId, accountId }, this.platform.now),
        status: 'SUCCEEDED',
        finishedAt: this.platform.now,
        exitCode: 0,
      }),
    )
    await this.send('POST', '/app-env/domain', { appEnvId, domain: domainOf({ appEnvId }) }, token)
    await this.send('PATCH', '/app-env/containers', { appEnvId, containers: 2 }, token)
    const { entries } = await this.send('GET', '/audit', { accountId, objectId: appEnvId, limit: 1 }, token)
    const ids = { accountId, appId, appEnvId, membershipId, contactPointId }
    const backupId = `bak_${appEnvId.slice(4)}`
    await this.platform.db.write((tx) =>
      insertBackup(tx, doneBackup(backupId, appEnvId, accountId, this.platform.now)),
    )
    const plan = { accountId, title: 'x', steps: [variableStep(appEnvId)] }
    const { approvalId, reviewDigest } = await this.send('POST', '/plan', plan, token)
    const chat = { accountId, name: 'chat', kind: 'slack-http', config: { signingSecret: 'x' } }
    const { connectionId } = (await this.send('POST', '/chat-connection', chat, token)).connection
    const chatUserId = await this.#makeChatUser(accountId, connectionId, token)
    const made = { approvalId, reviewDigest, entryId: entries[0].entryId, connectionId, chatUserId }
    const remediation = await insertTestRemediation(this.platform, appEnvId, token)
    return { ...ids, alertId: alert.alertId, jobRunId, backupId, ...made, ...remediation }
  }

  /** A chat user who acts as the user of `token`. */
  async #makeChatUser(accountId: string, connectionId: string, token: string): Promise<string> {
    const { userId } = await this.send('GET', '/user', {}, token)
    const person = { connectionId, workspace: 'T1', chatUser: 'U1', chatName: 'ann' }
    const user = { ...person, accountId, userId, createdAt: this.platform.now }
    return (await this.platform.db.write((tx) => saveChatUser(tx, user, null))).chatUserId
  }

  async #start(): Promise<void> {
    this.platform = await TestPlatform.start({ reconciles: false })
    const { accountId, admin } = this.platform
    const member = await this.platform.makeUser()
    this.objects.own = await this.#makeObjects(accountId, admin.token, member.membershipId)
    this.objects.restricted = { ...(await this.#makeObjects(accountId, admin.token, member.membershipId)) }
    const deleted = await this.#makeObjects(
      accountId,
      admin.token,
      (await this.platform.makeUser()).membershipId,
    )
    await this.send('DELETE', '/app-env', { appEnvId: deleted.appEnvId })
    await this.send('DELETE', '/app', { appId: deleted.appId })
    await this.send('DELETE', '/contact-point', { contactPointId: deleted.contactPointId })
    await this.send('DELETE', '/chat-connection', { connectionId: deleted.connectionId })
    await this.send('DELETE', '/member', { accountId, membershipId: deleted.membershipId })
    this.objects.deleted = { ...deleted, accountId: 'acc_gone', entryId: 'aud_gone' }
    const outside = await this.platform.makeUser({
      accountId: await this.platform.makeAccount('Outside'),
      admin: true,
    })
    const outsideAccount = (await this.send('GET', '/accounts', {}, outside.token)).accounts[0].accountId
    this.objects.foreign = await this.#makeObjects(outsideAccount, outside.token, outside.membershipId)
    this.objects.unknown = Object.fromEntries(
      Object.entries(this.objects.own).map(([key, id]) => [key, `${id.split('_')[0]}_none_such`]),
    ) as Ids
    await this.send('PATCH', '/account', { accountId, memberEnvAccessEnabled: true })
    const restricted = await this.platform.makeUser({ allowedAppEnvIds: [this.objects.own.appEnvId] })
    const manager = await this.platform.makeUser({ manageMembers: true })
    const revoked = await this.send('POST', '/user/tokens', { name: 'revoked' })
    await this.send('DELETE', '/user/token', { tokenId: revoked.tokenId })
    const readOnly = await this.send('POST', '/user/tokens', { name: 'read', readOnly: true })
    Object.assign(this.callers, {
      admin: { token: admin.token, of: 'main', admin: true, manages: true },
      manager: { token: manager.token, of: 'main', manages: true },
      member: { token: member.token, of: 'main' },
      'restricted member': { token: restricted.token, of: 'main', restricted: true },
      'read-only admin': { token: readOnly.token, of: 'main', admin: true, manages: true, readOnly: true },
      outsider: { token: outside.token, of: 'outside', admin: true, manages: true },
      'environment token': {
        token: await this.platform.makeEnvironmentToken(this.objects.own.appEnvId),
        of: 'environment',
      },
      'token of another environment': {
        token: await this.platform.makeEnvironmentToken(this.objects.restricted.appEnvId),
        of: 'otherEnvironment',
      },
      revoked: { token: revoked.token, of: 'nobody' },
      none: { token: null, of: 'nobody' },
    } satisfies Record<string, CallerKind>)
  }
}

function doneBackup(backupId: string, appEnvId: string, accountId: string, at: string): Backup {
  return {
    backupId,
    appEnvId,
    accountId,
    envName: 'x',
    dockerPreset: 'POSTGRESQL',
    dockerPresetVersion: '17',
    status: 'SUCCEEDED',
    format: 'pg_dump',
    sizeBytes: 1,
    sha256: 'x',
    failure: null,
    createdBy: 'usr_x',
    createdAt: at,
    finishedAt: at,
  }
}

function domainOf({ appEnvId }: Pick<Ids, 'appEnvId'>) {
  return `${appEnvId.slice(4)}.domains.example`.replaceAll('_', '-')
}

function variableStep(appEnvId: string) {
  return { operation: 'update-app-env-variables', input: { appEnvId, set: [{ name: 'X', value: 'x' }] } }
}

const remediationBody = { name: 'x', trigger: { cause: 'crash-loop' }, steps: [{ action: 'restart' }] }

function alertBody(contactPointId: string) {
  const contactPointIds = contactPointId === '' ? [] : [contactPointId]
  return {
    name: 'busy',
    metric: 'cpu_percent',
    operator: 'gt',
    threshold: 80,
    duration: '1m',
    contactPointIds,
  }
}
