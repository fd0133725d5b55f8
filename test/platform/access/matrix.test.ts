import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import { isRead, type Operation, type Policy } from '../../../src/contract/operation.ts'
import type { Backup } from '../../../src/domain/databases/backup.ts'
import { insertBackup } from '../../../src/store/repositories/backups.ts'
import { insertJobRun } from '../../../src/store/repositories/job-runs.ts'
import { sampleInput } from '../../../testkit/api/sample-input.ts'
import { storedRun } from '../../../testkit/jobs/stored-run.ts'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

type ObjectKind = 'own' | 'restricted' | 'foreign' | 'unknown' | 'deleted'
type Ids = Record<
  | 'accountId'
  | 'appId'
  | 'appEnvId'
  | 'membershipId'
  | 'contactPointId'
  | 'alertId'
  | 'jobRunId'
  | 'backupId'
  | 'entryId',
  string
>
interface CallerKind {
  token: string | null
  /** Whose account `own` is; `outside` sees the main account as foreign. */
  of: 'main' | 'outside' | 'environment' | 'otherEnvironment' | 'nobody'
  admin?: boolean
  manages?: boolean
  restricted?: boolean
  readOnly?: boolean
}

let platform: TestPlatform
const objects = {} as Record<ObjectKind, Ids>
const callers: Record<string, CallerKind> = {}

