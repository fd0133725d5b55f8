import { describe, expect, it } from 'vitest'
import { DatabaseEnvironments, settings } from '../../../testkit/databases/environments.ts'
import { until } from '../../../testkit/engines/suite-installation.ts'

const fixture = new DatabaseEnvironments()

describe('changing a database', () => {
  it('D4 rejects another dockerPresetVersion with the alternative', async () => {
    const appEnvId = await fixture.running('POSTGRESQL')
    const same = fixture.preset('POSTGRESQL').defaultVersion
    const other = fixture.preset('POSTGRESQL').versions.find((version) => version.key !== same)?.key
    const refused = await fixture.request('PUT', '/app-env', { appEnvId, dockerPresetVersion: other })
    expect(refused.status).toBe(400)
    expect(refused.json.details).toMatch(/new database .*migrate/)
    expect((await fixture.request('PUT', '/app-env', { appEnvId, dockerPresetVersion: same })).status).toBe(
      200,
    )
  })

  it('D5 keeps parameters, size and disk pending until apply, then replaces the container', async () => {
    const appEnvId = await fixture.running('POSTGRESQL')
    const before = fixture.engine.running().find((one) => one.spec.appEnvId === appEnvId)
    const change = { ...settings({ work_mem: '8MB', hash_mem_multiplier: 2.5 }), zClouds: 2, disk: 20_480 }
    expect((await fixture.request('PUT', '/app-env', { appEnvId, ...change })).status).toBe(200)
    const pending = (await fixture.read(appEnvId)).pendingChanges
    expect(pending.hasDeployChanges).toBe(true)
    expect(pending.deployPendingChanges).toContainEqual(
      expect.objectContaining({ group: 'Database Settings', field: 'databaseSettings' }),
    )
    expect(before?.state).toBe('running')
    await fixture.request('POST', '/app-env/apply-changes', { appEnvId })
    await fixture.serves(appEnvId)
    const after = fixture.engine.running().filter((one) => one.spec.appEnvId === appEnvId)
    expect(after).toHaveLength(1)
    expect(after[0]?.spec.database?.parameters).toEqual({ work_mem: '8MB', hash_mem_multiplier: '2.5' })
    expect(after[0]?.spec.memoryMb).toBe(1024)
    expect(before?.state).toBe('exited')
  })

  it('never has two containers on one volume, and the port stays', async () => {
    const appEnvId = await fixture.running('REDIS')
    const ofEnvironment = () => fixture.engine.running().filter((one) => one.spec.appEnvId === appEnvId)
    const port = ofEnvironment()[0]?.spec.database?.ports[0]?.hostPort
    let most = 0
    const stopLooking = fixture.engine.watch(() => {
      most = Math.max(most, ofEnvironment().length)
    })
    for (let round = 0; round < 3; round++) {
      await fixture.request('POST', '/app-env/restart', { appEnvId })
      await fixture.serves(appEnvId)
    }
    stopLooking()
    expect(most).toBe(1)
    expect(ofEnvironment()[0]?.spec.database?.ports[0]?.hostPort).toBe(port)
  })

  it('merges parameters and refuses bad ones on update too', async () => {
    const appEnvId = await fixture.running('POSTGRESQL', settings({ work_mem: '8MB' }))
    await fixture.request('PUT', '/app-env', { appEnvId, ...settings({ effective_cache_size: '1GB' }) })
    expect((await fixture.read(appEnvId)).databaseSettings.postgresql.parameters).toEqual({
      work_mem: '8MB',
      effective_cache_size: '1GB',
    })
    const bad = await fixture.request('PUT', '/app-env', { appEnvId, ...settings({ work_mem: 'lots' }) })
    expect(bad.status).toBe(400)
  })

  it('scales within maxReplicas, as a pending change', async () => {
    const appEnvId = await fixture.running('COUCHDB')
    expect((await fixture.request('PATCH', '/app-env/containers', { appEnvId, containers: 2 })).status).toBe(
      400,
    )
    expect((await fixture.request('PUT', '/app-env', { appEnvId, containers: 2 })).status).toBe(400)
    expect((await fixture.request('PATCH', '/app-env/containers', { appEnvId, containers: 1 })).status).toBe(
      200,
    )
  })

  it('8.database-containers: replicas start after the container they follow, each with a port and no volume of its own', async () => {
    const appEnvId = await fixture.running('REDIS', { containers: 3 })
    const mine = () => fixture.engine.running().filter((one) => one.spec.appEnvId === appEnvId)
    const specs = mine().map(({ spec }) => spec)
    const [first, ...others] = specs
    expect(specs).toHaveLength(3)
    expect(first?.database).toMatchObject({ persistent: true })
    expect(first?.database).not.toHaveProperty('primary')
    const hostPort = first?.database?.ports[0]?.hostPort
    for (const { database } of others)
      expect(database).toMatchObject({ persistent: false, primary: { hostPort } })
    expect(new Set(specs.map(({ internalHost }) => internalHost)).size).toBe(3)
    const urls = (await fixture.read(appEnvId)).hosts.map(({ url }: { url: string }) => new URL(url).port)
    expect(urls).toEqual(specs.map(({ database }) => String(database?.ports[0]?.hostPort)))
    fixture.engine.crash(others[0]?.name ?? '')
    await until('the replica is back', async () => (mine().length === 3 ? true : null))
    expect(fixture.engine.running().some(({ spec }) => spec.name === first?.name)).toBe(true)
    await fixture.request('PATCH', '/app-env/containers', { appEnvId, containers: 1 })
    expect((await fixture.read(appEnvId)).hosts).toHaveLength(3)
    await fixture.request('POST', '/app-env/apply-changes', { appEnvId })
    await fixture.serves(appEnvId)
    expect(mine()).toHaveLength(1)
    expect((await fixture.read(appEnvId)).hosts).toHaveLength(1)
  })

  it('has replicas only for persistent presets', async () => {
    const refused = await fixture.create('REDIS', { containers: 2, withPersistence: false })
    expect([refused.status, refused.json.error]).toEqual([400, 'Replicas need persistence'])
    const appEnvId = await fixture.running('REDIS', { withPersistence: false })
    const scaled = await fixture.request('PATCH', '/app-env/containers', { appEnvId, containers: 2 })
    expect(scaled.json.error).toBe('Replicas need persistence')
  })

  it('accepts a read environment written back', async () => {
    const appEnvId = await fixture.running('POSTGRESQL', settings({ work_mem: '8MB' }))
    const before = await fixture.read(appEnvId)
    expect((await fixture.request('PUT', '/app-env', before)).status).toBe(200)
    expect((await fixture.read(appEnvId)).pendingChanges.hasDeployChanges).toBe(false)
  })

  it('stops, starts again and is deleted with its port', async () => {
    const appEnvId = await fixture.running('REDIS')
    await fixture.request('POST', '/app-env/stop', { appEnvId })
    await until('it is stopped', async () =>
      fixture.engine.running().some((one) => one.spec.appEnvId === appEnvId) ? null : true,
    )
    await fixture.request('POST', '/app-env/start', { appEnvId })
    await fixture.serves(appEnvId)
    await fixture.request('DELETE', '/app-env', { appEnvId })
    await until('it is gone', async () =>
      fixture.engine.running().some((one) => one.spec.appEnvId === appEnvId) ? null : true,
    )
    const rows = await fixture.platform.db.read((tx) =>
      tx.selectFrom('database_ports').selectAll().where('app_env_id', '=', appEnvId).execute(),
    )
    expect(rows).toEqual([])
  })
})
