import { describe, expect, it } from 'vitest'
import { until } from '../../../testkit/engines/suite-installation.ts'
import { variablesFixture } from '../../../testkit/platform/variables-fixture.ts'

const fixture = variablesFixture()
const { ask, send, read, set, app, deploy, database, given } = fixture

/** The version serves, and the containers of the one before are gone. */
async function serves(appEnvId: string, version: number) {
  await fixture.serves(appEnvId, version)
  await until('one container', async () => {
    const running = fixture.platform.engine.running().filter(({ spec }) => spec.appEnvId === appEnvId)
    return new Set(running.map(({ spec }) => JSON.stringify(spec.env))).size === 1 ? true : null
  })
}
const redeploy = async (appEnvId: string, input: object = {}) =>
  (await send('POST', '/app-env/redeploy', { appEnvId, ...input })).json
const dryRun = async (appEnvId: string, input: object = {}) => {
  const { admin } = fixture.platform
  const headers = { 'dry-run': 'true' }
  const call = { token: admin.token, input: { appEnvId, ...input }, headers }
  return (await fixture.platform.request('POST', '/app-env/redeploy', call)).json
}
const savedValue = async (appEnvId: string, name: string) =>
  (await read(appEnvId, true)).envVars.find((one: { name: string }) => one.name === name)?.value
const pendingOf = async (appEnvId: string) =>
  (await read(appEnvId)).pendingChanges.deployPendingChanges.map(({ field }: { field: string }) => field)

/** Version 1 ran with MODE=good, version 2 runs with MODE=bad, and MODE=unreviewed is pending. */
async function story(): Promise<string> {
  const { appEnvId } = await app()
  await set(appEnvId, { name: 'MODE', value: 'good' }, { name: 'OLD', value: 'x' })
  await deploy(appEnvId)
  await set(appEnvId, { name: 'MODE', value: 'bad' }, { name: 'NEW', value: 'x' })
  await send('PATCH', '/app-env/variables', { appEnvId, unset: ['OLD'] })
  await send('PUT', '/app-env', { appEnvId, zClouds: 2 })
  await deploy(appEnvId)
  await serves(appEnvId, 2)
  const { token } = await fixture.platform.makeUser()
  const input = { appEnvId, set: [{ name: 'MODE', value: 'unreviewed' }] }
  await send('PATCH', '/app-env/variables', input, token)
  return appEnvId
}

