import { describe, expect, it } from 'vitest'
import { variablesFixture } from '../../../testkit/platform/variables-fixture.ts'

const fixture = variablesFixture()
const { ask, send, read, set, refusedSet, app, deploy } = fixture

describe('references', () => {
  it('a discard brings back what runs, also when its source was deleted since', async () => {
    const [source, user] = [await app(), await app()]
    await set(source.appEnvId, { name: 'KEY', value: 'running-value' })
    const { cliEnvName: envName } = await read(source.appEnvId)
    await set(user.appEnvId, { name: 'KEY', from: { envName, field: 'KEY' } })
    await deploy(user.appEnvId)
    await set(user.appEnvId, { name: 'KEY', value: 'other-value' })
    await send('DELETE', '/app-env', { appEnvId: source.appEnvId })
    const discarded = await send('POST', '/app-env/discard-changes', { appEnvId: user.appEnvId })
    expect(discarded.json.pendingChanges.hasDeployChanges).toBe(false)
    const { envVars, pendingChanges } = await read(user.appEnvId, true)
    expect([envVars[0].value, pendingChanges.hasDeployChanges]).toEqual(['running-value', false])
  })

  it('a new value has an entry in the audit log of each environment it reaches, with names only', async () => {
    const [source, user] = [await app(), await app()]
    await set(source.appEnvId, { name: 'KEY', value: 'first-canary' })
    const { cliEnvName: envName } = await read(source.appEnvId)
    await set(user.appEnvId, { name: 'MY_KEY', from: { envName, field: 'KEY' } })
    const { revision } = await read(user.appEnvId)
    await set(source.appEnvId, { name: 'KEY', value: 'second-canary' })
    expect((await read(user.appEnvId)).revision).toBe(revision + 1)
    const { json, text } = await send('GET', '/audit', {
      accountId: fixture.platform.accountId,
      objectId: user.appEnvId,
      limit: 1,
    })
    expect(json.entries[0]).toMatchObject({
      operation: 'update-app-env-variables',
      objectId: user.appEnvId,
      changes: [
        { path: 'refreshed', before: null, after: `{"source":"${source.appEnvId}","variables":["MY_KEY"]}` },
      ],
    })
    expect(text).not.toContain('canary')
    const undone = await ask('POST', '/audit/undo', { entryId: json.entries[0].entryId })
    expect([undone.status, undone.json.error]).toEqual([400, 'This change cannot be undone'])
    const { json: timeline } = await send('GET', '/app-env/changes', { appEnvId: user.appEnvId })
    expect(timeline.changes[0]).toMatchObject({
      kind: 'variables',
      what: `update-app-env-variables of ${source.appEnvId}`,
      names: ['MY_KEY'],
    })
  })

  it('a restricted admin reads of a new value, and not of the hidden environment that it came from', async () => {
    const [source, user] = [await app(), await app()]
    await set(source.appEnvId, { name: 'KEY', value: 'first' })
    const { cliEnvName: envName } = await read(source.appEnvId)
    await set(user.appEnvId, { name: 'MY_KEY', from: { envName, field: 'KEY' } })
    await set(source.appEnvId, { name: 'KEY', value: 'second' })
    const { accountId } = fixture.platform
    const restricted = await fixture.platform.makeUser({ admin: true })
    await send('PATCH', '/account', { accountId, memberEnvAccessEnabled: true })
    await send('PATCH', '/member/env-access', {
      accountId,
      membershipId: restricted.membershipId,
      allowedAppEnvIds: [user.appEnvId],
    })
    const audit = await ask('GET', '/audit', { accountId, objectId: user.appEnvId }, restricted.token)
    expect(audit.json.entries[0].changes).toEqual([
      { path: 'refreshed', before: null, after: '{"source":"hidden","variables":["MY_KEY"]}' },
    ])
    const changes = await ask('GET', '/app-env/changes', { appEnvId: user.appEnvId }, restricted.token)
    expect(changes.text).toContain('update-app-env-variables of hidden')
    expect(audit.text + changes.text).not.toContain(source.appEnvId)
  })
})

describe('generated values', () => {
  it('are random, long enough, and shown only to an admin who asks', async () => {
    const { appEnvId } = await app()
    const answer = await set(
      appEnvId,
      { name: 'ONE', generate: {} },
      { name: 'TWO', generate: { length: 64, alphabet: '0123456789abcdef' } },
    )
    const clear = Object.fromEntries(
      (await read(appEnvId, true)).envVars.map(({ name, value }: { name: string; value: string }) => [
        name,
        value,
      ]),
    )
    expect(clear.ONE).toMatch(/^[A-Za-z0-9]{32}$/)
    expect(clear.TWO).toMatch(/^[0-9a-f]{64}$/)
    expect(answer.text).not.toContain(clear.ONE)
    await set(appEnvId, { name: 'ONE', generate: {}, isSecret: false })
    expect((await read(appEnvId)).envVars[0]).toMatchObject({ value: '***SECRET***', isSecret: true })
    expect((await read(appEnvId, true)).envVars[0].value).not.toBe(clear.ONE)
  })

  it.each([
    { value: 'x', generate: {} },
    { generate: {}, from: { envName: 'a', field: 'url' } },
    { generate: { length: 4 } },
    { generate: { alphabet: 'aaaaaaaaaa' } },
    { from: { envName: 'a' } },
  ])('refuses %j', async (variable) => {
    const { appEnvId } = await app()
    expect((await refusedSet(appEnvId, { name: 'X', ...variable })).status).toBe(400)
  })
})
