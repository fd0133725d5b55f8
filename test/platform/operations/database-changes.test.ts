import { describe, expect, it } from 'vitest'
import { DatabaseEnvironments, settings } from '../../../testkit/databases/environments-bed.ts'
import { until } from '../../../testkit/engines/suite-installation.ts'

const bed = new DatabaseEnvironments()

describe('changing a database', () => {
  it('D4 rejects another dockerPresetVersion with the alternative', async () => {
    const appEnvId = await bed.running('POSTGRESQL')
    const same = bed.preset('POSTGRESQL').defaultVersion
    const other = bed.preset('POSTGRESQL').versions.find((version) => version.key !== same)?.key
    const refused = await bed.request('PUT', '/app-env', { appEnvId, dockerPresetVersion: other })
    expect(refused.status).toBe(400)
    expect(refused.json.details).toMatch(/new database .*migrate/)
    expect((await bed.request('PUT', '/app-env', { appEnvId, dockerPresetVersion: same })).status).toBe(200)
  })

  it('D5 keeps parameters, size and disk pending until apply, then replaces the container', async () => {
    const appEnvId = await bed.running('POSTGRESQL')
    const before = bed.engine.running().find((one) => one.spec.appEnvId === appEnvId)
    const change = { ...settings({ work_mem: '8MB', hash_mem_multiplier: 2.5 }), zClouds: 2, disk: 20_480 }
    expect((await bed.request('PUT', '/app-env', { appEnvId, ...change })).status).toBe(200)
    const pending = (await bed.read(appEnvId)).pendingChanges
    expect(pending.hasDeployChanges).toBe(true)
    expect(pending.deployPendingChanges).toContainEqual({
      group: 'Database Settings',
      field: 'databaseSettings',
    })
    expect(before?.state).toBe('running')
    await bed.request('POST', '/app-env/apply-changes', { appEnvId })
    await bed.serves(appEnvId)
    const after = bed.engine.running().filter((one) => one.spec.appEnvId === appEnvId)
    expect(after).toHaveLength(1)
    expect(after[0]?.spec.database?.parameters).toEqual({ work_mem: '8MB', hash_mem_multiplier: '2.5' })
    expect(after[0]?.spec.memoryMb).toBe(1024)
    expect(before?.state).toBe('exited')
  })

  it('never has two containers on one volume, and the port stays', async () => {
    const appEnvId = await bed.running('REDIS')
    const ofEnvironment = () => bed.engine.running().filter((one) => one.spec.appEnvId === appEnvId)
    const port = ofEnvironment()[0]?.spec.database?.ports[0]?.hostPort
    let most = 0
    const stopLooking = bed.engine.watch(() => {
      most = Math.max(most, ofEnvironment().length)
    })
    for (let round = 0; round < 3; round++) {
      await bed.request('POST', '/app-env/restart', { appEnvId })
      await bed.serves(appEnvId)
    }
    stopLooking()
    expect(most).toBe(1)
    expect(ofEnvironment()[0]?.spec.database?.ports[0]?.hostPort).toBe(port)
  })

  it('merges parameters and refuses bad ones on update too', async () => {
    const appEnvId = await bed.running('POSTGRESQL', settings({ work_mem: '8MB' }))
    await bed.request('PUT', '/app-env', { appEnvId, ...settings({ effective_cache_size: '1GB' }) })
    expect((await bed.read(appEnvId)).databaseSettings.postgresql.parameters).toEqual({
      work_mem: '8MB',
      effective_cache_size: '1GB',
    })
    const bad = await bed.request('PUT', '/app-env', { appEnvId, ...settings({ work_mem: 'lots' }) })
    expect(bad.status).toBe(400)
  })

  it('scales within maxReplicas, as a pending change', async () => {
    const appEnvId = await bed.running('COUCHDB')
    expect((await bed.request('PATCH', '/app-env/containers', { appEnvId, containers: 2 })).status).toBe(400)
    expect((await bed.request('PUT', '/app-env', { appEnvId, containers: 2 })).status).toBe(400)
    expect((await bed.request('PATCH', '/app-env/containers', { appEnvId, containers: 1 })).status).toBe(200)
  })

  it('8.database-containers: replicas start after the container they follow, each with a port and no volume of its own', async () => {
    const appEnvId = await bed.running('REDIS', { containers: 3 })
    const mine = () => bed.engine.running().filter((one) => one.spec.appEnvId === appEnvId)
    const specs = mine().map(({ spec }) => spec)
    const [first, ...others] = specs
    expect(specs).toHaveLength(3)
    expect(first?.database).toMatchObject({ persistent: true })
    expect(first?.database).not.toHaveProperty('primary')
    const hostPort = first?.database?.ports[0]?.hostPort
    for (const { database } of others)
      expect(database).toMatchObject({ persistent: false, primary: { hostPort } })
    expect(new Set(specs.map(({ internalHost }) => internalHost)).size).toBe(3)
    const urls = (await bed.read(appEnvId)).hosts.map(({ url }: { url: string }) => new URL(url).port)
    expect(urls).toEqual(specs.map(({ database }) => String(database?.ports[0]?.hostPort)))
    bed.engine.crash(others[0]?.name ?? '')
    await until('the replica is back', async () => (mine().length === 3 ? true : null))
    expect(bed.engine.running().some(({ spec }) => spec.name === first?.name)).toBe(true)
    await bed.request('PATCH', '/app-env/containers', { appEnvId, containers: 1 })
    expect((await bed.read(appEnvId)).hosts).toHaveLength(3)
    await bed.request('POST', '/app-env/apply-changes', { appEnvId })
    await bed.serves(appEnvId)
    expect(mine()).toHaveLength(1)
    expect((await bed.read(appEnvId)).hosts).toHaveLength(1)
  })

  it('has replicas only for persistent presets', async () => {
    const refused = await bed.create('REDIS', { containers: 2, withPersistence: false })
    expect([refused.status, refused.json.error]).toEqual([400, 'Replicas need persistence'])
    const appEnvId = await bed.running('REDIS', { withPersistence: false })
    const scaled = await bed.request('PATCH', '/app-env/containers', { appEnvId, containers: 2 })
    expect(scaled.json.error).toBe('Replicas need persistence')
  })

  it('accepts a read environment written back', async () => {
    const appEnvId = await bed.running('POSTGRESQL', settings({ work_mem: '8MB' }))
    const before = await bed.read(appEnvId)
    expect((await bed.request('PUT', '/app-env', before)).status).toBe(200)
    expect((await bed.read(appEnvId)).pendingChanges.hasDeployChanges).toBe(false)
  })

  it('stops, starts again and is deleted with its port', async () => {
    const appEnvId = await bed.running('REDIS')
    await bed.request('POST', '/app-env/stop', { appEnvId })
    await until('it is stopped', async () =>
      bed.engine.running().some((one) => one.spec.appEnvId === appEnvId) ? null : true,
    )
    await bed.request('POST', '/app-env/start', { appEnvId })
    await bed.serves(appEnvId)
    await bed.request('DELETE', '/app-env', { appEnvId })
    await until('it is gone', async () =>
      bed.engine.running().some((one) => one.spec.appEnvId === appEnvId) ? null : true,
    )
    const rows = await bed.platform.db.read((tx) =>
      tx.selectFrom('database_ports').selectAll().where('app_env_id', '=', appEnvId).execute(),
    )
    expect(rows).toEqual([])
  })
})
