import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

describe('the platform in this process', () => {
  let platform: TestPlatform
  beforeAll(async () => {
    platform = await TestPlatform.start()
  })
  afterAll(() => platform.close())

  it('deploys an image on the fake engine and routes to it', async () => {
    const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
    const { client } = platform.admin
    await client.call(deployAppEnvImage, { appEnvId, image: 'registry.example.com/team/app:1' })
    await untilRead(
      () => client.call(getAppEnvStatus, { appEnvId }),
      (status) => status.status === 'RUNNING',
      'a running environment',
    )
    expect(platform.engine.running()).toHaveLength(1)
    expect(platform.routes.routes.get(appEnvId)?.containers).toHaveLength(1)
  })

  it('keeps accounts apart', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const other = await platform.makeUser({ accountId: await platform.makeAccount('Other'), admin: true })
    const answer = await platform.request('GET', '/app-env', { token: other.token, input: { appEnvId } })
    expect(answer.status).toBe(404)
  })
})
