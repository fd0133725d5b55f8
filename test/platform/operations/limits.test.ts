import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findEnvironment, saveEnvironment } from '../../../src/store/repositories/environments.ts'
import { forgetUnusedUploads, listUploadIds } from '../../../src/store/repositories/uploads.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

const send = (method: string, path: string, input: Record<string, unknown>) =>
  platform.request(method, path, { token: platform.admin.token, input })

const contactPoint = (name: string) =>
  send('POST', '/contact-point', {
    accountId: platform.accountId,
    name,
    type: 'email',
    config: { addresses: ['ops@example.com'] },
  })

describe('limits', () => {
  it('8.contact-point-name has 1 to 50 characters', async () => {
    expect((await contactPoint('x'.repeat(50))).status).toBe(200)
    expect((await contactPoint('x'.repeat(51))).status).toBe(400)
    expect((await contactPoint('')).status).toBe(400)
  })

  it('8.alert-name has 1 to 100 characters, 8.alert-description at most 500', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const { contactPointId } = (await contactPoint('ops')).json.contactPoint
    const alert = (more: Record<string, unknown>) =>
      send('POST', '/app-env/alert', {
        appEnvId,
        name: 'slow',
        metric: 'ingress_p95_latency',
        operator: 'gt',
        threshold: 2,
        duration: '5m',
        contactPointIds: [contactPointId],
        ...more,
      })
    expect((await alert({ name: 'x'.repeat(100), description: 'd'.repeat(500) })).status).toBe(200)
    for (const more of [{ name: 'x'.repeat(101) }, { name: '' }, { description: 'd'.repeat(501) }]) {
      expect((await alert(more)).status).toBe(400)
    }
  })

  it('8.parallel-workers takes 0 through 64', async () => {
    const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'POSTGRESQL' } })
    const workers = (max_parallel_workers_per_gather: number) =>
      send('PUT', '/app-env', {
        appEnvId,
        databaseSettings: { postgresql: { parameters: { max_parallel_workers_per_gather } } },
      })
    for (const value of [0, 64]) expect((await workers(value)).status).toBe(200)
    for (const value of [-1, 65, 1.5]) expect([value, (await workers(value)).status]).toEqual([value, 400])
  })

  it('8.database-containers is at most maxReplicas, and D3 CouchDB has exactly one', async () => {
    const { presets } = (await send('GET', '/database-presets', {})).json
    for (const { dockerPreset, limits } of presets) {
      const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset } })
      const scale = (containers: number) => send('PATCH', '/app-env/containers', { appEnvId, containers })
      expect([dockerPreset, (await scale(limits.maxReplicas + 1)).status]).toEqual([dockerPreset, 400])
      expect([dockerPreset, (await scale(1)).status]).toEqual([dockerPreset, 200])
      if (dockerPreset === 'COUCHDB') expect(limits.maxReplicas).toBe(1)
    }
  })

  it('8.disk-overage is the database disk above zClouds x 5 GB', async () => {
    const { appEnvId } = await platform.makeEnvironment({
      app: { dockerPreset: 'POSTGRESQL' },
      environment: { disk: 12_000, zClouds: 2 },
    })
    expect((await send('GET', '/app-env/usage', { appEnvId })).json).toMatchObject({
      diskMb: 12_000,
      includedDiskMb: 10_240,
      overageDiskMb: 1_760,
    })
  })

  it('8.job-ttl is at least 300, and 8.job-defaults are 1800, 21600 and 0', async () => {
    const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'JOB' } })
    const low = await send('PATCH', '/app-env/job-config', { appEnvId, ttlSecondsAfterFinished: 299 })
    expect([low.status, low.json.details]).toEqual([400, expect.stringContaining('300')])
    expect(
      (await send('PATCH', '/app-env/job-config', { appEnvId, ttlSecondsAfterFinished: 300 })).status,
    ).toBe(200)
    const fresh = await platform.makeEnvironment({ app: { dockerPreset: 'JOB' } })
    const { effectiveJobConfig } = (await send('GET', '/app-env', { appEnvId: fresh.appEnvId })).json
    expect(effectiveJobConfig).toMatchObject({
      timeoutSeconds: { value: 1800 },
      ttlSecondsAfterFinished: { value: 21_600 },
      backoffLimit: { value: 0 },
    })
  })
})

