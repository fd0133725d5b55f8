import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { applyAppEnvChanges } from '../../../src/contract/app-env-actions.ts'
import { createAppEnv, getAppEnv, updateAppEnv } from '../../../src/contract/app-envs.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'
import { until, untilRead } from '../../../testkit/until.ts'

let platform: TestPlatform
let person: TestUser
beforeAll(async () => {
  platform = await TestPlatform.start()
  person = await platform.makeUser()
})
afterAll(() => platform.close())

/** A call of the admin's agent. */
const asAgent = (path: string, input: Record<string, unknown>, headers = {}) =>
  platform.request('POST', path, {
    token: platform.admin.token,
    input,
    headers: { 'longshore-surface': 'mcp', ...headers },
  })
const set = ({ token }: TestUser, appEnvId: string, change: Record<string, unknown>) =>
  platform.request('PATCH', '/app-env/variables', { token, input: { appEnvId, ...change } })
const read = (appEnvId: string) => platform.admin.client.call(getAppEnv, { appEnvId })
const pending = async (appEnvId: string) =>
  (await read(appEnvId)).pendingChanges.deployPendingChanges.flatMap(({ field, by, variables }) =>
    variables ? variables.map((one) => `${one.name} ${one.by}`) : [`${field} ${by}`],
  )
const given = (appEnvId: string) =>
  platform.engine.running().find(({ spec }) => spec.appEnvId === appEnvId)?.spec.env ?? {}

async function served() {
  const { appId } = await platform.makeEnvironment({ app: { useImage: true } })
  const { accountId } = platform
  const envVars = [{ name: 'OLD', value: 'old', isSecret: false }]
  const { appEnvId } = await platform.admin.client.call(createAppEnv, {
    ...{ accountId, appId, name: 'main', region: platform.region, envVars },
  })
  await platform.admin.client.call(deployAppEnvImage, { appEnvId, image: 'registry.example.com/app:1' })
  await untilRead(
    () => read(appEnvId),
    ({ status }) => status === 'RUNNING',
    'the first version',
  )
  return appEnvId
}

describe('an agent puts only its own pending changes in force', () => {
  it('those of other people stay pending, with their author, exactly', async () => {
    const appEnvId = await served()
    await set(platform.admin, appEnvId, { set: [{ name: 'MINE', value: '1', isSecret: false }] })
    await set(person, appEnvId, { set: [{ name: 'THEIRS', value: '2', isSecret: false }], unset: ['OLD'] })
    await person.client.call(updateAppEnv, { appEnvId, zClouds: 2 })

    const dry = await asAgent('/app-env/apply-changes', { appEnvId }, { 'dry-run': 'true' })
    expect(dry.json.impact.variables.appliedOf).toEqual([{ name: 'MINE', by: platform.admin.userId }])
    const applied = await asAgent('/app-env/apply-changes', { appEnvId })
    expect(applied.json.message).toContain(`includeChangesOf: ["${person.userId}"]`)
    await until(() => given(appEnvId).MINE === '1', 'the own change')
    expect(given(appEnvId)).toMatchObject({ OLD: 'old' })
    expect(given(appEnvId).THEIRS).toBeUndefined()
    await untilRead(
      () => read(appEnvId),
      ({ status }) => status === 'RUNNING',
      'the end of the rollout',
    )
    const [by, names] = [person.userId, await pending(appEnvId)]
    expect(names.sort()).toEqual([`OLD ${by}`, `THEIRS ${by}`, `zClouds ${by}`])

    expect((await asAgent('/app-env/apply-changes', { appEnvId })).json.message).toMatch(/^Nothing of yours/)
    const named = await asAgent('/app-env/apply-changes', { appEnvId, includeChangesOf: [by] })
    expect(named.status).toBe(200)
    await until(() => given(appEnvId).THEIRS === '2', 'the changes of the person')
    expect(given(appEnvId).OLD).toBeUndefined()
    await untilRead(
      () => read(appEnvId),
      ({ status }) => status === 'RUNNING',
      'the end of the rollout',
    )
    expect(await pending(appEnvId)).toEqual([])
  })

  it('also when it deploys a new version; a person applies everything', async () => {
    const appEnvId = await served()
    await set(person, appEnvId, { set: [{ name: 'THEIRS', value: '2', isSecret: false }] })
    const deployed = await asAgent('/app-env/deploy-image', { appEnvId, image: 'registry.example.com/app:2' })
    expect(deployed.json.message).toContain('1 change stays pending')
    await untilRead(
      () => read(appEnvId),
      (one) => one.currentVersion === 2 && one.status === 'RUNNING',
      'it',
    )
    expect(await pending(appEnvId)).toEqual([`THEIRS ${person.userId}`])
    await platform.admin.client.call(applyAppEnvChanges, { appEnvId })
    await until(() => given(appEnvId).THEIRS === '2', 'the change')
  })

  it('a tool says first that a change stayed pending, and its next action puts it in force', async () => {
    const appEnvId = await served()
    await set(person, appEnvId, { set: [{ name: 'THEIRS', value: '2', isSecret: false }] })
    const session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
    const applied = await session.call('apply-app-env-changes', { appEnvId })
    expect(applied.text).toMatch(/^NOT in force: 1 pending change saved by /)
    expect(applied.structured.heldChanges).toEqual([{ path: 'envVars.THEIRS', by: person.userId }])
    const [next] = applied.structured.nextActions as { tool: string; input: Record<string, unknown> }[]
    const diagnosis = await session.call('diagnose-app-env', { appEnvId })
    const [fix] = diagnosis.structured.nextActions as unknown[]
    expect(fix).toMatchObject({ tool: next!.tool, input: next!.input })
    const all = await session.call(next!.tool, next!.input)
    expect(all.structured).not.toHaveProperty('heldChanges')
    expect(given(appEnvId).THEIRS).toBe('2')
    expect(await pending(appEnvId)).toEqual([])
    await session.close()
  })

  it('is refused where its own changes need those of others, and says how to include them', async () => {
    const functionConfig = { maxScale: 2 }
    const { appEnvId } = await platform.makeEnvironment({
      app: { dockerPreset: 'FUNCTION' },
      environment: { functionConfig },
    })
    await person.client.call(updateAppEnv, { appEnvId, functionConfig: { maxScale: 5 } })
    await platform.admin.client.call(updateAppEnv, { appEnvId, functionConfig: { minScale: 3 } })
    const refused = await asAgent('/app-env/apply-changes', { appEnvId })
    expect(refused.json).toMatchObject({ error: 'Your changes need those of other people' })
    expect(refused.json.details).toContain(`includeChangesOf: ["${person.userId}"]`)
    expect((await asAgent('/app-env/apply-changes', { appEnvId, includeChangesOf: 'all' })).status).toBe(200)
    expect(await pending(appEnvId)).toEqual([])
  })
})
