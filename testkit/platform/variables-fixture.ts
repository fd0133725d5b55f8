import { afterAll, beforeAll, expect } from 'vitest'
import { until } from '../engines/suite-installation.ts'
import { TestPlatform } from './test-platform.ts'

/** A platform for the tests of one file, and the calls that tests of variables make. */
export function variablesFixture() {
  let platform!: TestPlatform
  beforeAll(async () => {
    platform = await TestPlatform.start()
  })
  afterAll(() => platform.close())

  const ask = (method: string, path: string, input: object, token = platform.admin.token) =>
    platform.request(method, path, { token, input: input as Record<string, unknown> })

  async function send(method: string, path: string, input: object, token?: string) {
    const answer = await ask(method, path, input, token)
    expect(answer.status, answer.text).toBe(200)
    return answer
  }

  const read = async (appEnvId: string, decrypt = false) =>
    (await send('GET', '/app-env', { appEnvId, ...(decrypt && { decrypt }) })).json
  const set = (appEnvId: string, ...variables: object[]) =>
    send('PATCH', '/app-env/variables', { appEnvId, set: variables })
  const refusedSet = (appEnvId: string, variable: object, token?: string) =>
    ask('PATCH', '/app-env/variables', { appEnvId, set: [variable] }, token)

  const app = () => platform.makeEnvironment({ app: { useImage: true } })

  async function serves(appEnvId: string, version?: number) {
    await until(`${appEnvId} serves`, async () => {
      const { json } = await send('GET', '/app-env/status', { appEnvId })
      const isReady = json.status === 'RUNNING' && json.currentDeployment.status === 'DEPLOYED'
      return isReady && (version === undefined || json.currentVersion === version) ? json : null
    })
  }

  async function deploy(appEnvId: string) {
    await send('POST', '/app-env/deploy-image', { appEnvId, image: 'registry.example.com/app:1' })
    await serves(appEnvId)
  }

  async function database(dockerPreset = 'POSTGRESQL') {
    const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset } })
    await serves(appEnvId)
    const { cliEnvName, hosts } = await read(appEnvId, true)
    return { appEnvId, envName: cliEnvName, url: new URL(hosts[0].url) }
  }

  /** The variables of the containers that run. */
  function given(appEnvId: string): Record<string, string> {
    const running = platform.engine.running().filter(({ spec }) => spec.appEnvId === appEnvId)
    return Object.assign({}, ...running.map(({ spec }) => spec.env))
  }

  const calls = { ask, send, read, set, refusedSet, app, serves, deploy, database, given }
  return {
    ...calls,
    get platform() {
      return platform
    },
  }
}
