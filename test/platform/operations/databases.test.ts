import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DatabasePresetRead, listDatabasePresets } from '../../../src/contract/databases.ts'
import { until } from '../../../testkit/engines/suite-installation.ts'
import { FakeEngine } from '../../../testkit/fakes/engine.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const engine = new FakeEngine()
engine.knobs.missingDatabases = ['CLICKHOUSE']
let platform: TestPlatform
let presets: readonly DatabasePresetRead[]
const apps = new Map<string, string>()

beforeAll(async () => {
  platform = await TestPlatform.start({ engine })
  presets = (await platform.admin.client.call(listDatabasePresets, {})).presets
})
afterAll(() => platform.close())

async function request(method: string, path: string, input: Record<string, unknown> = {}) {
  return await platform.request(method, path, { token: platform.admin.token, input })
}

/** A request to create an environment of a preset; the app of the preset is created once. */
const createApp = (dockerPreset: string) =>
  request('POST', '/app', { name: dockerPreset, accountId: platform.accountId, dockerPreset })

async function create(dockerPreset: string, environment: Record<string, unknown> = {}) {
  if (!apps.has(dockerPreset)) apps.set(dockerPreset, (await createApp(dockerPreset)).json.appId)
  const { accountId, region } = platform
  const appId = apps.get(dockerPreset)
  return await request('POST', '/app-env', { accountId, appId, name: 'data', region, ...environment })
}

async function running(dockerPreset: string, environment: Record<string, unknown> = {}): Promise<string> {
  const { appEnvId } = (await create(dockerPreset, environment)).json
  await serves(appEnvId)
  return appEnvId
}

function serves(appEnvId: string) {
  return until(`${appEnvId} runs`, async () => {
    const { json } = await request('GET', '/app-env/status', { appEnvId })
    return json.status === 'RUNNING' && json.currentDeployment.status === 'DEPLOYED' ? json : null
  })
}

async function read(appEnvId: string, decrypt = false) {
  return (await request('GET', '/app-env', { appEnvId, ...(decrypt ? { decrypt } : {}) })).json
}

const preset = (name: string) => presets.find((one) => one.dockerPreset === name) as DatabasePresetRead

describe('GET /database-presets', () => {
  it('lists the seven presets in the documented shape', () => {
    expect(presets.map((one) => one.dockerPreset).sort()).toEqual(
      ['CLICKHOUSE', 'COUCHDB', 'MONGODB', 'MYSQL', 'POSTGRESQL', 'RABBITMQ', 'REDIS'].sort(),
    )
    for (const one of presets) {
      expect(one.versions.map((version) => version.key)).toContain(one.defaultVersion)
      expect(new Set(one.versions.map((version) => version.key)).size).toBe(one.versions.length)
      expect(one.limits.minDisk).toBeLessThanOrEqual(one.limits.defaultDisk)
      expect(one.limits.defaultDisk).toBeLessThanOrEqual(one.limits.maxDisk)
    }
    for (const name of ['POSTGRESQL', 'MYSQL', 'REDIS', 'MONGODB']) {
      expect(preset(name).versions.length, name).toBeGreaterThanOrEqual(2)
    }
    expect(preset('POSTGRESQL').versions.some((version) => version.variant === 'pgvector')).toBe(true)
    expect(preset('COUCHDB').limits.maxReplicas).toBe(1)
  })

  it('shows which presets the engine cannot run, and why', () => {
    expect(preset('CLICKHOUSE')).toMatchObject({ available: false, unavailableReason: expect.any(String) })
    expect(preset('POSTGRESQL').available).toBe(true)
    expect(preset('POSTGRESQL')).not.toHaveProperty('unavailableReason')
  })

  it('needs a user', async () => {
    expect((await platform.request('GET', '/database-presets')).status).toBe(401)
  })
})

