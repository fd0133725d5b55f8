import { afterAll, beforeAll, expect, it } from 'vitest'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start()
})
afterAll(() => platform.close())

const size = 60_000
const large = (from: number, count: number, seed: string) =>
  Array.from({ length: count }, (_, at) => ({
    name: `NAME_${from + at}`,
    value: `${seed}${from + at}`.padEnd(size, 'x'),
  }))

async function send(method: string, path: string, input: Record<string, unknown>) {
  const answer = await platform.request(method, path, { token: platform.admin.token, input })
  expect(answer.status, answer.text).toBe(200)
  return answer.json
}

async function recordLength(appEnvId: string): Promise<number> {
  const { record } = await platform.db.read((tx) =>
    tx.selectFrom('app_envs').select('record').where('app_env_id', '=', appEnvId).executeTakeFirstOrThrow(),
  )
  return record.length
}

/** The most characters sealed or opened between two rounds of the event loop while `work` runs. */
async function mostAtOnce(work: () => Promise<unknown>): Promise<number> {
  const { seal, open } = platform.secrets
  let atOnce = 0
  let most = 0
  const count = (characters: number) => {
    atOnce += characters
    most = Math.max(most, atOnce)
  }
  let isDone = false
  const nextRound = () => {
    atOnce = 0
    if (!isDone) setImmediate(nextRound)
  }
  platform.secrets.seal = (clear, boundTo) => {
    count(clear.length)
    return seal(clear, boundTo)
  }
  platform.secrets.open = (sealed, boundTo) => {
    count(sealed.length)
    return open(sealed, boundTo)
  }
  nextRound()
  await work().finally(() => {
    isDone = true
    Object.assign(platform.secrets, { seal, open })
  })
  return most
}

const sealed = Math.ceil((size * 4) / 3)

it('stores variables that are saved and applied once', async () => {
  const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
  await send('PATCH', '/app-env/variables', { appEnvId, set: large(0, 10, 'a') })
  const saved = await recordLength(appEnvId)
  expect(saved).toBeGreaterThan(10 * sealed)
  await send('POST', '/app-env/deploy-image', { appEnvId, image: 'registry.example.com/app:1' })
  const status = () => send('GET', '/app-env/status', { appEnvId })
  await expect
    .poll(async () => (await status()).currentDeployment.status, { timeout: 60_000 })
    .toBe('DEPLOYED')
  expect((await status()).pendingChanges.hasDeployChanges).toBe(false)
  expect(await recordLength(appEnvId)).toBeLessThan(saved + sealed)

  await send('PATCH', '/app-env/variables', { appEnvId, set: large(3, 1, 'b'), unset: ['NAME_0'] })
  expect((await send('GET', '/app-env', { appEnvId })).pendingChanges.hasDeployChanges).toBe(true)
  expect(await recordLength(appEnvId)).toBeLessThan(saved + 3 * sealed)
  await send('POST', '/app-env/discard-changes', { appEnvId })
  const { envVars } = await send('GET', '/app-env', { appEnvId, decrypt: true })
  expect(envVars.map(({ name, value }: { name: string; value: string }) => ({ name, value }))).toEqual(
    large(0, 10, 'a'),
  )
})

it('gives the event loop its turn while it encrypts', async () => {
  const [source, user] = await Promise.all(
    [1, 2].map(() => platform.makeEnvironment({ app: { useImage: true } })),
  )
  const { appEnvId } = source!
  const most = 512 * 1024
  const write = (seed: string) => send('PATCH', '/app-env/variables', { appEnvId, set: large(0, 15, seed) })
  expect(await mostAtOnce(() => write('a'))).toBeLessThan(most)
  const { cliEnvName: envName } = await send('GET', '/app-env', { appEnvId })
  const set = large(0, 15, '').map(({ name }) => ({ name, from: { envName, field: name } }))
  const refer = () => send('PATCH', '/app-env/variables', { appEnvId: user!.appEnvId, set })
  expect(await mostAtOnce(refer)).toBeLessThan(most)
  expect(await mostAtOnce(() => write('b'))).toBeLessThan(most)
})