describe('a rollback to a version', () => {
  it('restores its variables and settings, and leaves what is pending pending', async () => {
    const appEnvId = await story()
    expect(await redeploy(appEnvId, { version: 1 })).toMatchObject({
      version: 1,
      settings: 'of-version',
      pending: ['MODE'],
      servingVersion: 2,
      changedSettings: ['zClouds'],
    })
    await serves(appEnvId, 1)
    expect(given(appEnvId)).toMatchObject({ MODE: 'good', OLD: 'x' })
    expect(given(appEnvId)).not.toHaveProperty('NEW')
    expect(await savedValue(appEnvId, 'MODE')).toBe('unreviewed')
    expect(await pendingOf(appEnvId)).toEqual(['envVars'])
    // A later deployment of new code does not bring version 2's settings back.
    await send('PATCH', '/app-env/variables', { appEnvId, set: [{ name: 'MODE', value: 'good' }] })
    await deploy(appEnvId)
    await serves(appEnvId, 3)
    expect(given(appEnvId)).toMatchObject({ MODE: 'good', OLD: 'x' })
    expect(given(appEnvId)).not.toHaveProperty('NEW')
    expect((await read(appEnvId)).zClouds).not.toBe(2)
  })

  it('names every variable that changes in its dry run, and changes nothing there', async () => {
    const appEnvId = await story()
    const before = await read(appEnvId)
    const answer = await dryRun(appEnvId, { version: 1 })
    expect(answer.variables).toEqual([
      { name: 'MODE', change: 'changed' },
      { name: 'NEW', change: 'removed' },
      { name: 'OLD', change: 'added' },
    ])
    expect(answer.effects.join(' ')).toMatch(/MODE.*OLD.*NEW.*zClouds.*Stays pending: MODE/)
    expect(await read(appEnvId)).toEqual(before)
  })

  it('takes the saved settings with settings: saved', async () => {
    const appEnvId = await story()
    expect(await redeploy(appEnvId, { version: 1, settings: 'saved' })).toMatchObject({
      settings: 'saved',
      pending: [],
    })
    await serves(appEnvId, 1)
    expect(given(appEnvId)).toMatchObject({ MODE: 'unreviewed', NEW: 'x' })
  })

  it('includes settings that took effect at once while the version ran', async () => {
    const { appEnvId } = await fixture.platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } })
    await deploy(appEnvId)
    const config = (maxScale: number) =>
      send('PATCH', '/app-env/function-config', { appEnvId, maxScale, applyImmediately: true })
    await config(3)
    await deploy(appEnvId)
    await config(1)
    await redeploy(appEnvId, { version: 1 })
    await serves(appEnvId, 1)
    expect((await read(appEnvId)).functionConfig.maxScale).toBe(3)
  })

  it('keeps the number of containers: it follows the load', async () => {
    const { appEnvId } = await app()
    await deploy(appEnvId)
    await deploy(appEnvId)
    await send('PATCH', '/app-env/containers', { appEnvId, containers: 3 })
    await redeploy(appEnvId, { version: 1 })
    await serves(appEnvId, 1)
    expect(await read(appEnvId)).toMatchObject({ containers: 3, pendingChanges: { hasDeployChanges: false } })
  })

  it('says in history and audit log which version and settings it deployed', async () => {
    const appEnvId = await story()
    await redeploy(appEnvId, { version: 1 })
    await serves(appEnvId, 1)
    const { activities } = (await send('GET', '/app-env/history', { appEnvId })).json
    const begun = activities.find(
      (one: { activity: string; status: string }) =>
        one.activity === 'REDEPLOY' && one.status === 'DEPLOYING',
    )
    expect(begun).toMatchObject({ version: 1, details: 'with the settings it ran with' })
    const { accountId } = fixture.platform
    const { entries } = (await send('GET', '/audit', { accountId, objectId: appEnvId, limit: 1 })).json
    expect(entries[0].operation).toBe('redeploy-app-env')
    expect(entries[0].changes).toContainEqual({ path: 'deployment', before: 'version 2', after: 'version 1' })
    const { changes } = (await send('GET', '/app-env/changes', { appEnvId })).json
    const back = changes.find(({ what }: { what: string }) => what === 'REDEPLOY of version 1: DEPLOYED')
    expect(back.byName).toMatch(/\w/)
    await redeploy(appEnvId, { version: 1 })
    const again = (await send('GET', '/audit', { accountId, objectId: appEnvId, limit: 1 })).json.entries[0]
    expect(again.changes).toContainEqual({
      path: 'deployment',
      before: 'version 1',
      after: 'version 1 again',
    })
  })
})

describe('a rollback that is not completed', () => {
  it('leaves the settings as they were when it is superseded by a stop', async () => {
    const appEnvId = await story()
    fixture.platform.engine.faults.away = true
    try {
      await redeploy(appEnvId, { version: 1 })
      await send('POST', '/app-env/stop', { appEnvId })
    } finally {
      fixture.platform.engine.faults.away = false
    }
    const { envVars, zClouds, pendingChanges } = await read(appEnvId, true)
    const values = Object.fromEntries(
      envVars.map((one: { name: string; value: string }) => [one.name, one.value]),
    )
    expect(values).toEqual({ MODE: 'unreviewed', NEW: 'x' })
    expect(zClouds).toBe(2)
    expect(pendingChanges.deployPendingChanges.map(({ field }: { field: string }) => field)).toEqual([
      'envVars',
    ])
  })

  it('leaves the settings as they were when it fails', async () => {
    const appEnvId = await story()
    const { faults } = fixture.platform.engine
    faults.failStarts = { times: 1, reason: 'bad-command', message: 'no such program' }
    await redeploy(appEnvId, { version: 1 })
    await until('the rollback fails', async () => {
      const { json } = await send('GET', '/app-env/status', { appEnvId })
      return json.currentDeployment.status === 'FAILED' ? json : null
    })
    expect(given(appEnvId)).toMatchObject({ MODE: 'bad', NEW: 'x' })
    expect(await savedValue(appEnvId, 'MODE')).toBe('unreviewed')
    expect(await savedValue(appEnvId, 'NEW')).toBe('x')
    expect(await pendingOf(appEnvId)).toEqual(['envVars'])
    expect((await read(appEnvId)).zClouds).toBe(2)
  })
})

