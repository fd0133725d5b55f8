import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start()
})
afterAll(() => platform.close())

const send = async (method: string, path: string, input: Record<string, unknown>) => {
  const answer = await platform.request(method, path, { token: platform.admin.token, input })
  expect(answer.status, answer.text).toBe(200)
  return answer.json
}
const read = (appEnvId: string) => send('GET', '/app-env', { appEnvId })
const deploy = async (appEnvId: string, tag: number) => {
  await send('POST', '/app-env/deploy-image', { appEnvId, image: `registry.example.com/app:${tag}` })
  await untilRead(
    () => send('GET', '/app-env/status', { appEnvId }),
    ({ status, currentVersion }) => status === 'RUNNING' && currentVersion === tag,
    `version ${tag}`,
  )
}
const variables = (appEnvId: string, change: object) =>
  send('PATCH', '/app-env/variables', { appEnvId, ...change })

describe('pending changes', () => {
  it('3.3 discards what is saved and not in force, secrets too, and undo brings it back', async () => {
    const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
    await variables(appEnvId, { set: [{ name: 'KEY', value: 'first-secret' }] })
    await deploy(appEnvId, 1)
    await send('PUT', '/app-env', { appEnvId, zClouds: 4 })
    await variables(appEnvId, {
      set: [
        { name: 'KEY', value: 'second-secret' },
        { name: 'NEW', value: 'x' },
      ],
    })
    const before = await read(appEnvId)
    const rehearsed = await platform.request('POST', '/app-env/discard-changes', {
      token: platform.admin.token,
      input: { appEnvId },
      headers: { 'dry-run': 'true' },
    })
    expect(rehearsed.json.changes.map(({ path }: { path: string }) => path).sort()).toEqual([
      'envVars.KEY.value',
      'envVars.NEW',
      'zClouds',
    ])
    expect(rehearsed.text).not.toMatch(/first-secret|second-secret|v1\.key_/)
    expect((await read(appEnvId)).revision).toBe(before.revision)

    const discarded = await send('POST', '/app-env/discard-changes', {
      appEnvId,
      expectedRevision: before.revision,
    })
    expect(discarded.pendingChanges).toEqual({
      hasBuildChanges: false,
      hasDeployChanges: false,
      deployPendingChanges: [],
    })
    const after = await send('GET', '/app-env', { appEnvId, decrypt: true })
    expect(after).toMatchObject({ zClouds: 1, revision: before.revision + 1 })
    expect(after.envVars.map(({ name, value }: { name: string; value: string }) => [name, value])).toEqual([
      ['KEY', 'first-secret'],
    ])
    expect((await send('POST', '/app-env/discard-changes', { appEnvId })).message).toBe('Nothing is pending')

    const { entries } = await send('GET', '/audit', { accountId: platform.accountId, objectId: appEnvId })
    const { entryId } = entries.find(
      ({ operation }: { operation: string }) => operation === 'discard-app-env-changes',
    )
    await send('POST', '/audit/undo', { entryId })
    expect((await read(appEnvId)).zClouds).toBe(4)
  })
})

describe('comparing versions', () => {
  it('names what differs: image, settings, and variables without their values', async () => {
    const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
    const set = (name: string, value: string) => ({ name, value, isSecret: false })
    await variables(appEnvId, { set: [set('GONE', 'old-value'), set('MODE', 'slow-value')] })
    await variables(appEnvId, { set: [{ name: 'KEPT', value: 'sealed-value' }] })
    await deploy(appEnvId, 1)
    await variables(appEnvId, { set: [set('MODE', 'fast-value'), set('NEW', 'new-value')], unset: ['GONE'] })
    await variables(appEnvId, { set: [{ name: 'KEPT', value: 'sealed-value' }] })
    await send('PUT', '/app-env', { appEnvId, zClouds: 2 })
    await deploy(appEnvId, 2)
    const compare = (from: number, to: number) =>
      platform.request('GET', '/app-env/version-changes', {
        token: platform.admin.token,
        input: { appEnvId, from, to },
      })
    const { json, text } = await compare(1, 2)
    expect(json).toMatchObject({
      from: { version: 1, type: 'IMAGE', image: 'registry.example.com/app:1' },
      to: { version: 2, type: 'IMAGE', image: 'registry.example.com/app:2' },
      changes: [{ path: 'zClouds', before: 1, after: 2 }],
      variables: [
        { name: 'GONE', change: 'removed' },
        { name: 'MODE', change: 'changed' },
        { name: 'NEW', change: 'added' },
      ],
    })
    expect(text).not.toContain('-value')
    expect((await compare(1, 3)).json).toMatchObject({ error: 'There is no version 3' })
  })
})
