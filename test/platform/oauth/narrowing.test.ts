import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { updateAppEnvVariables } from '../../../src/contract/app-env-actions.ts'
import { getAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp, getApp } from '../../../src/contract/apps.ts'
import type { Operation } from '../../../src/contract/operation.ts'
import type { Scope } from '../../../src/contract/scopes.ts'
import { listUserTokens } from '../../../src/contract/users.ts'
import { grantText } from '../../../src/operations/core/caller.ts'
import { newTraceparent } from '../../../src/trace.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { OAuthHost } from '../../../testkit/oauth/host.ts'
import { Person } from '../../../testkit/oauth/person.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

type Decision = NonNullable<Parameters<Person['approves']>[1]>
const nowhere = { account: null, app: null, env: null }

describe('what a person narrows holds at every call', () => {
  let platform: TestPlatform
  let person: Person
  beforeAll(async () => {
    platform = await TestPlatform.start({ reconciles: false, oauth: {}, consoleDir: 'dist/console' })
    person = await Person.signIn(platform, platform.admin.token)
  })
  afterAll(() => platform.close())

  const agentWith = (decision: Decision, query = '') =>
    new OAuthHost(`${platform.apiUrl}/mcp${query}`, (url) => person.approves(url, decision)).connect()

  it('read-only: nothing that writes is listed, and calls by name are refused', async () => {
    const agent = await agentWith({ readOnly: true })
    const names = await agent.names()
    expect(names).toContain('list-app-envs')
    expect(names).not.toContain('create-app')
    await expect(agent.says('create-app', { accountId: platform.accountId, name: 'x' })).rejects.toThrow()
    await agent.close()
  })

  it('one environment: others do not exist for the agent, whatever ids it names', async () => {
    const inside = await platform.makeEnvironment()
    const outside = await platform.makeEnvironment()
    const pin = { ...nowhere, account: platform.accountId, env: inside.appEnvId }
    const agent = await agentWith({ pin })
    expect(await agent.does('get-app-env-status')).toMatchObject({ appEnvId: inside.appEnvId })
    const refused = await agent.says('get-app-env-status', { appEnvId: outside.appEnvId })
    expect(refused).toMatchObject({
      isError: true,
      text: expect.stringContaining('outside the environment of this server'),
    })
    expect((await agent.says('create-app', { accountId: platform.accountId, name: 'x' })).isError).toBe(true)
    await agent.close()
    // The address can narrow further, never widen.
    await expect(agentWith({ pin }, `?env=${outside.appEnvId}`)).rejects.toThrow('limited to another')
  })

  it('several environments: reads, writes, lists, resources and other accounts end at the list', async () => {
    const inside = [await platform.makeEnvironment(), await platform.makeEnvironment()]
    const outside = await platform.makeEnvironment()
    const environments = inside.map(({ appEnvId }) => appEnvId)
    const { accountId } = platform
    const agent = await agentWith({ pin: { account: accountId, environments } })
    const names = await agent.names()
    expect(names).toContain('update-app-env-variables')
    for (const gone of ['create-app', 'create-app-env', 'delete-app', 'list-members', 'create-contact-point'])
      expect(names).not.toContain(gone)

    const ids = (list: { appEnvId: string }[]) => list.map(({ appEnvId }) => appEnvId).sort()
    const { appEnvs } = await agent.does('list-app-envs', { accountId })
    expect(ids(appEnvs)).toEqual([...environments].sort())
    const { apps } = await agent.does('list-apps', { accountId })
    expect(apps.map(({ appId }: { appId: string }) => appId)).not.toContain(outside.appId)
    expect((await agent.does('list-accounts')).accounts).toHaveLength(1)

    const set = [{ name: 'A', value: '1', isSecret: false }]
    for (const appEnvId of environments) {
      await agent.does('get-app-env-status', { appEnvId })
      await agent.does('update-app-env-variables', { appEnvId, set })
    }
    const { appEnvId, appId } = outside
    for (const [name, args] of [
      ['get-app-env-status', { appEnvId }],
      ['get-logs', { appEnvId }],
      ['update-app-env-variables', { appEnvId, set }],
      ['list-alerts', { appEnvId }],
      ['get-app', { appId }],
      ['list-app-envs', { appId }],
    ] as const) {
      expect(await agent.says(name, args), name).toMatchObject({
        isError: true,
        text: expect.stringContaining('You have no access to this'),
      })
    }
    const everywhere = 'longshore://environments'
    expect(ids(JSON.parse(await agent.reads(everywhere)).environments)).toEqual([...environments].sort())
    for (const uri of [`${everywhere}/${appEnvId}`, `${everywhere}/${appEnvId}/logs/BUILD`])
      await expect(agent.reads(uri), uri).rejects.toThrow('You have no access to this')
    await agent.close()

    const stranger = await platform.makeAccount('Beyond')
    // The console names the account too; without it the list still ends in its own account.
    const created = { token: platform.admin.token, input: { name: 'Another of the person' } }
    const second = (await platform.request('POST', '/account', created)).json.accountId
    const unnamed = await agentWith({ pin: { environments } })
    expect((await unnamed.does('list-accounts')).accounts).toMatchObject([{ accountId }])
    expect((await unnamed.says('list-contact-points', { accountId: second })).isError).toBe(true)
    await unnamed.close()
    const elsewhere = await agentWith({ pin: { account: stranger, environments } })
    expect(await elsewhere.says('list-app-envs', { accountId })).toMatchObject({ isError: true })
    expect((await elsewhere.says('get-app-env-status', { appEnvId: environments[0] })).isError).toBe(true)
    await elsewhere.close()
  })

  it('agent-scope, insufficient-scope: the API itself refuses calls beyond, also with the key of a call that the person made', async () => {
    const inside = await platform.makeEnvironment()
    const { appEnvId } = await platform.makeEnvironment()
    const environments = [inside.appEnvId]
    await (await agentWith({ pin: { account: platform.accountId, environments } })).close()
    const { tokens } = await platform.admin.client.call(listUserTokens, {})
    const { tokenId } = tokens.find(({ agent }) => agent?.pin.environments?.[0] === inside.appEnvId)!
    const call = (
      operation: Operation,
      input: Record<string, unknown>,
      idempotencyKey: string | null = null,
    ) => ({
      ...{ operation, input, idempotencyKey, surface: 'mcp' as const, dryRun: false },
      traceparent: newTraceparent(),
    })
    const scopes: Scope[] = ['environments:read', 'environments:write']
    const byAgent = { token: grantText({ tokenId, scopes }), credential: 'grant' as const }
    const write = call(
      updateAppEnvVariables,
      { appEnvId, set: [{ name: 'A', value: '1', isSecret: false }], unset: [] },
      'key',
    )
    await platform.runner.run({ ...write, token: platform.admin.token })
    const { accountId } = platform
    for (const [refused, message, rule] of [
      [write, 'You have no access to this app environment', 'M2'],
      [call(getAppEnv, { appEnvId }), 'You have no access to this app environment', 'M2'],
      [
        call(createApp, { accountId, name: 'x', port: 80, dockerPreset: 'CUSTOM' }),
        'The agent is not allowed to do this',
        'agent-scope',
      ],
      [call(getAppEnv, { ...inside, decrypt: true }), 'insufficient_scope', 'insufficient-scope'],
    ] as const)
      await expect(platform.runner.run({ ...refused, ...byAgent })).rejects.toMatchObject({ message, rule })
    const { appEnvId: own } = inside
    expect((await platform.runner.run({ ...call(getAppEnv, { appEnvId: own }), ...byAgent })).status).toBe(
      200,
    )
  })

  it('one app, and one account', async () => {
    const { appId } = await platform.makeEnvironment()
    const other = await platform.makeEnvironment()
    const agent = await agentWith({ pin: { ...nowhere, account: platform.accountId, app: appId } })
    expect((await agent.does('get-app')).appId).toBe(appId)
    expect((await agent.says('get-app', { appId: other.appId })).isError).toBe(true)
    await agent.close()

    const stranger = await platform.makeAccount('Other')
    const held = await agentWith({ pin: { ...nowhere, account: stranger } })
    expect((await held.says('list-apps', { accountId: platform.accountId })).isError).toBe(true)
    await held.close()
  })

  it('groups of tools: the others are neither listed nor called', async () => {
    const { appEnvId, appId } = await platform.makeEnvironment()
    const agent = await agentWith({ groups: ['logs'] })
    expect(await agent.names()).not.toContain('get-app')
    await agent.does('get-logs', { appEnvId, type: 'BUILD' })
    expect(await agent.says('get-app', { appId })).toMatchObject({ isError: true })
    await agent.close()
    expect((await platform.admin.client.call(getApp, { appId })).appId).toBe(appId)
  })

  it('refuses a decision that names what does not exist', async () => {
    for (const wrong of [
      { groups: ['everything'] },
      { groups: [] },
      { scopes: ['root'] },
      { pin: { ...nowhere, env: '../x' } },
      { pin: { environments: [] } },
      { pin: { environments: ['acc_x'] } },
      { expiresAt: 'tomorrow' },
      { expiresAt: '2001-01-01T00:00:00.000Z' },
    ] as unknown as Decision[]) {
      await expect(agentWith(wrong), JSON.stringify(wrong)).rejects.toThrow('consent: 400')
    }
  })
})

