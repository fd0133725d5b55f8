import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

const send = (
  method: string,
  path: string,
  input: Record<string, unknown>,
  headers: Record<string, string> = {},
) => platform.request(method, path, { token: platform.admin.token, input, headers })

const makeEnvironment = (app: Record<string, unknown> = {}, environment: Record<string, unknown> = {}) =>
  platform.makeEnvironment({ app, environment })

const read = async (appEnvId: string, input: Record<string, unknown> = {}) =>
  (await send('GET', '/app-env', { appEnvId, ...input })).json

describe('environments', () => {
  it('8.zClouds takes 1, 2, 4 and 8, and defaults to 1', async () => {
    const { appId, appEnvId } = await makeEnvironment()
    expect((await read(appEnvId)).zClouds).toBe(1)
    const create = { accountId: platform.accountId, appId, region: 'local' }
    for (const zClouds of [2, 4, 8]) {
      expect((await send('POST', '/app-env', { ...create, name: `z${zClouds}`, zClouds })).status).toBe(200)
    }
    for (const zClouds of [0, 3, 16, '2', 1.5, null]) {
      const refused = await send('POST', '/app-env', { ...create, name: 'no', zClouds })
      expect([zClouds, refused.status]).toEqual([zClouds, 400])
      expect(refused.json.details).toContain('zClouds')
    }
  })

  it('7.400 names missing fields, unknown keys and the allowed regions', async () => {
    const { appId } = await makeEnvironment()
    const missing = await send('POST', '/app-env', { accountId: platform.accountId, appId, region: 'local' })
    expect([missing.status, missing.json.details]).toEqual([400, 'name is required'])
    const unknown = await send('POST', '/app-env', {
      accountId: platform.accountId,
      appId,
      name: 'a',
      region: 'local',
      colour: 1,
    })
    expect(unknown.json.details).toContain('colour')
    const region = await send('POST', '/app-env', {
      accountId: platform.accountId,
      appId,
      name: 'a',
      region: 'mars',
    })
    expect(region.json.details).toContain('local')
  })

  it('7.401 and 7.403 and 7.404 tell callers apart, unknown and foreign ids being byte-equal', async () => {
    const { appEnvId } = await makeEnvironment()
    const member = await platform.makeUser()
    const stranger = await platform.makeUser({ accountId: await platform.makeAccount('Other') })
    const get = (token: string | null, id: string, more = {}) =>
      platform.request('GET', '/app-env', { token, input: { appEnvId: id, ...more } })
    expect((await get(null, appEnvId)).status).toBe(401)
    expect((await get('lsu_nobody', appEnvId)).status).toBe(401)
    expect((await get(member.token, appEnvId)).status).toBe(200)
    expect((await get(member.token, appEnvId, { decrypt: true })).status).toBe(403)
    const foreign = await get(stranger.token, appEnvId)
    const unknown = await get(stranger.token, 'env_aaaaaaaaaaaaaaaaaaaa')
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
  })

  it('F5 refuses a function in a region without a function domain', async () => {
    const { appId } = await makeEnvironment({ dockerPreset: 'FUNCTION' })
    const refused = await send('POST', '/app-env', {
      accountId: platform.accountId,
      appId,
      name: 'x',
      region: 'plain',
    })
    expect([refused.status, refused.headers.get('longshore-rule')]).toEqual([400, 'F5'])
    expect(refused.json.details).toContain('local')
  })

  it('F7 refuses volumes of functions, at creation and later', async () => {
    const { appId, appEnvId } = await makeEnvironment({ dockerPreset: 'FUNCTION' })
    const create = { accountId: platform.accountId, appId, name: 'v', region: 'local', useVolume: true }
    for (const refused of [
      await send('POST', '/app-env', create),
      await send('PUT', '/app-env', { appEnvId, useVolume: true }),
    ]) {
      expect([refused.status, refused.headers.get('longshore-rule')]).toEqual([400, 'F7'])
    }
  })

  it('F6 offers no generated Dockerfile to functions: one app has one preset', async () => {
    const refused = await send('POST', '/app', {
      name: 'x',
      accountId: platform.accountId,
      port: 1,
      dockerPreset: 'FUNCTION,NEXT_JS',
    })
    expect(refused.status).toBe(400)
  })
})