describe('the settings of a database environment', () => {
  it.each([
    ['D3 CouchDB with two containers', 'COUCHDB', { containers: 2 }, 'D3|CouchDB runs exactly 1'],
    ['more containers than maxReplicas', 'MYSQL', { containers: 99 }, 'containers must be at most'],
    ['D4 a version that is not in the list', 'REDIS', { dockerPresetVersion: '1.0' }, 'no version 1.0'],
    ['a disk below the least', 'REDIS', { disk: 1 }, 'disk must be from'],
    ['a disk above the most', 'REDIS', { disk: 9_999_999 }, 'disk must be from'],
    ['CouchDB without persistence', 'COUCHDB', { withPersistence: false }, 'without persistence'],
    ['settings of another engine', 'REDIS', settings({ work_mem: '4MB' }), 'for PostgreSQL only'],
    ['a volume of its own', 'REDIS', { useVolume: true }, 'useVolume is for regular apps'],
    [
      'work_mem that does not start the server',
      'POSTGRESQL',
      settings({ work_mem: '9999999GB' }),
      'work_mem',
    ],
  ])('refuses %s', async (_what, dockerPreset, environment, words) => {
    const answer = await create(dockerPreset, environment)
    expect(answer.status).toBe(400)
    expect(answer.json.error).toMatch(new RegExp(words.replace('D3|', '')))
    expect(answer.json.details).toEqual(expect.any(String))
  })

  it.each([
    '4',
    '0MB',
    '-1MB',
    '4 MB',
    '4mb',
    '4MB; drop table x',
    "4MB'",
    '12345678MB',
    '4TB',
    'MB',
    '04MB',
  ])('2.3 refuses the memory value %s', async (value) => {
    expect((await create('POSTGRESQL', settings({ work_mem: value }))).status).toBe(400)
    expect((await create('POSTGRESQL', settings({ effective_cache_size: value }))).status).toBe(400)
  })

  it.each([
    { max_parallel_workers_per_gather: 65 },
    { max_parallel_workers_per_gather: -1 },
    { max_parallel_workers_per_gather: 1.5 },
    { hash_mem_multiplier: 0 },
    { hash_mem_multiplier: '2' },
    { fsync: 'off' },
  ])('2.3 refuses the parameters %o', async (parameters) => {
    expect((await create('POSTGRESQL', settings(parameters))).status).toBe(400)
  })

  it('rejects code and images', async () => {
    const appEnvId = await running('REDIS')
    for (const [path, input] of [
      ['/app-env/deploy-image', { image: 'redis:7' }],
      ['/app-env/request-storage-key', {}],
    ] as const) {
      expect((await request('POST', path, { appEnvId, ...input })).status).toBe(400)
    }
    expect((await request('PATCH', '/app-env/autoscaling', { appEnvId, enabled: true })).status).toBe(400)
  })
})

