import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { insertBackup } from '../../../src/store/repositories/backups.ts'
import { deferred } from '../../../testkit/deferred.ts'
import { until } from '../../../testkit/engines/suite-installation.ts'
import { FakeEngine } from '../../../testkit/fakes/engine.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { LateReads } from '../../../testkit/store/late-reads.ts'

const engine = new FakeEngine()
const reads = new LateReads()
let platform: TestPlatform

beforeAll(async () => {
  platform = await TestPlatform.start({ engine, wrapDb: reads.wrap })
})
afterAll(() => platform.close())

async function request(method: string, pathname: string, input: Record<string, unknown>, token?: string) {
  return await platform.request(method, pathname, { token: token ?? platform.admin.token, input })
}

async function database(dockerPreset = 'POSTGRESQL', rows = 'one, two'): Promise<string> {
  const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset } })
  return running(appEnvId, rows)
}

async function running(appEnvId: string, rows = 'one, two'): Promise<string> {
  await until(`${appEnvId} runs`, async () => {
    const { json } = await request('GET', '/app-env/status', { appEnvId })
    return json.status === 'RUNNING' ? json : null
  })
  engine.host.databases.set(appEnvId, rows)
  return appEnvId
}

function ended(backupId: string) {
  return until(`${backupId} has ended`, async () => {
    const { json } = await request('GET', '/app-env/backup', { backupId })
    const all = [json.backup, ...json.restores]
    return all.every(({ finishedAt }) => finishedAt !== null) ? json : null
  })
}

async function backedUp(appEnvId: string) {
  const { json } = await request('POST', '/app-env/backup', { appEnvId })
  return (await ended(json.backup.backupId)).backup
}

/** The environments of a look for backups and restores to make. */
function activeIn(result: unknown): string[] {
  const { work } = (result ?? {}) as { work?: { of: { appEnvId: string } }[] }
  return work?.map(({ of }) => of.appEnvId) ?? []
}

const fileOf = (file: string) => path.join(platform.dir, file)

