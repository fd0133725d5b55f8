import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import { isRead } from '../../../src/contract/operation.ts'
import { subjectOf } from '../../../src/operations/core/refusal-audit.ts'
import { insertBackup } from '../../../src/store/repositories/backups.ts'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
let member: TestUser
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  member = await platform.makeUser()
})
afterAll(() => platform.close())

const call = (
  method: string,
  path: string,
  input: Record<string, unknown> = {},
  token = platform.admin.token,
) => platform.request(method, path, { token, input })

interface Entry {
  entryId: string
  operation: string
  objectType: string
  objectId: string
  outcome: string
}

/** Every entry that a caller can read. */
async function entriesFor(token: string, more: Record<string, unknown> = {}): Promise<Entry[]> {
  const entries: Entry[] = []
  let cursor: string | null = null
  do {
    const input = { accountId: platform.accountId, limit: 7, ...more, ...(cursor ? { cursor } : {}) }
    const { json } = await call('GET', '/audit', input, token)
    entries.push(...json.entries)
    cursor = json.cursor
  } while (cursor)
  return entries
}

async function addBackup(appEnvId: string): Promise<string> {
  const { accountId, now: createdAt, admin, db } = platform
  const backupId = `bkp_${appEnvId.slice(4)}`
  await db.write((tx) =>
    insertBackup(tx, {
      ...{ backupId, appEnvId, accountId, createdAt, status: 'SUCCEEDED', createdBy: admin.userId },
      ...{ dockerPreset: 'POSTGRESQL', dockerPresetVersion: '15', name: 'prod', sizeBytes: 1, sha256: 'x' },
      ...{ file: null, finishedAt: createdAt, failure: null },
    } as unknown as Parameters<typeof insertBackup>[1]),
  )
  return backupId
}

/** Entries of every kind about an environment, done and rejected. */
async function busyEnvironment(): Promise<{ appId: string; appEnvId: string; objectIds: string[] }> {
  const { appId, appEnvId } = await platform.makeEnvironment({ app: { name: 'hidden words' } })
  const set = [{ name: 'COLOR', value: `value-of-${appEnvId}`, isSecret: false }]
  await call('PATCH', '/app-env/variables', { appEnvId, set })
  await call('POST', '/app-env/token', { appEnvId })
  await call('POST', '/app-env/request-storage-key', { appEnvId })
  const rule = { metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '1m' }
  const { json } = await call('POST', '/app-env/alert', { appEnvId, name: 'A', contactPointIds: [], ...rule })
  const { alertId } = json.alert
  await call('DELETE', '/alert', { alertId }, member.token)
  await call('POST', '/app-env/token', { appEnvId }, member.token)
  const backupId = await addBackup(appEnvId)
  await call('DELETE', '/app-env/backup', { backupId }, member.token)
  return { appId, appEnvId, objectIds: [appId, appEnvId, alertId, backupId] }
}

describe('M2 the audit log for a member with restricted access', () => {
  it('omits only entries of environments that the member cannot access', async () => {
    const open = await busyEnvironment()
    const hidden = await busyEnvironment()
    await call('PATCH', '/account', { accountId: platform.accountId, memberEnvAccessEnabled: true })
    const restricted = await platform.makeUser({ admin: true, allowedAppEnvIds: [open.appEnvId] })
    const whole = await entriesFor(platform.admin.token)
    const seen = await entriesFor(restricted.token)
    const ofHidden = whole.filter(
      (entry) => hidden.objectIds.includes(entry.objectId) || JSON.stringify(entry).includes(hidden.appEnvId),
    )
    // Two creations, variables, token, upload, alert, and three rejected writes.
    expect(ofHidden.length).toBeGreaterThanOrEqual(9)
    const hiddenIds = new Set(ofHidden.map(({ entryId }) => entryId))
    expect(seen).toEqual(whole.filter(({ entryId }) => !hiddenIds.has(entryId)))
    expect(JSON.stringify(seen)).not.toContain(`value-of-${hidden.appEnvId}`)
    expect(JSON.stringify(seen)).toContain(`value-of-${open.appEnvId}`)
    for (const objectId of hidden.objectIds) {
      expect(await entriesFor(restricted.token, { objectId })).toEqual([])
      expect((await entriesFor(platform.admin.token, { objectId })).length).toBeGreaterThan(0)
    }
    // A hidden entry cannot be undone, and a dry run reveals nothing about it.
    const { entryId } = ofHidden.find(({ operation }) => operation === 'update-app-env-variables')!
    for (const dryRun of ['true', 'false']) {
      const headers = { 'dry-run': dryRun }
      const options = { token: restricted.token, input: { entryId }, headers }
      const refused = await platform.request('POST', '/audit/undo', options)
      expect(refused.status).toBe(403)
      expect(refused.text).not.toContain('variables')
    }
    // M5: when it is off, all entries are visible again.
    await call('PATCH', '/account', { accountId: platform.accountId, memberEnvAccessEnabled: false })
    expect((await entriesFor(restricted.token)).length).toBe((await entriesFor(platform.admin.token)).length)
  })
})

describe('a rejected write', () => {
  it('is recorded with its object, such as a backup', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const backupId = await addBackup(appEnvId)
    expect((await call('DELETE', '/app-env/backup', { backupId }, member.token)).status).toBe(403)
    const [entry] = await entriesFor(platform.admin.token, { objectId: backupId })
    expect(entry).toMatchObject({
      operation: 'delete-app-env-backup',
      objectType: 'backup',
      outcome: 'refused',
    })
  })

  const writes = operations.filter((operation) => !isRead(operation))
  it.each(writes.map((operation) => [operation.id, operation] as const))(
    '%s names its object',
    (_id, operation) => {
      const fields = Object.keys(operation.input.shape)
      // The limits of a new token name no object of the call.
      const ids =
        operation.id === 'create-user-token' ? [] : fields.filter((field) => /Id$|^envName$/.test(field))
      const input = Object.fromEntries(ids.map((field) => [field, `x-${field}`]))
      const { objectType, objectId } = subjectOf({ operation, input })
      expect(objectType === 'installation').toBe(ids.length === 0)
      if (ids.length > 0) expect(ids.map((field) => `x-${field}`)).toContain(objectId)
    },
  )
})
