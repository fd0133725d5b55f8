import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DatabasePresetRead } from '../../../src/contract/databases.ts'
import { DatabaseEnvironments, settings } from '../../../testkit/databases/environments.ts'
import { until } from '../../../testkit/engines/suite-installation.ts'

const fixture = new DatabaseEnvironments()

describe('GET /database-presets', () => {
  it('lists the seven presets in the documented shape', () => {
    expect(fixture.presets.map((one) => one.dockerPreset).sort()).toEqual(
      ['CLICKHOUSE', 'COUCHDB', 'MONGODB', 'MYSQL', 'POSTGRESQL', 'RABBITMQ', 'REDIS'].sort(),
    )
    for (const one of fixture.presets) {
      expect(one.versions.map((version) => version.key)).toContain(one.defaultVersion)
      expect(new Set(one.versions.map((version) => version.key)).size).toBe(one.versions.length)
      expect(one.limits.minDisk).toBeLessThanOrEqual(one.limits.defaultDisk)
      expect(one.limits.defaultDisk).toBeLessThanOrEqual(one.limits.maxDisk)
    }
    for (const name of ['POSTGRESQL', 'MYSQL', 'REDIS', 'MONGODB']) {
      expect(fixture.preset(name).versions.length, name).toBeGreaterThanOrEqual(2)
    }
    expect(fixture.preset('POSTGRESQL').versions.some((version) => version.variant === 'pgvector')).toBe(true)
    expect(fixture.preset('COUCHDB').limits.maxReplicas).toBe(1)
  })

  it('shows which presets the engine cannot run, and why', () => {
    expect(fixture.preset('CLICKHOUSE')).toMatchObject({
      available: false,
      unavailableReason: expect.any(String),
    })
    expect(fixture.preset('POSTGRESQL').available).toBe(true)
    expect(fixture.preset('POSTGRESQL')).not.toHaveProperty('unavailableReason')
  })

  it('needs a user', async () => {
    expect((await fixture.platform.request('GET', '/database-presets')).status).toBe(401)
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
    const answer = await fixture.create(dockerPreset, environment)
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
    expect((await fixture.create('POSTGRESQL', settings({ work_mem: value }))).status).toBe(400)
    expect((await fixture.create('POSTGRESQL', settings({ effective_cache_size: value }))).status).toBe(400)
  })

  it.each([
    { max_parallel_workers_per_gather: 65 },
    { max_parallel_workers_per_gather: -1 },
    { max_parallel_workers_per_gather: 1.5 },
    { hash_mem_multiplier: 0 },
    { hash_mem_multiplier: '2' },
    { fsync: 'off' },
  ])('2.3 refuses the parameters %o', async (parameters) => {
    expect((await fixture.create('POSTGRESQL', settings(parameters))).status).toBe(400)
  })

  it('rejects code and images', async () => {
    const appEnvId = await fixture.running('REDIS')
    for (const [path, input] of [
      ['/app-env/deploy-image', { image: 'redis:7' }],
      ['/app-env/request-storage-key', {}],
    ] as const) {
      expect((await fixture.request('POST', path, { appEnvId, ...input })).status).toBe(400)
    }
    expect((await fixture.request('PATCH', '/app-env/autoscaling', { appEnvId, enabled: true })).status).toBe(
      400,
    )
  })
})