describe('a backup', () => {
  it('is a file of mode 0600 with its size, hash and time, and is in history and audit', async () => {
    const appEnvId = await database()
    const asked = await request('POST', '/app-env/backup', { appEnvId })
    expect(asked.json).toMatchObject({
      success: true,
      appEnv: { appEnvId, status: 'RUNNING' },
      backup: { appEnvId, status: 'PENDING', sizeBytes: null, sha256: null, file: null },
    })
    const { backupId } = asked.json.backup
    const { backup, restores } = await ended(backupId)
    expect(restores).toEqual([])
    const content = readFileSync(fileOf(backup.file))
    expect(content.toString()).toBe('one, two')
    expect(statSync(fileOf(backup.file)).mode & 0o777).toBe(0o600)
    expect(statSync(path.dirname(fileOf(backup.file))).mode & 0o777).toBe(0o700)
    expect(backup).toMatchObject({
      status: 'SUCCEEDED',
      sizeBytes: 8,
      sha256: createHash('sha256').update(content).digest('hex'),
      finishedAt: expect.any(String),
      failure: null,
    })
    const { activities } = (await request('GET', '/app-env/history', { appEnvId })).json
    expect(activities.filter((one: { activity: string }) => one.activity === 'BACKUP')).toHaveLength(2)
    const { entries } = (await request('GET', '/audit', { accountId: platform.accountId })).json
    expect(entries.map((entry: { objectId: string }) => entry.objectId)).toContain(backupId)
    const list = await request('GET', '/app-env/backups', { accountId: platform.accountId, appEnvId })
    expect(list.json).toEqual({ backups: [backup], restores: [] })
  })

  it('that fails half-way reports the reason and leaves no file', async () => {
    const appEnvId = await database()
    engine.faults.failDumps = 'the server went away'
    const backup = await backedUp(appEnvId)
    engine.faults.failDumps = null
    expect(backup).toMatchObject({ status: 'FAILED', failure: 'the server went away', file: null })
    expect(existsSync(path.join(platform.dir, 'backups', appEnvId))).toBe(false)
  })

  it('interrupted by a crash starts again, and ignores the partial file', async () => {
    const appEnvId = await database()
    const { backupId } = await backedUp(appEnvId)
    const backup = await platform.db.read((tx) =>
      tx.selectFrom('backups').selectAll().where('backup_id', '=', backupId).executeTakeFirstOrThrow(),
    )
    const cut = { ...JSON.parse(backup.record), backupId: 'bak_cut', status: 'RUNNING', finishedAt: null }
    await platform.db.write((tx) => insertBackup(tx, { ...cut, sha256: null, sizeBytes: null }))
    writeFileSync(fileOf(`backups/${appEnvId}/bak_cut.dump.part`), 'on')
    writeFileSync(fileOf(`backups/${appEnvId}/bak_nobody.dump`), 'left behind')
    await platform.restart()
    expect((await ended('bak_cut')).backup).toMatchObject({ status: 'SUCCEEDED', sizeBytes: 8 })
    const names = readdirSync(path.join(platform.dir, 'backups', appEnvId)).sort()
    expect(names).toEqual([`${backupId}.dump`, 'bak_cut.dump'].sort())
  })

  it('of MySQL is gzip, and comes back as it was', async () => {
    const appEnvId = await database('MYSQL', 'insert into rows')
    const backup = await backedUp(appEnvId)
    expect([...readFileSync(fileOf(backup.file)).subarray(0, 2)]).toEqual([0x1f, 0x8b])
    engine.host.databases.set(appEnvId, 'others')
    await request('POST', '/app-env/restore', { appEnvId, backupId: backup.backupId })
    await ended(backup.backupId)
    expect(engine.host.databases.get(appEnvId)).toBe('insert into rows')
  })

  it('outlives its environment, and goes with its file when a person deletes it', async () => {
    const appEnvId = await database()
    const backup = await backedUp(appEnvId)
    const rehearsed = await platform.request('DELETE', '/app-env', {
      token: platform.admin.token,
      input: { appEnvId },
      headers: { 'dry-run': 'true' },
    })
    expect(rehearsed.json.effects.join(' ')).toContain('1 backup stays')
    await request('DELETE', '/app-env', { appEnvId })
    const other = await database('POSTGRESQL', '')
    await request('POST', '/app-env/restore', { appEnvId: other, backupId: backup.backupId })
    await ended(backup.backupId)
    expect(engine.host.databases.get(other)).toBe('one, two')
    const { backupId } = backup
    expect((await request('DELETE', '/app-env/backup', { backupId })).status).toBe(200)
    await until('its file is gone', async () =>
      readdirSync(path.join(platform.dir, 'backups')).includes(appEnvId) ? null : true,
    )
    expect((await request('GET', '/app-env/backup', { backupId })).status).toBe(404)
  })

  it('is rejected for apps, unsupported presets and stopped environments; at most 30 are kept', async () => {
    const { appEnvId: app } = await platform.makeEnvironment()
    const couch = await database('COUCHDB')
    for (const appEnvId of [app, couch]) {
      const refused = await request('POST', '/app-env/backup', { appEnvId })
      expect(refused.status).toBe(400)
      expect(refused.json.error).toBe('Backups are for PostgreSQL, MySQL, Redis and volumes')
    }
    const redis = await database('REDIS')
    const record = (await backedUp(redis)) as Parameters<typeof insertBackup>[1]
    await platform.db.write(async (tx) => {
      for (let n = 1; n < 30; n++) await insertBackup(tx, { ...record, backupId: `bak_${n}_${redis}` })
    })
    expect((await request('POST', '/app-env/backup', { appEnvId: redis })).status).toBe(400)
    const stopped = await database()
    await request('POST', '/app-env/stop', { appEnvId: stopped })
    expect((await request('POST', '/app-env/backup', { appEnvId: stopped })).json.error).toContain('stopped')
  })
})

