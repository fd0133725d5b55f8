import { describe, expect, it } from 'vitest'
import { findEnvironment } from '../../../src/store/repositories/environments.ts'
import { variablesFixture } from '../../../testkit/platform/variables-fixture.ts'

const mask = '***SECRET***'
const fixture = variablesFixture()
const { ask, send, read, set } = fixture

async function app() {
  const { appEnvId } = await fixture.platform.makeEnvironment({ app: { useImage: true } })
  return { appEnvId, envName: (await read(appEnvId)).cliEnvName as string }
}

const newestEntry = async () =>
  (await send('GET', '/audit', { accountId: fixture.platform.accountId, limit: 1 })).json.entries[0].entryId
const itself = [400, 'A variable cannot refer to itself']

describe('references never form a circle', () => {
  it('within one call', async () => {
    const { appEnvId, envName } = await app()
    await set(appEnvId, { name: 'X', value: '1' }, { name: 'Y', value: '2' })
    const both = [
      { name: 'X', from: { envName, field: 'Y' } },
      { name: 'Y', from: { envName, field: 'X' } },
    ]
    const refused = await ask('PATCH', '/app-env/variables', { appEnvId, set: both })
    expect([refused.status, refused.json.error]).toEqual(itself)
    const replaced = await ask('PUT', '/app-env', { appEnvId, envVars: both })
    expect([replaced.status, replaced.json.error]).toEqual(itself)
  })

  it('through an undo', async () => {
    const [one, two] = [await app(), await app()]
    await set(two.appEnvId, { name: 'Y', value: '1' })
    await set(one.appEnvId, { name: 'X', from: { envName: two.envName, field: 'Y' } })
    await set(one.appEnvId, { name: 'X', value: '2' })
    const entryId = await newestEntry()
    await set(two.appEnvId, { name: 'Y', from: { envName: one.envName, field: 'X' } })
    const undone = await ask('POST', '/audit/undo', { entryId })
    expect([undone.status, undone.json.error]).toEqual(itself)
  })
})

describe('a secret stays one', () => {
  it('where a readable variable that is referred to becomes secret', async () => {
    const [source, user] = [await app(), await app()]
    await set(source.appEnvId, { name: 'KEY', value: 'public', isSecret: false })
    await set(user.appEnvId, {
      name: 'KEY',
      from: { envName: source.envName, field: 'KEY' },
      isSecret: false,
    })
    await set(source.appEnvId, { name: 'KEY', value: 'hidden-from-now-on', isSecret: true })
    expect((await read(user.appEnvId)).envVars[0]).toMatchObject({ value: mask, isSecret: true })
  })

  it('A3: where a discard or an undo brings back the readable value of a source that became secret', async () => {
    const [source, user] = [await app(), await app()]
    const from = { envName: source.envName, field: 'KEY' }
    await set(source.appEnvId, { name: 'KEY', value: 'once-public', isSecret: false })
    await set(user.appEnvId, { name: 'KEY', from, isSecret: false })
    await send('POST', '/app-env/deploy-image', {
      appEnvId: user.appEnvId,
      image: 'registry.example.com/app:1',
    })
    await set(source.appEnvId, { name: 'KEY', isSecret: true })
    const { token } = await fixture.platform.makeUser()
    const discarded = await send('POST', '/app-env/discard-changes', { appEnvId: user.appEnvId }, token)
    expect(discarded.json.pendingChanges.hasDeployChanges).toBe(true)
    expect((await read(user.appEnvId)).envVars[0]).toMatchObject({ value: mask, isSecret: true })

    await set(source.appEnvId, { name: 'OTHER', value: 'once-public', isSecret: false })
    await set(user.appEnvId, { name: 'TWO', from: { ...from, field: 'OTHER' }, isSecret: false })
    await set(user.appEnvId, { name: 'TWO', value: 'own', isSecret: false })
    const entryId = await newestEntry()
    await set(source.appEnvId, { name: 'OTHER', isSecret: true })
    await send('POST', '/audit/undo', { entryId })
    expect((await read(user.appEnvId)).envVars[1]).toMatchObject({ name: 'TWO', value: mask, isSecret: true })
  })

  it('A3: a member without admin writes a read back, but discards no change that ended a reference to it', async () => {
    const [source, user] = [await app(), await app()]
    await set(source.appEnvId, { name: 'KEY', value: 'secret-value' })
    await set(user.appEnvId, { name: 'KEY', from: { envName: source.envName, field: 'KEY' } })
    await send('POST', '/app-env/deploy-image', {
      appEnvId: user.appEnvId,
      image: 'registry.example.com/app:1',
    })
    const { token } = await fixture.platform.makeUser()
    const { envVars } = await read(user.appEnvId)
    await send('PUT', '/app-env', { appEnvId: user.appEnvId, envVars }, token)
    expect((await read(user.appEnvId)).envVars).toEqual(envVars)
    await send('PATCH', '/app-env/variables', { appEnvId: user.appEnvId, unset: ['KEY'] })
    const refused = await ask('POST', '/app-env/discard-changes', { appEnvId: user.appEnvId }, token)
    expect([refused.status, refused.json.error]).toEqual([
      403,
      'Admin permission required to refer to a secret',
    ])
    await send('POST', '/app-env/discard-changes', { appEnvId: user.appEnvId })
    expect((await read(user.appEnvId)).envVars).toEqual(envVars)
  })
})

it('a change passes through a long chain of references in one pass', async () => {
  const [one, two] = [await app(), await app()]
  const length = 300
  const names = (count: number) => Array.from({ length: count }, (_, at) => `KEY_${at}`)
  const plain = (name: string) => ({ name, value: 'first', isSecret: false })
  await set(one.appEnvId, ...names(length).map(plain))
  const refer = (envName: string, name: string, field: string) => ({
    name,
    from: { envName, field },
    isSecret: false,
  })
  await set(two.appEnvId, ...names(length).map((name) => refer(one.envName, name, name)))
  const back = names(length - 1).map((field, at) => refer(two.envName, `KEY_${at + 1}`, field))
  await set(one.appEnvId, ...back)
  await set(one.appEnvId, { name: 'KEY_0', value: 'second', isSecret: false })
  for (const { appEnvId } of [one, two])
    expect(new Set((await read(appEnvId)).envVars.map(({ value }: { value: string }) => value))).toEqual(
      new Set(['second']),
    )
})

it('the event loop has its turn between large environments that are read one after the other', async () => {
  const { appEnvId } = await app()
  await set(
    appEnvId,
    ...Array.from({ length: 5 }, (_, at) => ({ name: `V${at}`, value: 'x'.repeat(60_000) })),
  )
  let turns = 0
  await fixture.platform.db.read(async (tx) => {
    const count = () => {
      turns += 1
      timer = setImmediate(count)
    }
    let timer = setImmediate(count)
    for (let times = 0; times < 10; times += 1) await findEnvironment(tx, { appEnvId })
    clearImmediate(timer)
  })
  expect(turns).toBeGreaterThanOrEqual(10)
})
