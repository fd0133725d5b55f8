import { afterAll, beforeAll, expect, it } from 'vitest'
import { openToolSession, type SessionOptions } from '../../../testkit/mcp/tool-session.ts'
import { OAuthHost } from '../../../testkit/oauth/host.ts'
import { Person } from '../../../testkit/oauth/person.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false, oauth: {}, consoleDir: 'dist/console' })
})
afterAll(() => platform.close())

/** The outcome and the confirmation of each entry of an environment that deletes it, the newest first. */
async function entriesOf(appEnvId: string) {
  const input = { accountId: platform.accountId, objectId: appEnvId }
  const { json } = await platform.request('GET', '/audit', { token: platform.admin.token, input })
  type Entry = { operation: string; outcome: string; confirmedBy: string | null; surface: string }
  return (json.entries as Entry[])
    .filter(({ operation }) => operation === 'delete-app-env')
    .map(({ outcome, confirmedBy, surface }) => [outcome, confirmedBy, surface])
}

async function callAs(options: SessionOptions, args: Record<string, unknown>) {
  const session = await openToolSession(platform.apiUrl, { token: platform.admin.token, ...options })
  const said = await session.call('delete-app-env', args)
  await session.close()
  return said
}

it('the audit log says that the host or the model confirmed, never a person', async () => {
  const [byHost, byModel] = [await platform.makeEnvironment(), await platform.makeEnvironment()]
  const declined = await callAs({ person: () => ({ action: 'decline' }) }, { appEnvId: byHost.appEnvId })
  expect(declined.text).toContain('The host declined')
  expect(declined.text).not.toContain('person did not')
  const yes = () => ({ action: 'accept' as const, content: { agree: true } })
  expect((await callAs({ person: yes }, { appEnvId: byHost.appEnvId })).isError).toBe(false)
  expect(await entriesOf(byHost.appEnvId)).toEqual([
    ['done', 'host', 'mcp'],
    ['refused', 'host', 'mcp'],
  ])

  const { json } = await platform.request('GET', '/app-env', {
    token: platform.admin.token,
    input: { appEnvId: byModel.appEnvId },
  })
  await callAs({}, { appEnvId: byModel.appEnvId })
  await callAs({}, { appEnvId: byModel.appEnvId, confirm: json.cliEnvName })
  expect(await entriesOf(byModel.appEnvId)).toEqual([
    ['done', 'model', 'mcp'],
    ['refused', null, 'mcp'],
  ])
})

it('a destructive call that this server refuses before the API is in the audit log', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  const other = await platform.makeEnvironment()
  for (const toolPolicy of [
    { readOnly: true },
    { noDestructive: true },
    { excludedTools: ['delete-app-env'] },
    { groups: ['logs'] as const },
    { scope: { account: null, app: null, env: other.appEnvId } },
  ]) {
    const before = (await entriesOf(appEnvId)).length
    expect((await callAs({ toolPolicy }, { appEnvId, confirm: 'x' })).isError).toBe(true)
    expect(await entriesOf(appEnvId), JSON.stringify(toolPolicy)).toHaveLength(before + 1)
  }
  expect(new Set((await entriesOf(appEnvId)).map(([outcome]) => outcome))).toEqual(new Set(['refused']))
})

it('insufficient-scope: so is one beyond the scopes of an agent', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  const person = await Person.signIn(platform, platform.admin.token)
  const host = new OAuthHost(`${platform.apiUrl}/mcp`, (url) => person.approves(url))
  const agent = await host.connect()
  await expect(agent.says('delete-app-env', { appEnvId, confirm: 'x' })).rejects.toThrow()
  await agent.close()
  expect(await entriesOf(appEnvId)).toEqual([['refused', null, 'mcp']])
})

it('refuses another word for what confirmed a call', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  const answer = await fetch(`${platform.apiUrl}/api/public/v1/app-env?appEnvId=${appEnvId}`, {
    method: 'DELETE',
    headers: { authorization: platform.admin.token, 'longshore-confirmed-by': 'person' },
  })
  expect(answer.status).toBe(400)
})