describe('the variables of an environment', () => {
  const value = 'x'.repeat(65_535)
  const many = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `PART_${from + index}`, value }))
  const set = (appEnvId: string, variables: unknown[]) =>
    send('PATCH', '/app-env/variables', { appEnvId, set: variables })

  it('have at most 1 MiB of UTF-8 in names and values, whichever operation saves them', async () => {
    const { appEnvId } = await platform.makeEnvironment({ environment: { envVars: many(0, 15) } })
    const emptied = await send('PUT', '/app-env', { appEnvId, envVars: [] })
    expect(emptied.status).toBe(200)
    expect((await set(appEnvId, many(0, 8))).status).toBe(200)
    // A character of three bytes: the limit counts bytes.
    const wide = many(20, 3).map((one) => ({ ...one, value: '€'.repeat(65_535) }))
    const refused = await set(appEnvId, wide)
    expect([refused.status, refused.json.error]).toEqual([
      400,
      'The variables of the environment are too large',
    ])
    expect(refused.json.details).toMatch(/would take 11141\d\d bytes of UTF-8; at most 1048576 \(1 MiB\)/)
    // A mask keeps what is stored, which counts too.
    const kept = many(0, 8).map((one) => ({ ...one, value: '***SECRET***' }))
    expect((await send('PUT', '/app-env', { appEnvId, envVars: [...kept, ...wide] })).status).toBe(400)

    // An undo must not grow it either.
    const { accountId } = platform
    expect((await send('PUT', '/app-env', { appEnvId, envVars: wide.slice(1) })).status).toBe(200)
    const { entries } = (await send('GET', '/audit', { accountId, objectId: appEnvId, limit: 1 })).json
    expect((await set(appEnvId, many(100, 9))).status).toBe(200)
    expect((await send('POST', '/audit/undo', { entryId: entries[0].entryId })).status).toBe(400)
  })

  it('that were larger before the limit are read, shrink and are put in force, and do not grow', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    await platform.db.write(async (tx) => {
      const environment = (await findEnvironment(tx, { appEnvId }))!
      const envVars = many(0, 20).map((one) => ({ ...one, _id: one.name, type: 'BOTH', isSecret: false }))
      await saveEnvironment(tx, { ...environment, saved: { ...environment.saved, envVars } } as never)
    })
    expect((await send('GET', '/app-env', { appEnvId })).json.envVars).toHaveLength(20)
    expect((await send('PUT', '/app-env', { appEnvId, name: 'renamed' })).status).toBe(200)
    expect((await set(appEnvId, many(20, 1))).status).toBe(400)
    const smaller = await send('PATCH', '/app-env/variables', { appEnvId, unset: ['PART_0'] })
    expect(smaller.status).toBe(200)
  })

  it('are no part of an audit entry that did not change them, and a page of large changes ends early', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const { accountId } = platform
    const plain = (letter: string) =>
      many(0, 8).map((one) => ({ ...one, value: letter.repeat(65_535), isSecret: false }))
    for (const letter of ['a', 'b', 'c']) await set(appEnvId, plain(letter))
    await set(appEnvId, [{ name: 'SMALL', value: 'x', isSecret: false }])
    const page = (cursor?: string) =>
      send('GET', '/audit', { accountId, objectId: appEnvId, limit: 200, ...(cursor ? { cursor } : {}) })
    const first = (await page()).json
    const paths = (one: { changes: { path: string }[] }) => one.changes.map(({ path }) => path)
    expect(paths(first.entries[0])).toEqual(['envVars.SMALL'])
    expect(first.entries).toHaveLength(2)
    const second = (await page(first.cursor)).json
    const third = (await page(second.cursor)).json
    const operations = [...second.entries, ...third.entries].map(({ operation }) => operation)
    expect(operations).toEqual(['update-app-env-variables', 'update-app-env-variables', 'create-app-env'])
    expect(third.cursor).toBeNull()
    const [stored] = await platform.db.read((tx) =>
      tx
        .selectFrom('audit_log')
        .select('after')
        .where('object_id', '=', appEnvId)
        .orderBy('seq', 'desc')
        .limit(1)
        .execute(),
    )
    expect(stored!.after.length).toBeLessThan(10_000)
    expect(stored!.after).toContain('{"name":"PART_0"}')
  })
})

describe('the arguments of a job', () => {
  it('have at most 65,536 characters in all', async () => {
    const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'JOB' } })
    const save = (args: string[]) => send('PATCH', '/app-env/job-config', { appEnvId, args })
    expect((await save(Array(8).fill('x'.repeat(8192)))).status).toBe(200)
    expect((await save(Array(9).fill('x'.repeat(8192)))).status).toBe(400)
  })
})

describe('unused uploads', () => {
  it('are at most 20 in 15 minutes an environment, and only the newest 20 are kept', async () => {
    const clock = new TestClock()
    const other = await TestPlatform.start({ reconciles: false, clock })
    try {
      const { appEnvId } = await other.makeEnvironment()
      const neighbour = await other.makeEnvironment()
      const ask = (of = appEnvId) =>
        other.request('POST', '/app-env/request-storage-key', {
          token: other.admin.token,
          input: { appEnvId: of },
        })
      for (let count = 0; count < 20; count += 1) expect((await ask()).status).toBe(200)
      const refused = await ask()
      expect([refused.status, refused.json.error]).toEqual([400, 'Too many unused uploads'])
      expect((await ask(neighbour.appEnvId)).status).toBe(200)
      await clock.advance(16 * 60_000)
      for (let count = 0; count < 5; count += 1) expect((await ask()).status).toBe(200)
      const kept = await other.db.read((tx) =>
        tx.selectFrom('uploads').selectAll().where('app_env_id', '=', appEnvId).execute(),
      )
      expect(kept).toHaveLength(20)
      // A day later, the housekeeping of serve deletes the rest.
      const later = new Date(clock.wallMs() + 1000).toISOString()
      await other.db.write((tx) => forgetUnusedUploads(tx, later, later))
      expect(await other.db.read(listUploadIds)).toEqual([])
    } finally {
      await other.close()
    }
  })
})