describe('a new database', () => {
  it('deploys at creation, with generated credentials that only a decrypting admin sees', async () => {
    const appEnvId = await fixture.running('POSTGRESQL')
    const masked = await fixture.read(appEnvId)
    expect(masked).toMatchObject({
      isDatabase: true,
      status: 'RUNNING',
      currentVersion: 1,
      dockerPresetVersion: fixture.preset('POSTGRESQL').defaultVersion,
      disk: fixture.preset('POSTGRESQL').limits.defaultDisk,
      containers: 1,
      withPersistence: true,
    })
    const [host] = masked.hosts
    expect(host).toMatchObject({ host: '127.0.0.1', kind: 'native' })
    expect(host.url).toMatch(/^postgresql:\/\/\w+:\*\*\*SECRET\*\*\*@127\.0\.0\.1:\d+\/\w+$/)
    const clear = new URL((await fixture.read(appEnvId, true)).hosts[0].url)
    expect(clear.password).toMatch(/^[0-9a-f]{48}$/)
    const audit = await fixture.request('GET', '/audit', { accountId: fixture.platform.accountId })
    const history = await fixture.request('GET', '/app-env/history', { appEnvId })
    const logs = await fixture.request('GET', '/logs', { appEnvId, type: 'BUILD' })
    for (const { text } of [audit, history, logs]) expect(text).not.toContain(clear.password)
    const [container] = fixture.engine.running().filter((one) => one.spec.appEnvId === appEnvId)
    expect(container?.spec.database?.password).toBe(clear.password)
  })

  it('an ordinary member cannot decrypt its secrets (X1)', async () => {
    const appEnvId = await fixture.running('REDIS')
    const member = await fixture.platform.makeUser()
    const answer = await fixture.platform.request('GET', '/app-env', {
      token: member.token,
      input: { appEnvId, decrypt: true },
    })
    expect(answer.status).toBe(403)
    expect(answer.json.error).toBe('Admin permission required to decrypt secrets')
  })

  it('D1 lists AMQP, MQTT with a host of its own, and management', async () => {
    const { hosts } = await fixture.read(await fixture.running('RABBITMQ'))
    expect(hosts.map((host: { kind: string }) => host.kind)).toEqual(['amqp', 'mqtt', 'management'])
    expect(hosts[0].url).toMatch(/^amqp:\/\/\w+:\*\*\*SECRET\*\*\*@127\.0\.0\.1:\d+/)
    expect(hosts[1].url.startsWith('mqtt://')).toBe(true)
    expect(hosts[1].host).toMatch(/^mqtt-[a-z2-7]+\.localhost$/)
    expect(hosts[2].url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(new Set(hosts.map((host: { url: string }) => new URL(host.url).port)).size).toBe(3)
  })

  it('D2 lists HTTP and native clickhouse:// addresses', async () => {
    fixture.engine.faults.missingDatabases = []
    await fixture.platform.refreshDatabaseOffers()
    const { hosts } = await fixture.read(await fixture.running('CLICKHOUSE'))
    expect(hosts.map((host: { kind: string }) => host.kind)).toEqual(['http', 'native'])
    expect(hosts[0].url).toMatch(/^http:\/\/\w+:\*\*\*SECRET\*\*\*@/)
    expect(hosts[1].url).toMatch(/^clickhouse:\/\/\w+:\*\*\*SECRET\*\*\*@/)
  })

  it('fails with the reason when the engine can no longer run it', async () => {
    fixture.engine.faults.missingDatabases = ['MONGODB']
    const { appEnvId } = (await fixture.create('MONGODB')).json
    const status = await until('the deployment failed', async () => {
      const { json } = await fixture.request('GET', '/app-env/status', { appEnvId })
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
    for (const dockerPreset of missing) await fixture.appOf(dockerPreset)
    fixture.engine.faults.missingDatabases = [...missing]
    fixture.engine.faults.missingVersions = ['PostgreSQL 17', 'PostgreSQL 17 with vector search']
    await fixture.platform.refreshDatabaseOffers()
  })
  afterAll(async () => {
    fixture.engine.faults.missingDatabases = []
    fixture.engine.faults.missingVersions = []
    await fixture.platform.refreshDatabaseOffers()
  })

  it.each(['RABBITMQ', 'CLICKHOUSE'])(
    'is refused at creation with what can run: %s',
    async (dockerPreset) => {
      const answer = await fixture.create(dockerPreset)
      expect(answer.status).toBe(400)
      expect(answer.json.error).toBe(`${fixture.preset(dockerPreset).name} cannot run in this region`)
      expect(answer.json.details).toContain(`The fake engine has no ${fixture.preset(dockerPreset).name}.`)
      expect(answer.json.details).toMatch(/What can run here: .*PostgreSQL 16, .*Redis 7\.4/)
      expect(answer.json.details).not.toContain('PostgreSQL 17')
      const app = await fixture.createApp(dockerPreset)
      expect([app.status, app.json.error]).toEqual([
        400,
        `${fixture.preset(dockerPreset).name} cannot run in any region`,
      ])
    },
  )

  it('D4 a version is refused at creation with the versions that can run', async () => {
    const answer = await fixture.create('POSTGRESQL', { dockerPresetVersion: '17-pgvector' })
    expect(answer.status).toBe(400)
    expect(answer.json.error).toBe('PostgreSQL 17 with vector search cannot run in this region')
    expect(answer.json.details).toContain('dockerPresetVersion can be: 16, 15, 16-pgvector.')
  })

  it('is listed by version, and the default is a runnable one', async () => {
    const { json } = await fixture.request('GET', '/database-presets')
    const postgres = json.presets.find((one: DatabasePresetRead) => one.dockerPreset === 'POSTGRESQL')
    expect(postgres).toMatchObject({ available: true, defaultVersion: '16' })
    const able = postgres.versions.filter((one: { available: boolean }) => one.available)
    expect(able.map(({ key }: { key: string }) => key)).toEqual(['16', '15', '16-pgvector'])
    expect(postgres.versions[0]).toMatchObject({ key: '17', unavailableReason: expect.any(String) })
    const appEnvId = await fixture.running('POSTGRESQL')
    expect(await fixture.read(appEnvId)).toMatchObject({ dockerPresetVersion: '16' })
  })
})