describe('a new database', () => {
  it('deploys at creation, with generated credentials that only a decrypting admin sees', async () => {
    const appEnvId = await running('POSTGRESQL')
    const masked = await read(appEnvId)
    expect(masked).toMatchObject({
      isDatabase: true,
      status: 'RUNNING',
      currentVersion: 1,
      dockerPresetVersion: preset('POSTGRESQL').defaultVersion,
      disk: preset('POSTGRESQL').limits.defaultDisk,
      containers: 1,
      withPersistence: true,
    })
    const [host] = masked.hosts
    expect(host).toMatchObject({ host: '127.0.0.1', kind: 'native' })
    expect(host.url).toMatch(/^postgresql:\/\/\w+:\*\*\*SECRET\*\*\*@127\.0\.0\.1:\d+\/\w+$/)
    const clear = new URL((await read(appEnvId, true)).hosts[0].url)
    expect(clear.password).toMatch(/^[0-9a-f]{48}$/)
    const audit = await request('GET', '/audit', { accountId: platform.accountId })
    const history = await request('GET', '/app-env/history', { appEnvId })
    const logs = await request('GET', '/logs', { appEnvId, type: 'BUILD' })
    for (const { text } of [audit, history, logs]) expect(text).not.toContain(clear.password)
    const [container] = engine.running().filter((one) => one.spec.appEnvId === appEnvId)
    expect(container?.spec.database?.password).toBe(clear.password)
  })

  it('an ordinary member cannot decrypt its secrets (X1)', async () => {
    const appEnvId = await running('REDIS')
    const member = await platform.makeUser()
    const answer = await platform.request('GET', '/app-env', {
      token: member.token,
      input: { appEnvId, decrypt: true },
    })
    expect(answer.status).toBe(403)
    expect(answer.json.error).toBe('Admin permission required to decrypt secrets')
  })

  it('D1 lists AMQP, MQTT with a host of its own, and management', async () => {
    const { hosts } = await read(await running('RABBITMQ'))
    expect(hosts.map((host: { kind: string }) => host.kind)).toEqual(['amqp', 'mqtt', 'management'])
    expect(hosts[0].url).toMatch(/^amqp:\/\/\w+:\*\*\*SECRET\*\*\*@127\.0\.0\.1:\d+/)
    expect(hosts[1].url.startsWith('mqtt://')).toBe(true)
    expect(hosts[1].host).toMatch(/^mqtt-[a-z2-7]+\.localhost$/)
    expect(hosts[2].url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(new Set(hosts.map((host: { url: string }) => new URL(host.url).port)).size).toBe(3)
  })

  it('D2 lists HTTP and native clickhouse:// addresses', async () => {
    engine.knobs.missingDatabases = []
    await platform.refreshDatabaseOffers()
    const { hosts } = await read(await running('CLICKHOUSE'))
    expect(hosts.map((host: { kind: string }) => host.kind)).toEqual(['http', 'native'])
    expect(hosts[0].url).toMatch(/^http:\/\/\w+:\*\*\*SECRET\*\*\*@/)
    expect(hosts[1].url).toMatch(/^clickhouse:\/\/\w+:\*\*\*SECRET\*\*\*@/)
  })

  it('fails with the reason when the engine can no longer run it', async () => {
    engine.knobs.missingDatabases = ['MONGODB']
    const { appEnvId } = (await create('MONGODB')).json
    const status = await until('the deployment failed', async () => {
      const { json } = await request('GET', '/app-env/status', { appEnvId })
      return json.currentDeployment.status === 'FAILED' ? json : null
    })
    expect(status).toMatchObject({
      status: 'STOPPED',
      currentDeployment: { failure: { reason: 'not supported' } },
    })
  })
})

describe('a database that cannot run here', () => {
  beforeAll(async () => {
    const missing = ['RABBITMQ', 'CLICKHOUSE'] as const
    for (const dockerPreset of missing) apps.set(dockerPreset, (await createApp(dockerPreset)).json.appId)
    engine.knobs.missingDatabases = [...missing]
    engine.knobs.missingVersions = ['PostgreSQL 17', 'PostgreSQL 17 with vector search']
    await platform.refreshDatabaseOffers()
  })
  afterAll(async () => {
    engine.knobs.missingDatabases = []
    engine.knobs.missingVersions = []
    await platform.refreshDatabaseOffers()
  })

  it.each(['RABBITMQ', 'CLICKHOUSE'])(
    'is refused at creation with what can run: %s',
    async (dockerPreset) => {
      const answer = await create(dockerPreset)
      expect(answer.status).toBe(400)
      expect(answer.json.error).toBe(`${preset(dockerPreset).name} cannot run in this region`)
      expect(answer.json.details).toContain(`The fake engine has no ${preset(dockerPreset).name}.`)
      expect(answer.json.details).toMatch(/What can run here: .*PostgreSQL 16, .*Redis 7\.4/)
      expect(answer.json.details).not.toContain('PostgreSQL 17')
      const app = await createApp(dockerPreset)
      expect([app.status, app.json.error]).toEqual([
        400,
        `${preset(dockerPreset).name} cannot run in any region`,
      ])
    },
  )

  it('D4 a version is refused at creation with the versions that can run', async () => {
    const answer = await create('POSTGRESQL', { dockerPresetVersion: '17-pgvector' })
    expect(answer.status).toBe(400)
    expect(answer.json.error).toBe('PostgreSQL 17 with vector search cannot run in this region')
    expect(answer.json.details).toContain('dockerPresetVersion can be: 16, 15, 16-pgvector.')
  })

  it('is listed by version, and the default is a runnable one', async () => {
    const { json } = await request('GET', '/database-presets')
    const postgres = json.presets.find((one: DatabasePresetRead) => one.dockerPreset === 'POSTGRESQL')
    expect(postgres).toMatchObject({ available: true, defaultVersion: '16' })
    const able = postgres.versions.filter((one: { available: boolean }) => one.available)
    expect(able.map(({ key }: { key: string }) => key)).toEqual(['16', '15', '16-pgvector'])
    expect(postgres.versions[0]).toMatchObject({ key: '17', unavailableReason: expect.any(String) })
    const appEnvId = await running('POSTGRESQL')
    expect(await read(appEnvId)).toMatchObject({ dockerPresetVersion: '16' })
  })
})

describe('changing a database', () => {
  it('D4 rejects another dockerPresetVersion with the alternative', async () => {
    const appEnvId = await running('POSTGRESQL')
    const same = preset('POSTGRESQL').defaultVersion
    const other = preset('POSTGRESQL').versions.find((version) => version.key !== same)?.key
    const refused = await request('PUT', '/app-env', { appEnvId, dockerPresetVersion: other })
    expect(refused.status).toBe(400)
    expect(refused.json.details).toMatch(/new database .*migrate/)
    expect((await request('PUT', '/app-env', { appEnvId, dockerPresetVersion: same })).status).toBe(200)
  })

  it('D5 keeps parameters, size and disk pending until apply, then replaces the container', async () => {
    const appEnvId = await running('POSTGRESQL')
    const before = engine.running().find((one) => one.spec.appEnvId === appEnvId)
    const change = { ...settings({ work_mem: '8MB', hash_mem_multiplier: 2.5 }), zClouds: 2, disk: 20_480 }
    expect((await request('PUT', '/app-env', { appEnvId, ...change })).status).toBe(200)
    const pending = (await read(appEnvId)).pendingChanges
    expect(pending.hasDeployChanges).toBe(true)
    expect(pending.deployPendingChanges).toContainEqual({
      group: 'Database Settings',
      field: 'databaseSettings',
    })
    expect(before?.state).toBe('running')
    await request('POST', '/app-env/apply-changes', { appEnvId })
    await serves(appEnvId)
    const after = engine.running().filter((one) => one.spec.appEnvId === appEnvId)
    expect(after).toHaveLength(1)
    expect(after[0]?.spec.database?.parameters).toEqual({ work_mem: '8MB', hash_mem_multiplier: '2.5' })
    expect(after[0]?.spec.memoryMb).toBe(1024)
    expect(before?.state).toBe('exited')
  })

  it('never has two containers on one volume, and the port stays', async () => {
    const appEnvId = await running('REDIS')
    const ofEnvironment = () => engine.running().filter((one) => one.spec.appEnvId === appEnvId)
    const port = ofEnvironment()[0]?.spec.database?.ports[0]?.hostPort
    let most = 0
    const stopLooking = engine.watch(() => {
      most = Math.max(most, ofEnvironment().length)
    })
    for (let round = 0; round < 3; round++) {
      await request('POST', '/app-env/restart', { appEnvId })
      await serves(appEnvId)
    }
    stopLooking()
    expect(most).toBe(1)
    expect(ofEnvironment()[0]?.spec.database?.ports[0]?.hostPort).toBe(port)
  })

  it('merges parameters and refuses bad ones on update too', async () => {
    const appEnvId = await running('POSTGRESQL', settings({ work_mem: '8MB' }))
    await request('PUT', '/app-env', { appEnvId, ...settings({ effective_cache_size: '1GB' }) })
    expect((await read(appEnvId)).databaseSettings.postgresql.parameters).toEqual({
      work_mem: '8MB',
      effective_cache_size: '1GB',
    })
    const bad = await request('PUT', '/app-env', { appEnvId, ...settings({ work_mem: 'lots' }) })
    expect(bad.status).toBe(400)
  })

  it('scales within maxReplicas, as a pending change', async () => {
    const appEnvId = await running('COUCHDB')
    expect((await request('PATCH', '/app-env/containers', { appEnvId, containers: 2 })).status).toBe(400)
    expect((await request('PUT', '/app-env', { appEnvId, containers: 2 })).status).toBe(400)
    expect((await request('PATCH', '/app-env/containers', { appEnvId, containers: 1 })).status).toBe(200)
  })

  it('8.database-containers: replicas start after the container they follow, each with a port and no volume of its own', async () => {
    const appEnvId = await running('REDIS', { containers: 3 })
    const mine = () => engine.running().filter((one) => one.spec.appEnvId === appEnvId)
    const specs = mine().map(({ spec }) => spec)
    const [first, ...others] = specs
    expect(specs).toHaveLength(3)
    expect(first?.database).toMatchObject({ persistent: true })
    expect(first?.database).not.toHaveProperty('primary')
    const hostPort = first?.database?.ports[0]?.hostPort
    for (const { database } of others)
      expect(database).toMatchObject({ persistent: false, primary: { hostPort } })
    expect(new Set(specs.map(({ internalHost }) => internalHost)).size).toBe(3)
    const urls = (await read(appEnvId)).hosts.map(({ url }: { url: string }) => new URL(url).port)
    expect(urls).toEqual(specs.map(({ database }) => String(database?.ports[0]?.hostPort)))
    engine.crash(others[0]?.name ?? '')
    await until('the replica is back', async () => (mine().length === 3 ? true : null))
    expect(engine.running().some(({ spec }) => spec.name === first?.name)).toBe(true)
    await request('PATCH', '/app-env/containers', { appEnvId, containers: 1 })
    expect((await read(appEnvId)).hosts).toHaveLength(3)
    await request('POST', '/app-env/apply-changes', { appEnvId })
    await serves(appEnvId)
    expect(mine()).toHaveLength(1)
    expect((await read(appEnvId)).hosts).toHaveLength(1)
  })

  it('has replicas only for persistent presets', async () => {
    const refused = await create('REDIS', { containers: 2, withPersistence: false })
    expect([refused.status, refused.json.error]).toEqual([400, 'Replicas need persistence'])
    const appEnvId = await running('REDIS', { withPersistence: false })
    const scaled = await request('PATCH', '/app-env/containers', { appEnvId, containers: 2 })
    expect(scaled.json.error).toBe('Replicas need persistence')
  })

  it('accepts a read environment written back', async () => {
    const appEnvId = await running('POSTGRESQL', settings({ work_mem: '8MB' }))
    const before = await read(appEnvId)
    expect((await request('PUT', '/app-env', before)).status).toBe(200)
    expect((await read(appEnvId)).pendingChanges.hasDeployChanges).toBe(false)
  })

  it('stops, starts again and is deleted with its port', async () => {
    const appEnvId = await running('REDIS')
    await request('POST', '/app-env/stop', { appEnvId })
    await until('it is stopped', async () =>
      engine.running().some((one) => one.spec.appEnvId === appEnvId) ? null : true,
    )
    await request('POST', '/app-env/start', { appEnvId })
    await serves(appEnvId)
    await request('DELETE', '/app-env', { appEnvId })
    await until('it is gone', async () =>
      engine.running().some((one) => one.spec.appEnvId === appEnvId) ? null : true,
    )
    const rows = await platform.db.read((tx) =>
      tx.selectFrom('database_ports').selectAll().where('app_env_id', '=', appEnvId).execute(),
    )
    expect(rows).toEqual([])
  })
})

function settings(parameters: Record<string, unknown>) {
  return { databaseSettings: { postgresql: { parameters } } }
}
