import { describe, expect, it } from 'vitest'
import { until } from '../../../testkit/engines/suite-installation.ts'
import { variablesFixture } from '../../../testkit/platform/variables-fixture.ts'

const fixture = variablesFixture()
const { ask, send, read, set, app, deploy, database, given } = fixture

describe('rotate-database-password', () => {
  const rotate = (appEnvId: string, token?: string) =>
    ask('POST', '/app-env/database/rotate', { appEnvId }, token)
  const rotated = (appEnvId: string) =>
    until('the rotation is done', async () => {
      const { json } = await send('GET', '/app-env/history', { appEnvId })
      const [newest] = json.activities
      return newest.activity === 'ROTATE_PASSWORD' && newest.status === 'DONE' ? true : null
    })

  it('changes the server and what refers to it, and shows the password in no answer', async () => {
    const source = await database()
    const { appEnvId } = await app()
    await set(appEnvId, { name: 'DB', from: { envName: source.envName, field: 'url' } })
    await deploy(appEnvId)
    const answer = await rotate(source.appEnvId)
    expect(answer.status, answer.text).toBe(200)
    await rotated(source.appEnvId)
    const now = new URL((await read(source.appEnvId, true)).hosts[0].url)
    expect(now.password).not.toBe(source.url.password)
    expect(fixture.platform.engine.host.passwords.get(source.appEnvId)).toEqual({
      previous: source.url.password,
      now: now.password,
    })
    expect((await read(appEnvId)).pendingChanges.hasDeployChanges).toBe(true)
    const { json: diagnosis } = await send('GET', '/app-env/diagnosis', { appEnvId })
    expect(diagnosis.findings).toMatchObject([
      {
        cause: 'pending-change',
        summary: '1 saved setting is not in force. 1 variable has a new value at the source.',
        evidence: [{ source: 'setting', text: 'envVars (DB)' }],
        fix: { operation: 'apply-app-env-changes', safe: true },
      },
    ])
    const { json: health } = await send('GET', '/account/health', { accountId: fixture.platform.accountId })
    const { cliEnvName: envName } = await read(appEnvId)
    expect(health.worst).toContainEqual({
      envName,
      severity: 'info',
      causes: ['pending-change'],
      firingAlerts: 0,
    })
    await send('POST', '/app-env/apply-changes', { appEnvId })
    await until('the new password runs', async () => (given(appEnvId).DB === now.href ? true : null))
    const audit = await send('GET', '/audit', { accountId: fixture.platform.accountId, limit: 200 })
    for (const { text } of [answer, audit])
      expect(text).not.toMatch(new RegExp(`${source.url.password}|${now.password}`))
  })

  it('goes on after a restart of the fixture.platform, and holds one rotation at a time', async () => {
    const source = await database('REDIS')
    fixture.platform.engine.faults.away = true
    try {
      expect((await rotate(source.appEnvId)).status).toBe(200)
      const second = await rotate(source.appEnvId)
      expect([second.status, second.json.error]).toEqual([409, 'The last rotation is still under way'])
    } finally {
      fixture.platform.engine.faults.away = false
    }
    await fixture.platform.restart()
    await rotated(source.appEnvId)
    expect(fixture.platform.engine.host.passwords.get(source.appEnvId)?.previous).toBe(source.url.password)
  })

  it('waits for a backup or restore, which uses the present password', async () => {
    const { appEnvId } = await database()
    fixture.platform.engine.faults.away = true
    const { json } = await send('POST', '/app-env/backup', { appEnvId })
    const { backupId } = json.backup
    const ended = (kind: string) =>
      until(`the ${kind} has ended`, async () => {
        const { accountId } = fixture.platform
        const listed = await send('GET', '/app-env/backups', { accountId, appEnvId })
        return listed.json[kind][0].status === 'SUCCEEDED' ? true : null
      })
    const refused = [409, 'A backup or restore of this environment is under way']
    const during = await rotate(appEnvId)
    fixture.platform.engine.faults.away = false
    expect([during.status, during.json.error]).toEqual(refused)
    await ended('backups')
    fixture.platform.engine.faults.away = true
    try {
      await send('POST', '/app-env/restore', { appEnvId, backupId })
      const second = await rotate(appEnvId)
      expect([second.status, second.json.error]).toEqual(refused)
    } finally {
      fixture.platform.engine.faults.away = false
    }
    await ended('restores')
    expect((await rotate(appEnvId)).status).toBe(200)
  })

  it('names a server that refuses it in the history once, and tries again', async () => {
    const source = await database()
    fixture.platform.engine.faults.failPasswords = 'permission denied'
    expect((await rotate(source.appEnvId)).status).toBe(200)
    const failures = async () => {
      const { json } = await send('GET', '/app-env/history', { appEnvId: source.appEnvId })
      return json.activities.filter(({ status }: { status: string }) => status === 'FAILED')
    }
    const [failed] = await until('a failure', async () => ((await failures()).length > 0 ? failures() : null))
    expect(failed).toMatchObject({
      activity: 'ROTATE_PASSWORD',
      details: 'permission denied It is tried again.',
    })
    fixture.platform.engine.faults.failPasswords = null
    await rotated(source.appEnvId)
    expect(await failures()).toHaveLength(1)
  })

  it('A3 is for admins, who alone may read the password', async () => {
    const source = await database()
    const { token } = await fixture.platform.makeUser()
    const refused = await rotate(source.appEnvId, token)
    expect([refused.status, refused.json.error]).toEqual([403, 'Admin permission required'])
  })

  it('is in the timeline of the database and of what refers to it', async () => {
    const source = await database()
    const { appEnvId } = await app()
    await set(appEnvId, { name: 'DB', from: { envName: source.envName, field: 'url' } })
    expect((await rotate(source.appEnvId)).status).toBe(200)
    const newest = async (id: string) =>
      (await send('GET', '/app-env/changes', { appEnvId: id })).json.changes.filter(
        ({ what }: { what: string }) => /rotate/i.test(what),
      )[0]
    expect(await newest(source.appEnvId)).toMatchObject({ kind: 'settings' })
    expect(await newest(appEnvId)).toMatchObject({
      kind: 'variables',
      what: `rotate-database-password of ${source.appEnvId}`,
      names: ['DB'],
    })
  })

  it('refuses apps, and databases with replicas', async () => {
    const { appEnvId } = await app()
    expect((await rotate(appEnvId)).json.error).toContain('Only PostgreSQL, MySQL and Redis')
    const source = await database()
    await send('PUT', '/app-env', { appEnvId: source.appEnvId, containers: 2 })
    expect((await rotate(source.appEnvId)).json.error).toBe('A database with replicas keeps its password')
  })
})
