import { afterEach, expect, it } from 'vitest'
import { getAppEnvStatus, getLogs } from '../../../../src/contract/app-env-reads.ts'
import { deployAppEnvImage } from '../../../../src/contract/deployments.ts'
import { TestPlatform } from '../../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../../testkit/until.ts'

let platform: TestPlatform
afterEach(() => platform.close())

it('a deployment waits while the engine is away, asks seldom, says so in its log, and goes on by itself', async () => {
  platform = await TestPlatform.start()
  const { engine, admin } = platform
  const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
  engine.faults.away = true
  engine.calls.length = 0
  await admin.client.call(deployAppEnvImage, { appEnvId, image: 'sample:1' })
  const pulls = () => engine.calls.filter((call) => call.startsWith('pull')).length
  await untilRead(
    async () => pulls(),
    (count) => count >= 3,
    'it was tried again',
  )
  // The first try, one after a second, one after two more: a loop without a pause would be in the hundreds.
  expect(pulls()).toBeLessThan(8)
  const status = () => admin.client.call(getAppEnvStatus, { appEnvId })
  expect(await status()).toMatchObject({ status: 'PENDING', currentDeployment: { failure: null } })
  expect(platform.routes.routes.get(appEnvId)).toMatchObject({ state: 'stopped', deploying: true })
  const { logs } = await admin.client.call(getLogs, { appEnvId, type: 'BUILD' })
  expect(logs.map(({ message }) => message)).toContain(
    'The fake engine is away. The build waits and restarts automatically.',
  )
  engine.faults.away = false
  await untilRead(
    status,
    (now) => now.status === 'RUNNING' && now.currentDeployment?.status === 'DEPLOYED',
    'it serves',
  )
  expect(platform.routes.routes.get(appEnvId)).not.toHaveProperty('deploying')
})
