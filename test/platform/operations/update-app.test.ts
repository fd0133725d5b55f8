import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tgz } from '../../../testkit/platform/deploy.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start()
})
afterAll(() => platform.close())

const request = (method: string, path: string, input: Record<string, unknown>, token?: string) =>
  platform.request(method, path, { token: token ?? platform.admin.token, input })
const send = async (method: string, path: string, input: Record<string, unknown>) => {
  const answer = await request(method, path, input)
  expect(answer.status, answer.text).toBe(200)
  return answer.json
}
const update = (appId: string, change: Record<string, unknown>) => send('PATCH', '/app', { appId, ...change })
const served = (appEnvId: string, version: number) =>
  untilRead(
    () => send('GET', '/app-env/status', { appEnvId }),
    ({ status, currentVersion }) => status === 'RUNNING' && currentVersion === version,
    `version ${version}`,
  )
/** Containers of earlier versions take a moment to stop. */
const listensOn = (appEnvId: string, port: number) =>
  untilRead(
    async () =>
      platform.engine
        .running()
        .filter(({ spec }) => spec.appEnvId === appEnvId)
        .map(({ spec }) => spec.port),
    (ports) => ports.length === 1 && ports[0] === port,
    `one container on port ${port}`,
  )
const express = { 'package.json': JSON.stringify({ dependencies: {} }), 'server.js': '' }

async function deploySource(appEnvId: string, files: Record<string, string>): Promise<void> {
  const { uploadUrl, storageKey } = await send('POST', '/app-env/request-storage-key', { appEnvId })
  await fetch(uploadUrl, { method: 'PUT', body: new Uint8Array(await tgz(files)) })
  await send('POST', '/app-env/notify-upload', { appEnvId, storageKey })
}