describe('secrets and references in a rollback', () => {
  const secret = (value: string) => ({ name: 'KEY', value, isSecret: true })

  async function changedSecret(): Promise<string> {
    const { appEnvId } = await app()
    await set(appEnvId, secret('first'), { name: 'PLAIN', value: 'one', isSecret: false })
    await deploy(appEnvId)
    await set(appEnvId, secret('second'), { name: 'PLAIN', value: 'two', isSecret: false })
    await deploy(appEnvId)
    await serves(appEnvId, 2)
    return appEnvId
  }

  it('names the secrets that changed since, and sets them back', async () => {
    const appEnvId = await changedSecret()
    const answer = await dryRun(appEnvId, { version: 1 })
    expect(answer.changedSecrets).toEqual(['KEY'])
    expect(answer.effects.join(' ')).toContain('Sets back the secrets KEY')
    await redeploy(appEnvId, { version: 1 })
    await serves(appEnvId, 1)
    expect(given(appEnvId)).toMatchObject({ KEY: 'first', PLAIN: 'one' })
    expect(await pendingOf(appEnvId)).toEqual([])
  })

  it('keeps the present ones with keepSecrets', async () => {
    const appEnvId = await changedSecret()
    const answer = await redeploy(appEnvId, { version: 1, keepSecrets: true })
    expect(answer.changedSecrets).toEqual(['KEY'])
    await serves(appEnvId, 1)
    expect(given(appEnvId)).toMatchObject({ KEY: 'second', PLAIN: 'one' })
    expect(await pendingOf(appEnvId)).toEqual([])
  })

  it('never shows in clear what has become secret since', async () => {
    const { appEnvId } = await app()
    await set(appEnvId, { name: 'KEY', value: 'hush', isSecret: false })
    await deploy(appEnvId)
    await set(appEnvId, secret('hush'))
    await deploy(appEnvId)
    await serves(appEnvId, 2)
    await redeploy(appEnvId, { version: 1 })
    await serves(appEnvId, 1)
    expect((await read(appEnvId)).envVars).toMatchObject([
      { name: 'KEY', isSecret: true, value: '***SECRET***' },
    ])
    expect(given(appEnvId).KEY).toBe('hush')
    expect(await pendingOf(appEnvId)).toEqual([])
  })

  it('resolves references again, and needs the permission for those that come back', async () => {
    const { appEnvId: databaseId, envName } = await database()
    const { appEnvId } = await app()
    await set(appEnvId, { name: 'DB_PASSWORD', from: { envName, field: 'password' } })
    await deploy(appEnvId)
    await send('PATCH', '/app-env/variables', { appEnvId, unset: ['DB_PASSWORD'] })
    await deploy(appEnvId)
    await serves(appEnvId, 2)
    await send('POST', '/app-env/database/rotate', { appEnvId: databaseId })
    const { token } = await fixture.platform.makeUser()
    expect((await ask('POST', '/app-env/redeploy', { appEnvId, version: 1 }, token)).status).toBe(403)
    await redeploy(appEnvId, { version: 1 })
    await serves(appEnvId, 1)
    const url = new URL((await read(databaseId, true)).hosts[0].url)
    expect(given(appEnvId).DB_PASSWORD).toBe(url.password)
    expect(await pendingOf(appEnvId)).toEqual([])
  })
})

describe('a redeploy without a version', () => {
  it('deploys the present version with the settings in force, and builds nothing', async () => {
    const appEnvId = await story()
    expect(await redeploy(appEnvId)).toMatchObject({ version: 2, settings: 'of-version', pending: ['MODE'] })
    await serves(appEnvId, 2)
    expect(given(appEnvId)).toMatchObject({ MODE: 'bad' })
    expect(await pendingOf(appEnvId)).toEqual(['envVars'])
  })
})

describe('a change that takes effect at once', () => {
  it('leaves other pending function settings pending', async () => {
    const { appEnvId } = await fixture.platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } })
    await deploy(appEnvId)
    await send('PATCH', '/app-env/function-config', { appEnvId, timeoutSeconds: 7 })
    await send('PATCH', '/app-env/function-config', { appEnvId, maxScale: 2, applyImmediately: true })
    expect(await pendingOf(appEnvId)).toEqual(['functionConfig'])
    await redeploy(appEnvId, { version: 1 })
    await serves(appEnvId, 1)
    expect((await read(appEnvId)).functionConfig).toMatchObject({ timeoutSeconds: 7, maxScale: 2 })
    expect(await pendingOf(appEnvId)).toEqual(['functionConfig'])
  })
})
