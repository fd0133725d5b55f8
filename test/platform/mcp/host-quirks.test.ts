import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnv } from '../../../src/contract/app-envs.ts'
import { HttpFixture, rpc } from '../../../testkit/mcp/http-fixture.ts'
import { rpc2026 } from '../../../testkit/mcp/rpc-2026.ts'
import { openToolSession, type ToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

describe('arguments that arrive as JSON text', () => {
  let platform: TestPlatform
  let session: ToolSession
  beforeAll(async () => {
    platform = await TestPlatform.start({ reconciles: false })
    session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
  })
  afterAll(async () => {
    await session.close()
    await platform.close()
  })

  it('are taken as the lists, objects, numbers and booleans that they are', async () => {
    const { appId } = await platform.makeEnvironment()
    const made = await session.call('create-app-env', {
      appId,
      accountId: platform.accountId,
      name: 'text',
      region: 'local',
      zClouds: '1',
      envVars: JSON.stringify([{ name: 'A', value: '1', isSecret: 'false' }]),
      dryRun: 'false',
    })
    expect(made.isError, made.text).toBe(false)
    const { appEnvId } = made.structured as { appEnvId: string }
    const set = [JSON.stringify({ name: 'B', value: '[1]', isSecret: false })]
    expect((await session.call('update-app-env-variables', { appEnvId, set })).isError).toBe(false)
    const { envVars } = await platform.admin.client.call(getAppEnv, { appEnvId })
    // A value is text: it stays what it is, however it looks.
    expect(envVars).toMatchObject([
      { name: 'A', value: '1', isSecret: false },
      { name: 'B', value: '[1]' },
    ])
  })

  it('get no way around a check', async () => {
    const [inside, outside] = [await platform.makeEnvironment(), await platform.makeEnvironment()]
    const { cliEnvName } = await platform.admin.client.call(getAppEnv, { appEnvId: outside.appEnvId })
    const scope = { account: null, app: null, env: inside.appEnvId }
    const narrow = await openToolSession(platform.apiUrl, {
      token: platform.admin.token,
      toolPolicy: { scope },
    })
    const set = JSON.stringify([{ name: 'X', from: { envName: cliEnvName, field: 'url' } }])
    const said = await narrow.call('update-app-env-variables', { set })
    expect(said.text).toContain('outside the environment of this server')
    expect((await narrow.call('get-app-env', { decrypt: 'true' })).text).toContain('decrypt is switched off')
    const set1 = [{ name: 'A', value: '1', isSecret: false }]
    await session.call('update-app-env-variables', { appEnvId: inside.appEnvId, set: set1 })
    const unset = await session.call('update-app-env-variables', {
      appEnvId: inside.appEnvId,
      unset: '["A"]',
    })
    expect(unset.structured).toMatchObject({ error: 'Confirmation needed' })
    await narrow.close()
  })
})

describe('requests of hosts over HTTP', () => {
  const fixture = new HttpFixture()
  const hello = (protocolVersion = '2025-11-25') =>
    rpc('initialize', {
      protocolVersion,
      capabilities: { elicitation: {} },
      clientInfo: { name: 'raw', version: '1' },
    })

  it('initialize with the id of a session that ended opens a new one', async () => {
    const answer = await fixture.raw({ body: hello(), headers: { 'mcp-session-id': 'ended' } })
    expect(answer.status).toBe(200)
    expect(answer.headers['mcp-session-id']).toMatch(/^[\w-]{20,}$/)
    const other = await fixture.raw({ body: rpc('tools/list', {}), headers: { 'mcp-session-id': 'ended' } })
    expect(other.status).toBe(404)
  })

  it('batches are refused in the revisions without them, and taken before', async () => {
    const body = `[${rpc('ping', {})}]`
    const statusOf = async (headers: Record<string, string>) => {
      const answer = await fixture.raw({ body, headers })
      return [answer.status, JSON.parse(answer.body).error?.code]
    }
    for (const version of ['2025-06-18', '2025-11-25'])
      expect(await statusOf({ 'mcp-protocol-version': version }), version).toEqual([400, -32600])
    expect((await fixture.raw({ body, headers: { 'mcp-protocol-version': '2025-03-26' } })).status).toBe(200)
    // Also without the header, in a session that agreed on such a revision.
    const id = (await fixture.raw({ body: hello() })).headers['mcp-session-id'] as string
    expect(await statusOf({ 'mcp-session-id': id })).toEqual([400, -32600])
  })

  it('a call with the parameter task is made as usual', async () => {
    const params = { name: 'list-accounts', arguments: {}, task: { ttl: 60_000 } }
    for (const task of [{ ttl: 60_000 }, {}, { ttl: 'x' }]) {
      const answer = await fixture.raw({
        body: rpc('tools/call', { ...params, task }),
        headers: { 'mcp-protocol-version': '2025-11-25' },
      })
      expect(answer.body).toContain('structuredContent')
    }
    const { headers, body } = rpc2026('tools/call', params)
    expect((await fixture.raw({ headers, body })).body).toContain('structuredContent')
  })
})