const send = async (
  method: string,
  path: string,
  input: Record<string, unknown>,
  token = platform.admin.token,
) => {
  const answer = await platform.request(method, path, { token, input })
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.text}`)
  return answer.json
}

/** One object of every kind, related to each other, in the account of `token`. */
async function makeObjects(accountId: string, token: string, membershipId: string): Promise<Ids> {
  const by = platform.client(token)
  const { appId, appEnvId } = await platform.makeEnvironment({ by, accountId })
  const { contactPoint } = await send(
    'POST',
    '/contact-point',
    { accountId, name: 'hook', type: 'webhook', config: { url: 'https://hooks.example.com/x' } },
    token,
  )
  const { contactPointId } = contactPoint
  const { alert } = await send('POST', '/app-env/alert', { appEnvId, ...alertBody(contactPointId) }, token)
  const jobRunId = `run_${appEnvId.slice(4)}`
  await platform.db.write((tx) =>
    insertJobRun(tx, {
      ...storedRun(jobRunId, { appEnvId, accountId }, platform.now),
      status: 'SUCCEEDED',
      finishedAt: platform.now,
      exitCode: 0,
    }),
  )
  await send('PATCH', '/app-env/containers', { appEnvId, containers: 2 }, token)
  const { entries } = await send('GET', '/audit', { accountId, objectId: appEnvId, limit: 1 }, token)
  const ids = { accountId, appId, appEnvId, membershipId, contactPointId }
  const backupId = `bak_${appEnvId.slice(4)}`
  await platform.db.write((tx) => insertBackup(tx, doneBackup(backupId, appEnvId, accountId)))
  return { ...ids, alertId: alert.alertId, jobRunId, backupId, entryId: entries[0].entryId }
}

function doneBackup(backupId: string, appEnvId: string, accountId: string): Backup {
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
    createdAt: platform.now,
    finishedAt: platform.now,
  }
}

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

beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  const { accountId, admin } = platform
  const member = await platform.makeUser()
  objects.own = await makeObjects(accountId, admin.token, member.membershipId)
  objects.restricted = { ...(await makeObjects(accountId, admin.token, member.membershipId)) }
  const deleted = await makeObjects(accountId, admin.token, (await platform.makeUser()).membershipId)
  await send('DELETE', '/app-env', { appEnvId: deleted.appEnvId })
  await send('DELETE', '/app', { appId: deleted.appId })
  await send('DELETE', '/contact-point', { contactPointId: deleted.contactPointId })
  await send('DELETE', '/member', { accountId, membershipId: deleted.membershipId })
  objects.deleted = { ...deleted, accountId: 'acc_gone', entryId: 'aud_gone' }
  const outside = await platform.makeUser({ accountId: await platform.makeAccount('Outside'), admin: true })
  const outsideAccount = (await send('GET', '/accounts', {}, outside.token)).accounts[0].accountId
  objects.foreign = await makeObjects(outsideAccount, outside.token, outside.membershipId)
  objects.unknown = Object.fromEntries(Object.keys(objects.own).map((key) => [key, 'none_such'])) as Ids
  await send('PATCH', '/account', { accountId, memberEnvAccessEnabled: true })
  const restricted = await platform.makeUser({ allowedAppEnvIds: [objects.own.appEnvId] })
  const manager = await platform.makeUser({ manageMembers: true })
  const revoked = await send('POST', '/user/tokens', { name: 'revoked' })
  await send('DELETE', '/user/token', { tokenId: revoked.tokenId })
  const readOnly = await send('POST', '/user/tokens', { name: 'read', readOnly: true })
  Object.assign(callers, {
    admin: { token: admin.token, of: 'main', admin: true, manages: true },
    manager: { token: manager.token, of: 'main', manages: true },
    member: { token: member.token, of: 'main' },
    'restricted member': { token: restricted.token, of: 'main', restricted: true },
    'read-only admin': { token: readOnly.token, of: 'main', admin: true, manages: true, readOnly: true },
    outsider: { token: outside.token, of: 'outside', admin: true, manages: true },
    'environment token': {
      token: await platform.makeEnvironmentToken(objects.own.appEnvId),
      of: 'environment',
    },
    'token of another environment': {
      token: await platform.makeEnvironmentToken(objects.restricted.appEnvId),
      of: 'otherEnvironment',
    },
    revoked: { token: revoked.token, of: 'nobody' },
    none: { token: null, of: 'nobody' },
  } satisfies Record<string, CallerKind>)
})
afterAll(() => platform.close())

/** The ids that a policy uses, and the kinds of object that it distinguishes. */
const named: Record<Policy['on'], { keys: (keyof Ids)[]; kinds: ObjectKind[] }> = {
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
  'audit-entry': { keys: ['entryId'], kinds: ['own', 'restricted', 'foreign', 'unknown'] },
}

/** Other required inputs of a row, so that the outcome depends only on access. */
const rest: Record<string, () => Record<string, unknown>> = {
  'update-account': () => ({ memberEnvAccessEnabled: true }),
  'create-app': () => ({ name: 'x', port: 8080 }),
  'create-app-env': () => ({ name: 'x', region: 'local' }),
  'notify-code-upload': () => ({ storageKey: 'upl_x' }),
  'deploy-app-env-image': () => ({ image: 'registry.example.com/x:1' }),
  'compare-app-env-versions': () => ({ from: 1, to: 1 }),
  'scale-app-env-containers': () => ({ containers: 2 }),
  'get-app-env-metrics-series': () => ({ metric: 'cpu_percent' }),
  'add-member': () => ({ email: 'x@example.com', name: 'X' }),
  'revoke-user-token': () => ({ tokenId: 'tok_x' }),
  'accept-invitation': () => ({ invitationId: 'inv_x' }),
  'decline-invitation': () => ({ invitationId: 'inv_x' }),
  'create-contact-point': () => ({ name: 'x', type: 'email', config: { addresses: ['x@example.com'] } }),
  'create-alert': () => alertBody(''),
  'restore-app-env-backup': () => ({ backupId: objects.own.backupId }),
}

/** For these, the matrix names an object that does not exist. */
const ofNobody = new Set(['revoke-user-token', 'accept-invitation', 'decline-invitation'])

type Verdict = 401 | 403 | 404 | 'allowed'

/** The permissions (docs/interface.md#permissions), duplicated here on purpose. */
function expected(row: Operation, caller: CallerKind, kind: ObjectKind): Verdict {
  if (caller.of === 'nobody') return 401
  if (caller.readOnly && !isRead(row)) return 403
  const { policy } = row
  if (caller.of === 'environment' || caller.of === 'otherEnvironment') {
    if (!('environmentToken' in policy)) return 403
    if (policy.on === 'installation') return 'allowed'
    if (kind !== 'own' && kind !== 'restricted') return 404
    return (kind === 'own') === (caller.of === 'environment') ? 'allowed' : 403
  }
  if ('operatorOnly' in policy) return caller.of === 'main' && caller.admin ? 'allowed' : 403
  if (policy.on === 'installation') return ofNobody.has(row.id) ? 404 : 'allowed'
  const reachable = caller.of === 'main' ? ['own', 'restricted'] : ['foreign']
  if (!reachable.includes(kind)) return 404
  if (caller.restricted && kind === 'restricted') return 403
  const needs = 'needs' in policy ? policy.needs : undefined
  if (needs === 'admin' && !caller.admin) return 403
  if (needs === 'manageMembers' && !caller.manages) return 403
  return 'allowed'
}

function inputFor(row: Operation, kind: ObjectKind): Record<string, unknown> {
  const ids = objects[kind]
  // Accounts cannot be deleted, so deleted objects belong to an existing account.
  const accountId =
    kind === 'deleted' && row.policy.on === 'new-environment' ? objects.own.accountId : ids.accountId
  const all = { ...ids, accountId }
  const picked = Object.fromEntries(named[row.policy.on].keys.map((key) => [key, all[key]]))
  return { ...sampleInput(row), ...picked, ...rest[row.id]?.() }
}

/** Writes are dry runs, so that cells do not affect each other. */
async function ask(row: Operation, caller: CallerKind, kind: ObjectKind) {
  return platform.request(row.method, row.path, {
    token: caller.token,
    input: inputFor(row, kind),
    headers: isRead(row) ? {} : { 'dry-run': 'true' },
  })
}

function tokenIsTheReason(error: string): boolean {
  return error === 'This token is read-only' || error === 'This operation needs a user token'
}

/** The same call through a tool: as a dry run, and without waiting. */
function toolInputFor(row: Operation, kind: ObjectKind): Record<string, unknown> {
  const input = inputFor(row, kind)
  if (isRead(row)) return input
  const grants = row.id === 'update-member-env-access' ? { grantFullAccess: true } : {}
  return { ...input, ...grants, dryRun: true }
}

describe('permissions', () => {
  it('A1 A2 A3 A4 A5 M1 M2 M7 M8 every operation, caller and object gets the specified response', async () => {
    const wrong: string[] = []
    let cells = 0
    for (const row of operations) {
      for (const [name, caller] of Object.entries(callers)) {
        for (const kind of named[row.policy.on].kinds) {
          cells += 1
          const { status, text } = await ask(row, caller, kind)
          const verdict = status === 401 || status === 403 || status === 404 ? status : 'allowed'
          const wanted = expected(row, caller, kind)
          if (verdict !== wanted || status >= 500)
            wrong.push(`${row.id} × ${name} × ${kind}: ${status}, not ${wanted}: ${text.slice(0, 160)}`)
        }
      }
    }
    expect(wrong).toEqual([])
    expect(cells).toBeGreaterThan(2_000)
  })

  it('M7 every tool gives every caller the same outcome as REST, for every object', async () => {
    const wrong: string[] = []
    let cells = 0
    for (const [name, caller] of Object.entries(callers)) {
      const session = await openToolSession(platform.apiUrl, {
        token: caller.token ?? `lsu_${'a'.repeat(49)}`,
      })
      for (const row of operations.filter(({ peopleOnly }) => peopleOnly !== true)) {
        const said = new Map<ObjectKind, string>()
        for (const kind of named[row.policy.on].kinds) {
          cells += 1
          const { status, json } = await ask(row, caller, kind)
          const { isError, structured, text } = await session.call(row.id, toolInputFor(row, kind))
          if (expected(row, caller, kind) === 404) said.set(kind, text)
          // A tool's early checks may report another problem of the same call first: invalid input or a wrong object
          // before a missing permission.
          const mayDiffer = [400, 409].includes(status) || tokenIsTheReason(json?.error)
          const same = isError
            ? status !== 200 && (mayDiffer || structured.error === json.error)
            : status === 200
          if (!same)
            wrong.push(`${row.id} × ${name} × ${kind}: ${status} ${json?.error}, not ${text.slice(0, 200)}`)
        }
        // Callers without access cannot distinguish foreign, deleted and unknown objects.
        if (new Set(said.values()).size > 1)
          wrong.push(`${row.id} × ${name}: ${[...said.values()].join(' / ')}`)
      }
      await session.close()
    }
    expect(wrong).toEqual([])
    expect(cells).toBeGreaterThan(1_500)
  })

  it('answers foreign, deleted and unknown objects with the same bytes', async () => {
    const different: string[] = []
    for (const row of operations) {
      const { kinds } = named[row.policy.on]
      for (const [name, caller] of Object.entries(callers)) {
        if (caller.of === 'nobody' || !kinds.includes('unknown')) continue
        const unknown = await ask(row, caller, 'unknown')
        const others = kinds.filter((kind) => expected(row, caller, kind) === 404)
        for (const kind of others) {
          const other = await ask(row, caller, kind)
          if (other.text !== unknown.text || other.status !== unknown.status) {
            different.push(`${row.id} × ${name} × ${kind}: ${other.text} / ${unknown.text}`)
          }
        }
      }
    }
    expect(different).toEqual([])
  })

  it('handles envName like appEnvId, and foreign names like unknown ones', async () => {
    const names = new Map<ObjectKind, string>()
    for (const [kind, by] of [
      ['own', platform.admin.token],
      ['restricted', platform.admin.token],
      ['foreign', callers.outsider!.token as string],
    ] as const) {
      names.set(kind, (await send('GET', '/app-env', { appEnvId: objects[kind].appEnvId }, by)).cliEnvName)
    }
    const wrong: string[] = []
    for (const row of operations.filter(({ policy }) => policy.on === 'environment')) {
      for (const [name, caller] of Object.entries(callers)) {
        const headers: Record<string, string> = isRead(row) ? {} : { 'dry-run': 'true' }
        const by = async (kind: ObjectKind) => {
          const { appEnvId: _, ...input } = inputFor(row, kind)
          const envName = names.get(kind) ?? 'nobody-has-this'
          return platform.request(row.method, row.path, {
            token: caller.token,
            input: { ...input, envName },
            headers,
          })
        }
        const unknown = await by('unknown')
        for (const kind of ['own', 'restricted', 'foreign'] as const) {
          const { status, text } = await by(kind)
          const wanted = expected(row, caller, kind)
          const verdict = status === 401 || status === 403 || status === 404 ? status : 'allowed'
          const leaks = wanted === 404 && text !== unknown.text
          if (verdict !== wanted || leaks)
            wrong.push(`${row.id} × ${name} × ${kind}: ${status} ${text.slice(0, 100)}`)
        }
      }
    }
    expect(wrong).toEqual([])
  })
})
