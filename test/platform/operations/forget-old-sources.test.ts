import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnv } from '../../../src/contract/app-envs.ts'
import { notifyCodeUpload, requestDeployStorageKey } from '../../../src/contract/deployments.ts'
import { forgetOldSources } from '../../../src/operations/deployments/forget-old-sources.ts'
import { listContents } from '../../../src/store/repositories/rollouts.ts'
import { listUploadIds } from '../../../src/store/repositories/uploads.ts'
import { tgz } from '../../../testkit/builds/archives.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

describe('sources of deployed versions', () => {
  let platform: TestPlatform
  beforeAll(async () => {
    platform = await TestPlatform.start({ reconciles: false })
  })
  afterAll(() => platform.close())

  async function upload(appEnvId: string): Promise<string> {
    const { uploadUrl, storageKey } = await platform.admin.client.call(requestDeployStorageKey, { appEnvId })
    const body = new Uint8Array(tgz([{ name: 'a', content: 'a' }]))
    expect((await fetch(uploadUrl, { method: 'PUT', body })).status).toBeLessThan(300)
    return storageKey
  }

  async function deploy(appEnvId: string): Promise<string> {
    const storageKey = await upload(appEnvId)
    await platform.admin.client.call(notifyCodeUpload, { appEnvId, storageKey })
    return storageKey
  }

  const kept = async () => (await platform.db.read(listUploadIds)).toSorted()

  it('are deleted once there are more than versions are kept, but not what is built, deployed or not deployed yet', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const [first, second, third] = [await deploy(appEnvId), await deploy(appEnvId), await deploy(appEnvId)]
    const waiting = await upload(appEnvId)
    await forgetOldSources(platform.db, 3)
    expect(await kept()).toEqual([first, second, third, waiting].sort())
    // The first one was deployed, the second is superseded, the third is being built.
    const [content] = (await platform.db.read((tx) => listContents(tx, appEnvId))).filter(
      ({ uploadId }) => uploadId === first,
    )
    await platform.db.write((tx) =>
      tx
        .updateTable('rollouts')
        .set({ status: 'DEPLOYED' })
        .where('content_id', '=', content!.contentId)
        .execute(),
    )
    await forgetOldSources(platform.db, 1)
    expect(await kept()).toEqual([first, third, waiting].sort())
    const { status } = await platform.admin.client.call(getAppEnv, { appEnvId })
    expect(status).toBe('PENDING')
  })

  it('of other environments stay', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const only = await deploy(appEnvId)
    await forgetOldSources(platform.db, 1)
    expect(await kept()).toContain(only)
  })
})
