import { describe, expect, it } from 'vitest'
import { until } from '../../../testkit/engines/suite-installation.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { variablesFixture } from '../../../testkit/platform/variables-fixture.ts'

const mask = '***SECRET***'
const fixture = variablesFixture()
const { ask, send, read, set, refusedSet, app, deploy, database, given } = fixture

describe('variables that refer to a database', () => {
  it('reach the containers, and no answer, audit entry or page shows the secret', async () => {
    const { envName, url } = await database()
    const { appEnvId } = await app()
    const fields = ['url', 'host', 'port', 'user', 'password', 'name']
    const answer = await set(
      appEnvId,
      ...fields.map((field) => ({ name: `DB_${field.toUpperCase()}`, from: { envName, field } })),
    )
    await deploy(appEnvId)
    expect(given(appEnvId)).toMatchObject({
      DB_URL: url.href,
      DB_HOST: url.hostname,
      DB_PORT: url.port,
      DB_USER: url.username,
      DB_PASSWORD: url.password,
      DB_NAME: url.pathname.slice(1),
    })
    const masked = await send('GET', '/app-env', { appEnvId })
    expect(masked.json.envVars).toContainEqual({
      _id: expect.any(String),
      name: 'DB_URL',
      value: mask,
      type: 'DEPLOY',
      isSecret: true,
      from: { envName, field: 'url' },
    })
    expect(masked.json.pendingChanges.hasDeployChanges).toBe(false)
    const audit = await send('GET', '/audit', { accountId: fixture.platform.accountId, limit: 200 })
    for (const { text } of [answer, masked, audit]) expect(text).not.toContain(url.password)
  })

  it('keep the reference when a read is written back, and lose it with a value', async () => {
    const { envName } = await database('REDIS')
    const { appEnvId } = await app()
    await set(appEnvId, { name: 'CACHE', from: { envName, field: 'url' } })
    const before = await read(appEnvId)
    await send('PUT', '/app-env', before)
    const after = await read(appEnvId)
    expect(after.envVars).toEqual(before.envVars)
    await send('PATCH', '/app-env/variables', { appEnvId, set: [{ name: 'CACHE', value: mask }] })
    expect((await read(appEnvId)).envVars).toEqual(before.envVars)
    await set(appEnvId, { name: 'CACHE', value: 'redis://elsewhere' })
    expect((await read(appEnvId)).envVars[0]).not.toHaveProperty('from')
  })

  it('A3, X1: a secret field needs an admin; the others need access to the database only', async () => {
    const { envName } = await database()
    const { appEnvId } = await app()
    const { token } = await fixture.platform.makeUser()
    for (const field of ['url', 'password']) {
      const refused = await refusedSet(appEnvId, { name: 'DB', from: { envName, field } }, token)
      expect([refused.status, refused.json.error]).toEqual([
        403,
        'Admin permission required to refer to a secret',
      ])
    }
    const host = { name: 'HOST', from: { envName, field: 'host' }, isSecret: false }
    expect((await refusedSet(appEnvId, host, token)).status).toBe(200)
    const plain = await refusedSet(appEnvId, { name: 'DB', from: { envName, field: 'url' }, isSecret: false })
    expect([plain.status, plain.json.error]).toEqual([400, 'A reference to a secret is secret'])
  })

  it('wait for the first address of the database: a deployment is refused until then', async () => {
    const idle = await TestPlatform.start({ reconciles: false })
    try {
      const request = (method: string, path: string, input: Record<string, unknown>) =>
        idle.request(method, path, { token: idle.admin.token, input })
      const source = await idle.makeEnvironment({ app: { dockerPreset: 'POSTGRESQL' } })
      const { envName } = {
        envName: (await request('GET', '/app-env', { appEnvId: source.appEnvId })).json.cliEnvName,
      }
      const { appEnvId } = await idle.makeEnvironment({ app: { useImage: true } })
      const change = { appEnvId, set: [{ name: 'DB', from: { envName, field: 'url' } }] }
      expect((await request('PATCH', '/app-env/variables', change)).status).toBe(200)
      const refused = await request('POST', '/app-env/deploy-image', {
        appEnvId,
        image: 'registry.example.com/app:1',
      })
      expect([refused.status, refused.json.error]).toEqual([409, 'A referenced database has no address yet'])
    } finally {
      await idle.close()
    }
  })
})