it('access ends at the time that the person chose, and tokens and codes at theirs', async () => {
  const clock = new TestClock()
  const platform = await TestPlatform.start({
    reconciles: false,
    clock,
    oauth: {},
    consoleDir: 'dist/console',
  })
  try {
    const person = await Person.signIn(platform, platform.admin.token)
    const minuteMs = 60_000
    const expiresAt = new Date(clock.wallMs() + 90 * minuteMs).toISOString()
    const host = new OAuthHost(`${platform.apiUrl}/mcp`, (url) => person.approves(url, { expiresAt }))
    await (await host.connect()).close()
    const status = async () => {
      const headers = {
        authorization: `Bearer ${host.held!.access_token}`,
        'content-type': 'application/json',
      }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
      const accept = 'application/json, text/event-stream'
      return (await fetch(host.mcpUrl, { method: 'POST', headers: { ...headers, accept }, body })).status
    }
    const refresh = async () => {
      const { refresh_token } = host.held!
      const form = {
        grant_type: 'refresh_token',
        refresh_token: refresh_token!,
        client_id: host.information!.client_id,
      }
      const answer = await fetch(`${platform.apiUrl}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams(form),
      })
      if (answer.status === 200) host.held = (await answer.json()) as typeof host.held
      return answer.status
    }
    expect(host.held!.expires_in).toBe(3_600)
    await clock.advance(59 * minuteMs)
    expect(await status()).toBe(200)
    await clock.advance(2 * minuteMs)
    expect(await status()).toBe(401)
    expect(await refresh()).toBe(200)
    expect(host.held!.expires_in).toBe(29 * 60)
    expect(await status()).toBe(200)
    await clock.advance(30 * minuteMs)
    expect(await status()).toBe(401)
    expect(await refresh()).toBe(400)

    const other = await Person.signIn(platform, platform.admin.token)
    const late = new OAuthHost(`${platform.apiUrl}/mcp`, async (url) => {
      const back = await other.approves(url)
      await clock.advance(61_000)
      return back
    })
    await expect(late.connect()).rejects.toThrow('unknown or expired')
  } finally {
    await platform.close()
  }
})
