import { afterAll, beforeAll, expect, it } from 'vitest'
import { listUserTokens } from '../../../src/contract/users.ts'
import { callTool } from '../../../testkit/oauth/call-tool.ts'
import { OAuthHost } from '../../../testkit/oauth/host.ts'
import { Person } from '../../../testkit/oauth/person.ts'
import { RawClient } from '../../../testkit/oauth/raw-client.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
let person: Person
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false, oauth: {}, consoleDir: 'dist/console' })
  person = await Person.signIn(platform, platform.admin.token)
})
afterAll(() => platform.close())

type Decision = NonNullable<Parameters<Person['approves']>[1]>

/** A host whose person decides as `decisions` say, one after the other. */
const hostOf = (...decisions: Decision[]) =>
  new OAuthHost(`${platform.apiUrl}/mcp`, (url) => person.approves(url, decisions.shift()))
const call = ({ held }: OAuthHost, name: string, args: object = {}) =>
  callTool(platform.apiUrl, held!.access_token, name, args)
const grantsOf = async ({ information }: OAuthHost) => {
  const { tokens } = await platform.admin.client.call(listUserTokens, {})
  return tokens.filter(({ agent }) => agent?.clientId === information!.client_id)
}
const everything = { account: null, app: null, env: null, environments: null }

it('insufficient-scope: a step-up starts from the limits of the grant, and replaces it', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  const outside = await platform.makeEnvironment()
  const pin = { ...everything, account: platform.accountId, env: appEnvId }
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  const host = hostOf({ pin, groups: ['apps', 'logs'], expiresAt })
  const agent = await host.connect()
  const old = host.held!.access_token
  await expect(agent.says('delete-app-env', { confirm: 'x' })).rejects.toThrow()
  const [before] = await grantsOf(host)

  const seen = await person.sees(host.opened.at(-1)!)
  expect(seen).toMatchObject({
    scopes: ['environments:read', 'environments:write', 'environments:delete'],
    earlier: {
      tokenId: before!.tokenId,
      isReplaced: true,
      scopes: ['environments:read', 'environments:write'],
      groups: ['apps', 'logs'],
      pin,
      expiresAt,
    },
  })
  // The person only presses Allow.
  await host.finish()
  expect(host.held!.scope).toBe('environments:read environments:write environments:delete')
  const grants = await grantsOf(host)
  expect(grants).toHaveLength(1)
  expect(grants[0]).toMatchObject({ expiresAt, agent: { groups: ['apps', 'logs'], pin: { env: appEnvId } } })
  expect(grants[0]!.tokenId).not.toBe(before!.tokenId)
  expect((await callTool(platform.apiUrl, old, 'list-accounts')).status).toBe(401)
  const more = await host.connect()
  expect((await more.says('get-app-env-status', { appEnvId: outside.appEnvId })).isError).toBe(true)
  await more.close()
  await agent.close()
})

it('widens a grant only where the person says so, and records what it was', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  const host = hostOf({ pin: { ...everything, env: appEnvId } }, { pin: everything })
  await (await host.connect()).close()
  const [before] = await grantsOf(host)
  await expect((await host.connect()).says('delete-app-env', {})).rejects.toThrow()
  await host.finish()
  const [after] = await grantsOf(host)
  expect(after!.agent!.pin.env).toBeNull()
  const rows = await platform.db.read((tx) =>
    tx.selectFrom('audit_log').selectAll().where('object_id', '=', after!.tokenId).execute(),
  )
  expect(JSON.stringify(rows)).toContain(before!.tokenId)
})

it('refuses a decision about a grant that ended meanwhile', async () => {
  const host = hostOf({})
  await expect((await host.connect()).says('delete-app', { appId: 'app_x', confirm: 'x' })).rejects.toThrow()
  const [before] = await grantsOf(host)
  await platform.request('DELETE', '/user/token', {
    token: platform.admin.token,
    input: { tokenId: before!.tokenId },
  })
  const url = host.opened.at(-1)!
  await expect(person.approves(url, { replaces: before!.tokenId })).rejects.toThrow('consent: 409')
  expect((await person.sees(url)) as object).toMatchObject({ earlier: null })
})

it('replaces the grant that was refused, and no other one of the same client', async () => {
  const client = await RawClient.register(platform.apiUrl, 'http://127.0.0.1:33419/callback')
  const signIn = async (url = client.url(), decision?: Decision) => {
    const back = await person.approves(url, decision)
    const answer = await client.exchange(back.searchParams.get('code')!)
    return (await answer.json()) as { access_token: string; scope: string }
  }
  const [laptop, desktop] = [await signIn(), await signIn(client.url(), { groups: ['logs'] })]
  expect(await client.statusOf(laptop.access_token, 'delete-app', { appId: 'app_x' })).toBe(403)
  const scope = 'environments:read environments:write environments:delete'
  const more = await signIn(client.url({ scope }))
  expect(more.scope).toBe(scope)
  expect(await client.statusOf(laptop.access_token)).toBe(401)
  expect(await client.statusOf(desktop.access_token, 'get-logs')).toBe(200)
  // A plain sign-in replaces nothing: another computer may have the same client id.
  await signIn()
  expect(await client.statusOf(more.access_token)).toBe(200)
  expect(await person.sees(client.url())).toMatchObject({ earlier: { isReplaced: false } })
})

it('a person who chose read-only, or left a scope out, does not get the page again at each write', async () => {
  const input = { accountId: platform.accountId, name: 'x', dockerPreset: 'CUSTOM', port: 80 }
  const readOnly = hostOf({ readOnly: true })
  await (await readOnly.connect()).close()
  const partly = hostOf({ scopes: ['environments:read'] })
  await (await partly.connect()).close()
  for (const host of [readOnly, partly]) {
    const answer = await call(host, 'create-app', input)
    expect(answer.status).toBe(403)
    expect(answer.headers.get('www-authenticate')).toBeNull()
    expect(await answer.json()).toMatchObject({ details: expect.stringContaining('connect it') })
  }
  // A scope that the page did not show yet still brings it up.
  const challenged = await call(partly, 'delete-app', { appId: 'app_x' })
  expect(challenged.headers.get('www-authenticate')).toContain('insufficient_scope')
})