describe('variables that refer to other variables', () => {
  it('follow their source: a new value is pending, through every reference on the way', async () => {
    const [source, middle, last] = [await app(), await app(), await app()]
    const nameOf = async ({ appEnvId }: { appEnvId: string }) => (await read(appEnvId)).cliEnvName
    await set(source.appEnvId, { name: 'KEY', value: 'first-value' })
    await set(middle.appEnvId, { name: 'KEY', from: { envName: await nameOf(source), field: 'KEY' } })
    await set(last.appEnvId, { name: 'TOKEN', from: { envName: await nameOf(middle), field: 'KEY' } })
    await deploy(last.appEnvId)
    expect(given(last.appEnvId).TOKEN).toBe('first-value')

    await set(source.appEnvId, { name: 'KEY', value: 'second-value' })
    const { pendingChanges } = await read(last.appEnvId)
    expect(pendingChanges.deployPendingChanges).toMatchObject([
      { group: 'Environment Variables', field: 'envVars' },
    ])
    await send('POST', '/app-env/apply-changes', { appEnvId: last.appEnvId })
    await until('the new value runs', async () =>
      given(last.appEnvId).TOKEN === 'second-value' ? true : null,
    )

    const cycle = await refusedSet(source.appEnvId, {
      name: 'KEY',
      from: { envName: await nameOf(last), field: 'TOKEN' },
    })
    expect([cycle.status, cycle.json.error]).toEqual([400, 'A variable cannot refer to itself'])
  })

  it('keep their source: it is neither deleted nor unset while they refer to it', async () => {
    const [source, user] = [await app(), await app()]
    await set(source.appEnvId, { name: 'KEY', value: 'kept-value' }, { name: 'OTHER', value: 'other-value' })
    const [envName, userName] = [
      (await read(source.appEnvId)).cliEnvName,
      (await read(user.appEnvId)).cliEnvName,
    ]
    await set(user.appEnvId, { name: 'KEY', from: { envName, field: 'KEY' } })
    await send('PATCH', '/app-env/variables', { appEnvId: source.appEnvId, unset: ['OTHER'] })
    for (const refused of [
      await ask('PATCH', '/app-env/variables', { appEnvId: source.appEnvId, unset: ['KEY'] }),
      await ask('DELETE', '/app-env', { appEnvId: source.appEnvId }),
    ]) {
      expect(refused.status).toBe(409)
      expect(refused.json.details).toContain(`Variables of ${userName} take their values from it.`)
    }
    await send('PATCH', '/app-env/variables', { appEnvId: user.appEnvId, unset: ['KEY'] })
    await send('DELETE', '/app-env', { appEnvId: source.appEnvId })
  })

  it('count towards the size of the variables, also when their source grows', async () => {
    const [source, user] = [await app(), await app()]
    await set(source.appEnvId, { name: 'KEY', value: 'x' })
    const { cliEnvName: envName } = await read(source.appEnvId)
    const many = Array.from({ length: 20 }, (_, at) => ({
      name: `KEY_${at}`,
      from: { envName, field: 'KEY' },
    }))
    await set(user.appEnvId, ...many)
    const grown = await refusedSet(source.appEnvId, { name: 'KEY', value: 'x'.repeat(60_000) })
    const error = 'The variables of a dependent environment are too large'
    expect([grown.status, grown.json.error]).toEqual([400, error])
    expect(grown.json.details).toContain((await read(user.appEnvId)).cliEnvName)
    const token = await restrictedTo(source.appEnvId)
    const hidden = await refusedSet(source.appEnvId, { name: 'KEY', value: 'x'.repeat(60_000) }, token)
    expect(hidden.json).toEqual({
      error,
      details:
        'An environment that you cannot see takes values from this one, and its names and values would take more than the 1048576 (1 MiB) that are allowed. Shorten the value, or unset variables of the other environment first (update-app-env-variables).',
    })
    await send('PATCH', '/app-env/variables', {
      appEnvId: user.appEnvId,
      unset: many.map(({ name }) => name),
    })
    await set(source.appEnvId, { name: 'KEY', value: 'x'.repeat(60_000) })
    const { appId, accountId } = await read(user.appEnvId)
    const made = await ask('POST', '/app-env', {
      accountId,
      appId,
      name: 'large',
      region: 'local',
      envVars: many,
    })
    expect([made.status, made.json.error]).toEqual([400, 'The variables of the environment are too large'])
  })

  it('an undo brings the reference back, and not to a source that is gone', async () => {
    const [source, user] = [await app(), await app()]
    await set(source.appEnvId, { name: 'KEY', value: 'undone-value' })
    const { cliEnvName: envName } = await read(source.appEnvId)
    await set(user.appEnvId, { name: 'KEY', from: { envName, field: 'KEY' } })
    const unset = async () => {
      await send('PATCH', '/app-env/variables', { appEnvId: user.appEnvId, unset: ['KEY'] })
      const { json } = await send('GET', '/audit', { accountId: fixture.platform.accountId, limit: 1 })
      return json.entries[0].entryId
    }
    await send('POST', '/audit/undo', { entryId: await unset() })
    expect((await read(user.appEnvId)).envVars[0].from).toEqual({ envName, field: 'KEY' })
    const entryId = await unset()
    await send('DELETE', '/app-env', { appEnvId: source.appEnvId })
    expect((await ask('POST', '/audit/undo', { entryId })).status).toBe(404)
  })

  it('M2: hide what the caller may not see, in both directions', async () => {
    const [source, user] = [await app(), await app()]
    await set(source.appEnvId, { name: 'PLAIN', value: 'plain', isSecret: false })
    const { cliEnvName: envName } = await read(source.appEnvId)
    const reference = { name: 'PLAIN', from: { envName, field: 'PLAIN' }, isSecret: false }
    await set(user.appEnvId, reference)
    const token = await restrictedTo(user.appEnvId)
    const { json } = await ask('GET', '/app-env', { appEnvId: user.appEnvId }, token)
    expect(json.envVars[0].from).toEqual({ envName: null, field: 'PLAIN' })
    expect((await ask('PUT', '/app-env', json, token)).status).toBe(200)
    expect((await read(user.appEnvId)).envVars[0].from).toEqual({ envName, field: 'PLAIN' })
    expect((await refusedSet(user.appEnvId, { ...reference, name: 'AGAIN' }, token)).status).toBe(403)
    const dry = await fixture.platform.request('POST', '/app-env/apply-changes', {
      ...{ token, input: { appEnvId: user.appEnvId } },
      headers: { 'dry-run': 'true' },
    })
    expect(dry.text).toContain('"from":{"appEnvId":"hidden"')
    expect(dry.text).not.toContain(source.appEnvId)

    const stranger = await fixture.platform.makeAccount('Stranger')
    const { token: other, client } = await fixture.platform.makeUser({ accountId: stranger, admin: true })
    const own = await fixture.platform.makeEnvironment({ accountId: stranger, by: client })
    const unknown = { ...reference, from: { envName: 'nobody-has-this', field: 'PLAIN' } }
    const answers = [
      await refusedSet(own.appEnvId, reference, other),
      await refusedSet(own.appEnvId, unknown, other),
    ]
    expect(answers.map(({ status }) => status)).toEqual([404, 404])
    expect(answers[0]?.text).toBe(answers[1]?.text)
  })
})

/** The token of a new member who may see this environment only. */
async function restrictedTo(appEnvId: string): Promise<string> {
  const { token, membershipId } = await fixture.platform.makeUser()
  const { accountId } = fixture.platform
  await send('PATCH', '/account', { accountId, memberEnvAccessEnabled: true })
  await send('PATCH', '/member/env-access', { accountId, membershipId, allowedAppEnvIds: [appEnvId] })
  return token
}
