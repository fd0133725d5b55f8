import { afterAll, beforeAll, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { diagnoseAppEnv, getAccountHealth } from '../../../src/contract/diagnosis.ts'
import { statusSentence } from '../../../src/contract/status-sentence.ts'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start()
})
afterAll(() => platform.close())

it.each([
  ["Error: Cannot find module '/app/serve.js'", 'bad-command'],
  ["Error: Cannot find module 'left-pad'\nRequire stack:", 'missing-module'],
  ['Error: connect ECONNREFUSED 10.0.0.7:5432', 'dependency-refused'],
  ['bye', 'exits-at-once'],
])('a failed deployment has one cause on every surface: %j', async (text, cause) => {
  const plain = { type: 'DEPLOY', isSecret: false }
  const envVars = [
    { name: 'MODE', value: 'exit', ...plain },
    { name: 'EXIT_TEXT', value: text, ...plain },
  ]
  const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true }, environment: { envVars } })
  const { client } = platform.admin
  await client.call(deployAppEnvImage, { appEnvId, image: 'registry.example.com/shop:1' })
  const status = await untilRead(
    () => client.call(getAppEnvStatus, { appEnvId }),
    ({ currentDeployment }) => currentDeployment?.status === 'FAILED',
    'a failed deployment',
  )
  const { findings } = await client.call(diagnoseAppEnv, { appEnvId })
  expect(findings[0]?.cause).toBe(cause)
  expect(status.currentDeployment?.failure?.cause).toBe(cause)
  expect(statusSentence(status)).toContain(`FAILED (${cause})`)
  const { worst } = await client.call(getAccountHealth, { accountId: platform.accountId })
  expect(worst.find(({ envName }) => envName === status.cliEnvName)?.causes).toEqual([cause])
  const session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
  const answer = await session.call('deploy-app-env-image', {
    appEnvId,
    image: 'registry.example.com/shop:1',
  })
  expect(answer.text).toContain(`failed: ${cause}`)
  await session.close()
})
