import { afterAll, beforeAll, expect, it } from 'vitest'
import { findContent, listContents, saveContent } from '../../../../src/store/repositories/rollouts.ts'
import { tgz } from '../../../../testkit/platform/deploy.ts'
import { TestPlatform } from '../../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../../testkit/until.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ keptVersions: 2 })
})
afterAll(() => platform.close())

const send = async (method: string, path: string, input: Record<string, unknown>) => {
  const answer = await platform.request(method, path, { token: platform.admin.token, input })
  expect(answer.status, answer.text).toBe(200)
  return answer.json
}

async function deploy(appEnvId: string, cmd = 'node'): Promise<void> {
  const { uploadUrl, storageKey } = await send('POST', '/app-env/request-storage-key', { appEnvId })
  const source = await tgz({ Dockerfile: `FROM node\nCMD ["${cmd}", "s.js"]\n`, 's.js': '' })
  await fetch(uploadUrl, { method: 'PUT', body: new Uint8Array(source) })
  await send('POST', '/app-env/notify-upload', { appEnvId, storageKey })
}

const settled = (appEnvId: string, expected: string) =>
  untilRead(
    () => send('GET', '/app-env/status', { appEnvId }),
    ({ currentDeployment }) => currentDeployment?.status === expected,
    `a deployment that is ${expected}`,
  )

const serves = (appEnvId: string, version: number) =>
  untilRead(
    () => send('GET', '/app-env/status', { appEnvId }),
    ({ status, currentVersion }) => status === 'RUNNING' && currentVersion === version,
    `version ${version} that serves`,
  )

async function deployVersions(appEnvId: string, count: number): Promise<void> {
  for (let version = 1; version <= count; version++) {
    await deploy(appEnvId)
    await settled(appEnvId, 'DEPLOYED')
  }
}

const imagesOf = (appEnvId: string) =>
  [...platform.engine.host.images.keys()].filter((image) => image.startsWith(`fake/${appEnvId}:`))
const imagesLeft = (appEnvId: string, count: number) =>
  untilRead(
    async () => imagesOf(appEnvId),
    (images) => images.length === count,
    `${count} images`,
  )
const redeploy = (appEnvId: string, version: number) =>
  platform.request('POST', '/app-env/redeploy', { token: platform.admin.token, input: { appEnvId, version } })

it('removes images of versions that are too old for a rollback, and refuses those versions by name', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  await deployVersions(appEnvId, 4)
  await imagesLeft(appEnvId, 2)

  const refused = await redeploy(appEnvId, 1)
  expect(refused.status).toBe(409)
  expect(refused.json).toMatchObject({
    error: 'Version 1 is no longer kept',
    details: expect.stringContaining('Kept versions: 3, 4.'),
  })

  expect((await redeploy(appEnvId, 3)).status).toBe(200)
  await serves(appEnvId, 3)
})

it('keeps the version that runs however old it is, and the newest one even if it failed', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  await deployVersions(appEnvId, 3)
  await redeploy(appEnvId, 2)
  await serves(appEnvId, 2)
  await deploy(appEnvId, 'no-such-program')
  await settled(appEnvId, 'FAILED')
  await platform.restart()
  // 2 runs, 2 and 3 are the newest deployed ones, 4 failed and is the newest.
  await imagesLeft(appEnvId, 3)
  expect((await redeploy(appEnvId, 1)).json.details).toContain('Kept versions: 2, 3, 4.')
  expect(await send('GET', '/app-env/status', { appEnvId })).toMatchObject({ currentVersion: 2 })
})

it('removes what an engine that was away still holds after a restart', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  await deployVersions(appEnvId, 2)
  await platform.restart(async () => {
    platform.options.keptVersions = 1
  })
  const [newest] = await imagesLeft(appEnvId, 1)
  // As if the platform had ended between the row and the engine: the row still names the image.
  const old = `fake/${appEnvId}:old`
  await platform.db.write((tx) =>
    tx
      .updateTable('contents')
      .set({
        record: JSON.stringify({
          contentId: 'dep_old',
          appEnvId,
          version: 1,
          type: 'BUILD',
          images: {},
          removedImages: { [platform.region]: old },
        }),
      })
      .where('app_env_id', '=', appEnvId)
      .where('version', '=', 1)
      .execute(),
  )
  platform.engine.host.images.set(old, '["node"]')
  await platform.restart()
  expect(await imagesLeft(appEnvId, 1)).toEqual([newest])
  platform.options.keptVersions = 2
})

it('removes all images of an environment that is deleted', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  await deployVersions(appEnvId, 1)
  await send('DELETE', '/app-env', { appEnvId })
  await imagesLeft(appEnvId, 0)
})

it('keeps what is stored of a version while its old image is being removed', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  await deployVersions(appEnvId, 1)
  const content = (await platform.db.read((tx) => listContents(tx, appEnvId)))[0]!
  const old = `fake/${appEnvId}:old`
  await platform.db.write((tx) =>
    saveContent(tx, { ...content, images: {}, removedImages: { [platform.region]: old } }),
  )
  const removeImage = platform.engine.removeImage.bind(platform.engine)
  // Meanwhile it is built in another region.
  platform.engine.removeImage = async (image) => {
    if (image === old)
      await platform.db.write(async (tx) => {
        const now = (await findContent(tx, content.contentId))!
        await saveContent(tx, { ...now, images: { plain: 'built' } })
      })
    await removeImage(image)
  }
  await platform.restart()
  const found = await untilRead(
    () => platform.db.read((tx) => findContent(tx, content.contentId)),
    (now) => Object.keys(now?.removedImages ?? {}).length === 0,
    'the removed image to be forgotten',
  )
  expect(found?.images).toMatchObject({ plain: 'built' })
})