describe('environments and what is pending', () => {
  it('V2 has no version before the first deployment, and 3.3 nothing pending', async () => {
    const { appEnvId } = await makeEnvironment()
    expect(await read(appEnvId)).toMatchObject({
      currentVersion: null,
      status: 'STOPPED',
      gitBranch: 'cli',
      pendingChanges: { hasBuildChanges: false, hasDeployChanges: false, deployPendingChanges: [] },
    })
  })

  it('3.3 records zClouds and envVars as pending until apply', async () => {
    const { appEnvId } = await makeEnvironment()
    await send('PUT', '/app-env', {
      appEnvId,
      zClouds: 2,
      envVars: [{ name: 'A', value: '1', type: 'DEPLOY' }],
    })
    expect((await read(appEnvId)).pendingChanges).toMatchObject({
      hasBuildChanges: false,
      hasDeployChanges: true,
      deployPendingChanges: [
        { group: 'Environment Variables', field: 'envVars' },
        { group: 'Resources', field: 'zClouds' },
      ].sort((a, b) => b.field.localeCompare(a.field)),
    })
    const applied = await send('POST', '/app-env/apply-changes', { appEnvId })
    expect(applied.json).toMatchObject({ success: true, appliedImmediately: true, appEnv: { appEnvId } })
    expect((await read(appEnvId)).pendingChanges.hasDeployChanges).toBe(false)
    expect((await send('POST', '/app-env/apply-changes', { appEnvId })).json.message).toBe(
      'Nothing is pending',
    )
  })

  it('V3 refuses another dockerPresetVersion', async () => {
    const { appEnvId } = await makeEnvironment()
    const refused = await send('PUT', '/app-env', { appEnvId, dockerPresetVersion: '17' })
    expect([refused.status, refused.json.error]).toEqual([400, 'dockerPresetVersion cannot change'])
  })

  it('accepts envName instead of appEnvId, and rejects calls without both', async () => {
    const { appEnvId } = await makeEnvironment()
    const { cliEnvName } = await read(appEnvId)
    expect((await send('GET', '/app-env/status', { envName: cliEnvName })).json.appEnvId).toBe(appEnvId)
    expect((await send('GET', '/app-env/status', { appEnvId, envName: 'another' })).json.appEnvId).toBe(
      appEnvId,
    )
    expect((await send('GET', '/app-env/status', {})).json.error).toBe('appEnvId or envName is required')
  })

  it('gives two environments of equal names two host names', async () => {
    const { appId, appEnvId } = await makeEnvironment()
    const second = await send('POST', '/app-env', {
      accountId: platform.accountId,
      appId,
      name: 'prod',
      region: 'local',
    })
    const names = [(await read(appEnvId)).cliEnvName, (await read(second.json.appEnvId)).cliEnvName]
    expect(new Set(names).size).toBe(2)
    expect(names[1]).toMatch(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
  })

  it('rejects hostile names, branches, images and paths, and accepts printable ones', async () => {
    const create = (more: Record<string, unknown>) =>
      send('POST', '/app', { accountId: platform.accountId, port: 80, ...more })
    const unseen = ['\u202eabc', 'a\u200bb', 'a\u061cb', 'a\u3164b', 'a\u{e0041}b', 'a\ufe01b', 'a\u{e0101}b']
    for (const name of ['', ' ', 'a\nb', 'a\u0000', 'x'.repeat(101), ...unseen]) {
      expect([JSON.stringify(name), (await create({ name })).status]).toEqual([JSON.stringify(name), 400])
    }
    expect((await create({ name: 'x'.repeat(1_000_000) })).status).toBe(400)
    for (const name of ['$(reboot)', '; rm -rf /', '日本語', '❤️ shop 🚢', "o'neil & <sons>"])
      expect((await create({ name })).status).toBe(200)
    for (const image of ['-v', 'a b', 'UPPER', 'x:$(id)', '../x', 'a@sha256:12']) {
      expect([image, (await create({ name: 'i', useImage: true, image })).status]).toEqual([image, 400])
    }
    for (const dockerfilePath of ['/etc/passwd', '../Dockerfile', 'a/../../b', 'a\\b', 'a\u{e0041}b']) {
      expect([dockerfilePath, (await create({ name: 'd', dockerfilePath })).status]).toEqual([
        dockerfilePath,
        400,
      ])
    }
    for (const bad of ['-u', '.git', '../web', 'a/b', 'a b', 'a%2fb', 'a:b', 'wéb', 'a\n', ''])
      for (const part of [
        { gitNamespace: bad, gitRepo: 'web' },
        { gitNamespace: 'team', gitRepo: bad },
      ])
        expect([part, (await create({ name: 'g', ...part })).status]).toEqual([part, 400])
    expect((await create({ name: 'g', gitNamespace: '_my.team-1', gitRepo: 'Web_2.js' })).status).toBe(200)
    const git = await create({ name: 'g', gitNamespace: 'team', gitRepo: 'web' })
    const branch = (value: unknown) =>
      send('POST', '/app-env', {
        accountId: platform.accountId,
        appId: git.json.appId,
        name: 'b',
        region: 'local',
        branch: value,
      })
    for (const bad of ['', '--upload-pack=x', 'a..b', 'a b', '$(id)', 'a;b', undefined]) {
      expect([bad, (await branch(bad)).status]).toEqual([bad, 400])
    }
    expect((await branch('feature/x-1')).status).toBe(200)
  })

  it('holds the account limit zCloudLimit, functions counted by maxScale', async () => {
    const accountId = await platform.makeAccount('Small', { zCloudLimit: 8 })
    const { token } = await platform.makeUser({ accountId, admin: true })
    const post = (path: string, input: Record<string, unknown>) =>
      platform.request('POST', path, { token, input: { accountId, ...input } })
    const { appId } = (await post('/app', { name: 'f', port: 80, dockerPreset: 'FUNCTION' })).json
    const first = await post('/app-env', { appId, name: 'a', region: 'local', zClouds: 2 })
    expect(first.status).toBe(200)
    const second = await post('/app-env', { appId, name: 'b', region: 'local', zClouds: 1 })
    expect([second.status, second.json.error]).toEqual([400, 'Account limit reached: zCloudLimit'])
    expect(second.json.details).toContain('8')
  })

  it('M2 a refusal of zCloudLimit shows what the account uses only to members who see all of it', async () => {
    const accountId = await platform.makeAccount('Shared', { zCloudLimit: 8 })
    const { token } = await platform.makeUser({ accountId, admin: true, manageMembers: true })
    const call = (method: string, path: string, input: Record<string, unknown>, by = token) =>
      platform.request(method, path, { token: by, input })
    const { appId } = (await call('POST', '/app', { accountId, name: 'f', port: 80 })).json
    const made = (name: string, zClouds: number) =>
      call('POST', '/app-env', { accountId, appId, name, region: 'local', zClouds })
    await made('hidden', 4)
    const { appEnvId } = (await made('seen', 1)).json
    const member = await platform.makeUser({ accountId })
    await call('PATCH', '/account', { accountId, memberEnvAccessEnabled: true })
    await call('PATCH', '/member/env-access', {
      accountId,
      membershipId: member.membershipId,
      allowedAppEnvIds: [appEnvId],
    })
    const refused = async (by: string) =>
      (await call('PUT', '/app-env', { appEnvId, zClouds: 8 }, by)).json.details as string
    expect(await refused(token)).toContain('this would need 12 (8 here, 4 elsewhere)')
    const hidden = await refused(member.token)
    expect(hidden).toContain("The account's zCloudLimit is 8; this environment would take 8")
    expect(hidden).not.toMatch(/12|\b4\b/)
  })
})
