import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tgz } from '../../../testkit/platform/deploy.ts'
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
const status = (appEnvId: string) => send('GET', '/app-env/status', { appEnvId })
const settled = (appEnvId: string) =>
  untilRead(
    () => status(appEnvId),
    ({ status: now, currentDeployment }) => now === 'RUNNING' && currentDeployment?.status === 'DEPLOYED',
    'a finished deployment',
  )

async function deployed(): Promise<string> {
  const { appEnvId } = await platform.makeEnvironment()
  await deploySource(appEnvId)
  await settled(appEnvId)
  return appEnvId
}
async function deploySource(appEnvId: string): Promise<void> {
  const { uploadUrl, storageKey } = await send('POST', '/app-env/request-storage-key', { appEnvId })
  const source = await tgz({ Dockerfile: 'FROM node\nCMD ["node", "s.js"]\n', 's.js': '' })
  await fetch(uploadUrl, { method: 'PUT', body: new Uint8Array(source) })
  await send('POST', '/app-env/notify-upload', { appEnvId, storageKey })
}
const setVariable = (appEnvId: string, type: string) =>
  send('PATCH', '/app-env/variables', { appEnvId, set: [{ name: 'KIND', value: type, type }] })

describe('changes that affect a build', () => {
  it('3.3 redeploy with the saved settings builds again for a BUILD variable, and not for a DEPLOY one', async () => {
    const appEnvId = await deployed()
    const redeploy = () => send('POST', '/app-env/redeploy', { appEnvId, settings: 'saved' })
    await setVariable(appEnvId, 'DEPLOY')
    expect(await redeploy()).toMatchObject({ version: 1 })
    await settled(appEnvId)
    await setVariable(appEnvId, 'BUILD')
    expect((await status(appEnvId)).pendingChanges.hasBuildChanges).toBe(true)
    expect(await send('POST', '/app-env/redeploy', { appEnvId })).toMatchObject({ version: 1 })
    await settled(appEnvId)
    expect(await redeploy()).toMatchObject({
      version: 2,
      message: 'Building version 2 with the changes',
    })
    expect(await settled(appEnvId)).toMatchObject({
      currentVersion: 2,
      pendingChanges: { hasBuildChanges: false },
    })
  })

  it('3.3 what was applied while stopped is built at the start', async () => {
    const appEnvId = await deployed()
    await send('POST', '/app-env/stop', { appEnvId })
    await setVariable(appEnvId, 'BUILD')
    await send('POST', '/app-env/apply-changes', { appEnvId })
    expect(await send('POST', '/app-env/start', { appEnvId })).toMatchObject({
      message: 'Building version 2, then starting it',
    })
    expect((await settled(appEnvId)).currentVersion).toBe(2)
    await send('POST', '/app-env/stop', { appEnvId })
    expect(await send('POST', '/app-env/start', { appEnvId })).toMatchObject({
      message: 'Starting version 2',
    })
  })

  it('a rollback deploys the earlier content as it was built', async () => {
    const appEnvId = await deployed()
    await setVariable(appEnvId, 'BUILD')
    await send('POST', '/app-env/apply-changes', { appEnvId })
    expect((await settled(appEnvId)).currentVersion).toBe(2)
    expect(await send('POST', '/app-env/redeploy', { appEnvId, version: 1 })).toMatchObject({ version: 1 })
    expect((await settled(appEnvId)).currentVersion).toBe(1)
  })
})

describe('an unfinished rollout when the next change arrives', () => {
  /** While the engine is unavailable, no rollout ends before the next call. */
  const held = async (work: () => Promise<void>) => {
    platform.engine.faults.away = true
    try {
      await work()
    } finally {
      platform.engine.faults.away = false
    }
  }
  const restart = (appEnvId: string) => send('POST', '/app-env/restart', { appEnvId })
  const ends = async (appEnvId: string) => {
    const { activities } = await send('GET', '/app-env/history', { appEnvId })
    return activities.filter(({ status: one }: { status: string }) => one === 'FAILED')
  }

  it('3.3 a restart keeps the settings that are being applied', async () => {
    const appEnvId = await deployed()
    await held(async () => {
      await setVariable(appEnvId, 'DEPLOY')
      await send('POST', '/app-env/apply-changes', { appEnvId })
      expect(await restart(appEnvId)).toMatchObject({ message: 'Restarting version 1' })
      await setVariable(appEnvId, 'BUILD')
      await send('POST', '/app-env/apply-changes', { appEnvId })
      expect(await restart(appEnvId)).toMatchObject({ message: 'Restarting version 2' })
      expect((await status(appEnvId)).pendingChanges.hasDeployChanges).toBe(false)
    })
    expect(await settled(appEnvId)).toMatchObject({
      currentVersion: 2,
      pendingChanges: { hasDeployChanges: false },
    })
  })

  it('a restart keeps the version that is being deployed, and the history shows the superseded rollout', async () => {
    const appEnvId = await deployed()
    await held(async () => {
      await deploySource(appEnvId)
      expect(await restart(appEnvId)).toMatchObject({ message: 'Restarting version 2' })
      expect(await ends(appEnvId)).toMatchObject([
        { activity: 'DEPLOY_SOURCE', version: 2, details: expect.stringContaining('superseded: ') },
      ])
    })
    expect((await settled(appEnvId)).currentVersion).toBe(2)
    await held(async () => {
      await restart(appEnvId)
      await send('POST', '/app-env/stop', { appEnvId })
    })
    expect((await ends(appEnvId))[0]).toMatchObject({
      activity: 'RESTART',
      version: 2,
      details: expect.stringContaining('canceled: '),
    })
  })
})
