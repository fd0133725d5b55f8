import { afterAll, beforeAll, expect, it } from 'vitest'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

/** Names that every object of JavaScript inherits. */
const names = ['constructor', 'toString', 'hasOwnProperty', '__proto__', 'valueOf']

/** Names of fields that the audit log and dry runs leave out of an object. */
const bookkeeping = ['_id', 'revision', 'updatedAt', 'nextVersion', 'latestRolloutId', 'wantedRolloutId']

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

it.each([
  ['inherited names: a member cannot break', names],
  ['the names of bookkeeping: a member cannot hide from', bookkeeping],
])('variables may have %s the audit log, undo and dry runs', async (_what, names) => {
  const { appEnvId } = await platform.makeEnvironment()
  const token = platform.admin.token
  const set = names.map((name) => ({ name, value: 'one', isSecret: false }))
  const write = (input: object, headers = {}) =>
    platform.request('PATCH', '/app-env/variables', { token, input: { appEnvId, ...input }, headers })
  const tried = await write({ set }, { 'dry-run': 'true' })
  const added = names.map((name) => ({ path: `envVars.${name}`, before: null }))
  expect(tried.json.changes).toMatchObject(added)
  expect((await write({ set })).status).toBe(200)
  const listed = await platform.request('GET', '/audit', {
    token,
    input: { accountId: platform.accountId, objectId: appEnvId, limit: 1 },
  })
  expect([listed.status, listed.json.entries[0]?.changes]).toMatchObject([200, added])
  const { entryId } = listed.json.entries[0]
  expect((await platform.request('POST', '/audit/undo', { token, input: { entryId } })).status).toBe(200)
  const { envVars } = (await platform.request('GET', '/app-env', { token, input: { appEnvId } })).json
  expect(envVars.filter(({ name }: { name: string }) => names.includes(name))).toEqual([])
})

it('inputs of tools with inherited names are unknown, not a fault of the platform', async () => {
  const session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
  for (const name of names) {
    const input = JSON.parse(`{"envName": "x", "${name}": {}}`)
    const { text } = await session.call('get-app-env', input)
    expect(text, name).toMatch(/^Error: (?:Invalid request|App environment not found)/)
  }
  await session.close()
})
