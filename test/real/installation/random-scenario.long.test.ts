import { afterEach, expect, it } from 'vitest'
import { apiPrefix } from '../../../src/contract/operation.ts'
import type { ModelEnvironment } from '../../../testkit/model/environment-model.ts'
import { type Installed, RandomScenario } from '../../../testkit/model/random-scenario.ts'
import { Installation } from '../../../testkit/platform/installation.ts'

// MODEL_SEED runs another scenario.
const seed = Number(process.env.MODEL_SEED ?? 1)
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** The real server with real child processes; a restart is a kill -9. */
async function realServer(): Promise<Installed> {
  const installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_CLOCK_SCALE: '20' })
  closers.push(() => installation.dispose())
  await installation.start()
  return {
    accountId: installation.ready.accountId,
    region: 'local',
    async ask(method, path, input = {}, headers = {}) {
      const inQuery = method === 'GET' || method === 'DELETE'
      const url = new URL(apiPrefix + path, installation.ready.api)
      if (inQuery)
        for (const [name, value] of Object.entries(input)) url.searchParams.set(name, String(value))
      const answer = await fetch(url, {
        method,
        headers: { authorization: installation.token, 'content-type': 'application/json', ...headers },
        ...(inQuery ? {} : { body: JSON.stringify(input) }),
      })
      return { status: answer.status, json: await answer.json() }
    },
    async restart() {
      await installation.end('SIGKILL')
      await installation.start()
    },
    running: (environment) => answersOf(installation, environment),
  }
}

/** What the containers behind an address say of themselves; none where nothing answers. */
async function answersOf(
  installation: Installation,
  environment: ModelEnvironment,
): Promise<Record<string, string>[]> {
  const { status, body } = await installation.request(await hostOf(installation, environment))
  if (status !== 200) return []
  const count = environment.isFunction ? 1 : environment.applied.containers
  return Array.from({ length: count }, () => JSON.parse(body))
}

async function hostOf(installation: Installation, { appEnvId }: ModelEnvironment): Promise<string> {
  const url = new URL(`${apiPrefix}/app-env?appEnvId=${appEnvId}`, installation.ready.api)
  const answer = await fetch(url, { headers: { authorization: installation.token } })
  const { hosts } = (await answer.json()) as { hosts: { host: string }[] }
  return hosts[0]?.host ?? ''
}

it(`random operations end as the model says on the real server, killed in between (seed ${seed})`, async () => {
  const scenario = new RandomScenario(await realServer(), seed)
  await scenario.run(40)
  await scenario.converge()
  expect(scenario.log.length).toBeGreaterThan(20)
})