describe('update-app', () => {
  it('gives an app that has no Dockerfile the preset that its source needs', async () => {
    const { appId, appEnvId } = await platform.makeEnvironment()
    await deploySource(appEnvId, express)
    await untilRead(
      () => send('GET', '/app-env/status', { appEnvId }),
      ({ currentDeployment }) => currentDeployment.failure?.reason === 'no Dockerfile',
      'a failed build',
    )
    const { app, message } = await update(appId, { dockerPreset: 'EXPRESS', port: 3000 })
    expect(app).toMatchObject({ dockerPreset: 'EXPRESS', port: 3000, revision: 2 })
    expect(app).not.toHaveProperty('createdAs')
    expect(message).toContain('redeploy-app-env')
    await send('POST', '/app-env/redeploy', { appEnvId })
    await served(appEnvId, 2)
    await listensOn(appEnvId, 3000)
  })

  it('leaves what runs alone: a restart, a rollback and the next deployment each use their own port', async () => {
    const { appId, appEnvId } = await platform.makeEnvironment()
    await deploySource(appEnvId, { Dockerfile: 'FROM node\nCMD ["node", "s.js"]\n', 's.js': '' })
    await served(appEnvId, 1)
    await update(appId, { port: 9090 })
    await send('POST', '/app-env/restart', { appEnvId })
    await untilRead(
      () => send('GET', '/app-env/history', { appEnvId }),
      ({ activities }) => activities[0].activity === 'RESTART' && activities[0].status === 'DEPLOYED',
      'the restart',
    )
    await listensOn(appEnvId, 8080)
    expect(await send('POST', '/app-env/redeploy', { appEnvId })).toMatchObject({ version: 2 })
    await served(appEnvId, 2)
    await listensOn(appEnvId, 9090)
    await send('POST', '/app-env/redeploy', { appEnvId, version: 1 })
    await served(appEnvId, 1)
    await listensOn(appEnvId, 8080)
  })

  it('deploys another image of the app, and goes back to source', async () => {
    const image = 'registry.example.com/shop:1'
    const { appId, appEnvId } = await platform.makeEnvironment({ app: { image } })
    expect(await send('GET', '/app', { appId })).toMatchObject({ useImage: true, image })
    await send('POST', '/app-env/redeploy', { appEnvId })
    await served(appEnvId, 1)
    await update(appId, { image: 'registry.example.com/shop:2' })
    await send('POST', '/app-env/redeploy', { appEnvId })
    const { currentDeployment } = await served(appEnvId, 2)
    expect(currentDeployment.containerImage).toBe('registry.example.com/shop:2')
    expect((await update(appId, { useImage: false })).app).toMatchObject({ useImage: false, image: null })
  })

  it('replaces what excludes the new value, and clears with null', async () => {
    const { appId } = await platform.makeEnvironment({ app: { customDockerfileContent: 'FROM node' } })
    expect(
      (await update(appId, { dockerfilePath: 'deploy/Dockerfile', contextDir: 'web' })).app,
    ).toMatchObject({
      customDockerfileContent: null,
      dockerfilePath: 'deploy/Dockerfile',
      contextDir: 'web',
    })
    expect((await update(appId, { dockerfilePath: null, contextDir: null })).app).toMatchObject({
      dockerfilePath: null,
      contextDir: null,
    })
  })

  it('refuses another kind of app, combinations that create-app refuses, and an older revision', async () => {
    const { appId } = await platform.makeEnvironment()
    const refused = async (change: Record<string, unknown>) => {
      const { status, json } = await request('PATCH', '/app', { appId, ...change })
      return [status, json.error]
    }
    for (const dockerPreset of ['FUNCTION', 'JOB', 'POSTGRESQL']) {
      expect(await refused({ dockerPreset })).toEqual([
        400,
        `An app with preset CUSTOM cannot become ${dockerPreset}`,
      ])
    }
    const both = { customDockerfileContent: 'FROM node', dockerfilePath: 'x' }
    expect(await refused(both)).toEqual([
      400,
      'customDockerfileContent and dockerfilePath exclude each other',
    ])
    expect(await refused({ port: 1, expectedRevision: 7 })).toEqual([409, 'Revision conflict'])
    expect(await send('GET', '/app', { appId })).toMatchObject({ revision: 1, dockerPreset: 'CUSTOM' })
  })

  it('M2 refuses a member who may not access every environment of the app', async () => {
    const { appId, appEnvId } = await platform.makeEnvironment()
    await platform.makeEnvironment({ appId, environment: { name: 'staging' } })
    const { accountId } = platform
    await send('PATCH', '/account', { accountId, memberEnvAccessEnabled: true })
    const { token } = await platform.makeUser({ allowedAppEnvIds: [appEnvId] })
    expect((await request('GET', '/app', { appId }, token)).status).toBe(200)
    expect((await request('PATCH', '/app', { appId, port: 1 }, token)).status).toBe(403)
    await send('PATCH', '/account', { accountId, memberEnvAccessEnabled: false })
  })

  it('is in the audit log with its changes, can be rehearsed and undone', async () => {
    const { appId } = await platform.makeEnvironment()
    const input = { appId, dockerPreset: 'NODE_JS', port: 3000 }
    const { json } = await platform.request('PATCH', '/app', {
      token: platform.admin.token,
      input,
      headers: { 'dry-run': 'true' },
    })
    const changes = [
      { path: 'dockerPreset', before: 'CUSTOM', after: 'NODE_JS' },
      { path: 'port', before: 8080, after: 3000 },
    ]
    expect(json.changes).toHaveLength(changes.length)
    expect(json.changes).toEqual(expect.arrayContaining(changes))
    await update(appId, { dockerPreset: 'NODE_JS', port: 3000 })
    const { accountId } = platform
    const { entries } = await send('GET', '/audit', { accountId, objectId: appId })
    expect(entries[0]).toMatchObject({ operation: 'update-app' })
    expect(await send('POST', '/audit/undo', { entryId: entries[0].entryId })).toMatchObject({
      undone: expect.arrayContaining(['dockerPreset', 'port']),
    })
    expect(await send('GET', '/app', { appId })).toMatchObject({
      dockerPreset: 'CUSTOM',
      port: 8080,
      revision: 3,
    })
  })
})