describe('a restore', () => {
  it('replaces the data of another environment of the preset, and of no other preset', async () => {
    const from = await database()
    const { backupId } = await backedUp(from)
    const into = await database('POSTGRESQL', 'old')
    const answer = await request('POST', '/app-env/restore', { appEnvId: into, backupId })
    expect(answer.json).toMatchObject({
      success: true,
      appEnv: { appEnvId: into },
      restore: { backupId, appEnvId: into, status: 'PENDING' },
    })
    expect((await ended(backupId)).restores[0]).toMatchObject({ status: 'SUCCEEDED', failure: null })
    expect(engine.host.databases.get(into)).toBe('one, two')
    const list = await request('GET', '/app-env/backups', { accountId: platform.accountId, appEnvId: into })
    expect(list.json).toMatchObject({ backups: [], restores: [{ backupId, status: 'SUCCEEDED' }] })
    const redis = await database('REDIS')
    const refused = await request('POST', '/app-env/restore', { appEnvId: redis, backupId })
    expect(refused.json.error).toBe('A POSTGRESQL backup needs a POSTGRESQL environment')
  })

  it('refuses a backup of a newer version, which the older program may not read, and takes an older one', async () => {
    const ofVersion = async (dockerPreset: string, dockerPresetVersion: string) => {
      const environment = { dockerPresetVersion }
      const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset }, environment })
      return appEnvId
    }
    const newer = await backedUp(await running(await ofVersion('REDIS', '7.4')))
    const older = await running(await ofVersion('REDIS', '7.2'))
    const refused = await request('POST', '/app-env/restore', { appEnvId: older, backupId: newer.backupId })
    expect([refused.status, refused.json]).toMatchObject([
      400,
      {
        error: 'A backup of REDIS 7.4 needs that version or a newer one',
        details: expect.stringContaining('REDIS 7.2'),
      },
    ])
    const { backupId } = await backedUp(older)
    const into = await running(await ofVersion('REDIS', '7.4'))
    expect((await request('POST', '/app-env/restore', { appEnvId: into, backupId })).status).toBe(200)
    const vectors = await backedUp(await running(await ofVersion('POSTGRESQL', '16-pgvector')))
    const plain = await running(await ofVersion('POSTGRESQL', '16'))
    const taken = await request('POST', '/app-env/restore', { appEnvId: plain, backupId: vectors.backupId })
    expect(taken.status).toBe(200)
  })

  it('of a damaged file fails before replacing any data', async () => {
    const appEnvId = await database()
    const { backupId, file } = await backedUp(appEnvId)
    writeFileSync(fileOf(file), 'one, twx')
    engine.host.databases.set(appEnvId, 'newer')
    await request('POST', '/app-env/restore', { appEnvId, backupId })
    const [restore] = (await ended(backupId)).restores
    expect(restore).toMatchObject({
      status: 'FAILED',
      failure: expect.stringContaining('changed since it was written'),
    })
    expect(engine.host.databases.get(appEnvId)).toBe('newer')
  })

  it('is made once, although a look for work reads it before its end and gets the rows after', async () => {
    const [appEnvId, other] = [await database(), await database()]
    const { backupId } = await backedUp(appEnvId)
    const begun = deferred()
    const goOn = deferred()
    const rowsCome = deferred()
    const load = engine.loadDatabase.bind(engine)
    const loads = vi.spyOn(engine, 'loadDatabase').mockImplementation(async (...args) => {
      begun.resolve()
      await goOn.promise
      await load(...args)
    })
    await request('POST', '/app-env/restore', { appEnvId, backupId })
    await begun.promise
    const looked = reads.hold((result) => activeIn(result).includes(appEnvId), rowsCome.promise)
    // Leads to a look for work.
    const asked = await request('POST', '/app-env/backup', { appEnvId: other })
    await looked
    goOn.resolve()
    await ended(backupId)
    engine.host.databases.set(appEnvId, 'written after the restore')
    rowsCome.resolve()
    await ended(asked.json.backup.backupId)
    await backedUp(other)
    expect(engine.host.databases.get(appEnvId)).toBe('written after the restore')
    expect(loads).toHaveBeenCalledTimes(1)
    loads.mockRestore()
  })

  it('A3 M2 is for admins, within one account, from accessible environments', async () => {
    const appEnvId = await database()
    const { backupId } = await backedUp(appEnvId)
    const member = await platform.makeUser()
    const refused = await request('POST', '/app-env/restore', { appEnvId, backupId }, member.token)
    expect(refused.status).toBe(403)
    expect((await request('POST', '/app-env/backup', { appEnvId }, member.token)).status).toBe(200)
    const outside = await platform.makeAccount('Elsewhere')
    const both = await platform.makeUser({ accountId: outside, admin: true })
    const foreign = await request('GET', '/app-env/backup', { backupId }, both.token)
    const unknown = await request('GET', '/app-env/backup', { backupId: 'bak_none' }, both.token)
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
  })
})

it('an account without backups has an empty list', async () => {
  const empty = await platform.makeAccount('Empty')
  const { token } = await platform.makeUser({ accountId: empty, admin: true })
  const { status, json } = await request('GET', '/app-env/backups', { accountId: empty }, token)
  expect([status, json.backups]).toEqual([200, []])
})
