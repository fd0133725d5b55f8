import { afterAll, beforeAll, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { createAppEnvBackup, getAppEnvBackup } from '../../../src/contract/backups.ts'
import { findBackup, saveBackup } from '../../../src/store/repositories/backups.ts'
import { FakeEngine } from '../../../testkit/fakes/engine.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

const engine = new FakeEngine()
let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ engine })
})
afterAll(() => platform.close())

const call: TestPlatform['admin']['client']['call'] = (...args) => platform.admin.client.call(...args)

async function database(): Promise<string> {
  const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'POSTGRESQL' } })
  await untilRead(
    () => call(getAppEnvStatus, { appEnvId }),
    ({ status }) => status === 'RUNNING',
    'RUNNING',
  )
  return appEnvId
}

async function backedUp(appEnvId: string) {
  const { backup } = await call(createAppEnvBackup, { appEnvId })
  const ended = await untilRead(
    () => call(getAppEnvBackup, { backupId: backup.backupId }),
    (one) => one.backup.status === 'SUCCEEDED',
    'SUCCEEDED',
  )
  return ended.backup
}

it('names in a dry run what roles and settings lose', async () => {
  const from = await database()
  const roles = [
    { name: 'report', owns: 0, granted: 2 },
    { name: 'app', owns: 3, granted: 0 },
  ]
  engine.host.access.set(from, { user: 'u', roles, settings: ['work_mem'], limitsConnections: true })
  const { backupId } = await backedUp(from)
  const effects = async (appEnvId: string) => {
    const dryRun = { 'dry-run': 'true' }
    const answer = await platform.request('POST', '/app-env/restore', {
      token: platform.admin.token,
      input: { appEnvId, backupId },
      headers: dryRun,
    })
    return answer.json.effects.slice(1)
  }
  const kept = expect.stringMatching(/^Owner, connection limit, .* stay as the database has them now/)
  expect(await effects(from)).toEqual([
    kept,
    'Keeps grants, owners and default privileges of the roles that it still has (report, app).',
  ])
  expect(await effects(await database())).toEqual([
    kept,
    'Loses what the role report had, unless the database has a role of that name: 2 entries in grants, default privileges and policies.',
    'Loses what the role app had, unless the database has a role of that name: the ownership of 3 objects, which pass to the user of the database.',
    'Does not bring the settings of the original: work_mem.',
    'Does not bring who may connect to the original, and how often.',
  ])
  engine.host.access.delete(from)
  const older = await backedUp(from)
  await platform.db.write(async (tx) => {
    const { access: _, ...before } = (await findBackup(tx, older.backupId))!
    await saveBackup(tx, before)
  })
  const answer = await platform.request('POST', '/app-env/restore', {
    token: platform.admin.token,
    input: { appEnvId: from, backupId: older.backupId },
    headers: { 'dry-run': 'true' },
  })
  expect(answer.json.effects[2]).toMatch(/^Loses all grants and revocations, owners/)
})
