import { afterEach, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../../../src/contract/app-env-reads.ts'
import { getAppEnv } from '../../../../src/contract/app-envs.ts'
import { deployAppEnvImage } from '../../../../src/contract/deployments.ts'
import { FakeEngine } from '../../../../testkit/fakes/engine.ts'
import { SettledClock } from '../../../../testkit/platform/settled-clock.ts'
import { TestPlatform } from '../../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
afterEach(() => platform.close())

it('a health check names the host of the environment, and its failure names request and answer', async () => {
  const clock = new SettledClock()
  const hosts = new Set<string | undefined>()
  // As Django, Rails and Vite do it: other names than its own are refused.
  let own = ''
  const engine = new FakeEngine({
    clock: clock.clock,
    program: ({ headers }, response, { spec }) => {
      hosts.add(headers.host)
      response.writeHead(headers.host === own && spec.image === 'good:1' ? 200 : 400).end()
    },
  })
  platform = await TestPlatform.start({
    engine,
    clock: clock.clock,
    wrapDb: clock.wrapDb,
    stabilityScale: 1,
  })
  clock.drive(platform)
  const { client } = platform.admin
  const app = { useImage: true, dockerPreset: 'CUSTOM' }
  const { appEnvId } = await platform.makeEnvironment({
    app,
    environment: { healthCheck: { path: '/up' } },
  })
  const { cliEnvName } = await client.call(getAppEnv, { appEnvId })
  own = `${cliEnvName}.app.localhost`
  const status = () => client.call(getAppEnvStatus, { appEnvId })
  const deployed = async (image: string, verdict: string) => {
    await client.call(deployAppEnvImage, { appEnvId, image })
    await clock.passed(async () => (await status()).currentDeployment?.status === verdict, verdict)
  }
  await deployed('good:1', 'DEPLOYED')
  expect([...hosts]).toEqual([own])
  await deployed('bad:1', 'FAILED')
  const { currentDeployment } = await status()
  expect(currentDeployment?.failure?.message).toContain(
    `The health check GET /up with the header Host: ${own} was answered with 400 Bad Request; expected: 200 to 399.`,
  )
})
