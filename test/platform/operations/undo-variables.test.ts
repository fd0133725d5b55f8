import { afterAll, beforeAll, expect, it } from 'vitest'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

const call = (method: string, path: string, input: Record<string, unknown>) =>
  platform.request(method, path, { token: platform.admin.token, input })

async function set(appEnvId: string, variable: Record<string, unknown>): Promise<string> {
  const answer = await call('PATCH', '/app-env/variables', { appEnvId, set: [{ name: 'X', ...variable }] })
  expect(answer.status).toBe(200)
  const { entries } = (await call('GET', '/audit', { accountId: platform.accountId, objectId: appEnvId }))
    .json
  return entries.find(({ operation }: { operation: string }) => !operation.startsWith('get-')).entryId
}
const undo = (entryId: string) => call('POST', '/audit/undo', { entryId })

async function variablesOf(appEnvId: string) {
  const { envVars } = (await call('GET', '/app-env', { appEnvId, decrypt: true })).json
  return envVars.map(({ name, value, isSecret }: Record<string, unknown>) => [name, value, isSecret])
}

it.each([
  ['v1.key_a.b', 'of the form of a sealed value'],
  ['v1.key_', 'of its first characters'],
])('undo-change takes a plain variable with the value %s, %s, as the text that it is', async (value) => {
  const { appEnvId } = await platform.makeEnvironment({
    environment: { envVars: [{ name: 'X', value: 'zero', isSecret: false }] },
  })
  const first = await set(appEnvId, { value, isSecret: false })
  const second = await set(appEnvId, { value: '1', isSecret: false })
  const early = await undo(first)
  expect([early.status, early.json.details]).toEqual([400, expect.stringContaining('changed again since')])
  expect((await undo(second)).status).toBe(200)
  expect(await variablesOf(appEnvId)).toEqual([['X', value, false]])
  expect((await undo(first)).status).toBe(200)
  expect(await variablesOf(appEnvId)).toEqual([['X', 'zero', false]])
})

it('undo-change restores no plain text into a variable that became secret since, although its value is the same', async () => {
  const { appEnvId } = await platform.makeEnvironment({
    environment: { envVars: [{ name: 'X', value: 'zero', isSecret: false }] },
  })
  const entryId = await set(appEnvId, { value: 'one', isSecret: false })
  await set(appEnvId, { value: 'one', isSecret: true })
  const refused = await undo(entryId)
  expect([refused.status, refused.json.details]).toEqual([
    400,
    expect.stringContaining('changed again since'),
  ])
  expect(await variablesOf(appEnvId)).toEqual([['X', 'one', true]])
})

it('undo-change compares secrets by their clear value', async () => {
  const { appEnvId } = await platform.makeEnvironment({
    environment: { envVars: [{ name: 'X', value: 'zero', isSecret: true }] },
  })
  const entryId = await set(appEnvId, { value: 'one', isSecret: true })
  await set(appEnvId, { value: 'two', isSecret: true })
  // The same value, sealed a second time.
  await set(appEnvId, { value: 'one', isSecret: true })
  expect((await undo(entryId)).status).toBe(200)
  expect(await variablesOf(appEnvId)).toEqual([['X', 'zero', true]])
})
