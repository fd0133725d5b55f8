import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMcpHttpHandler } from '../../../src/mcp/transport/http/handler.ts'
import { hashOfEntry } from '../../../src/store/repositories/audit.ts'
import { verifyAudit } from '../../../src/store/verify-audit.ts'
import { rpc2026 } from '../../../testkit/mcp/rpc-2026.ts'
import { hurriedClock } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'
import { tools } from '../../../tools/index.ts'

let platform: TestPlatform
let member: TestUser
let appEnvId: string
let mcpUrl: string
let closeMcp: () => void
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  member = await platform.makeUser()
  appEnvId = (await platform.makeEnvironment()).appEnvId
  const mcp = createMcpHttpHandler({
    registry: tools,
    apiUrl: () => platform.apiUrl,
    log: platform.log,
    clock: hurriedClock,
    authenticate: (token, address) => platform.runner.authenticate(token, { address, reads: true }),
  })
  const server = createServer(mcp)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  mcpUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  closeMcp = () => {
    mcp.close()
    server.closeAllConnections()
    server.close()
  }
})
afterAll(async () => {
  closeMcp()
  await platform.close()
})

interface Entry {
  operation: string
  outcome: string
  surface: string
  tokenId: string | null
  sessionId: string | null
  principal: { id: string }
  entryId: string
  agent: string | null
  objectName: string | null
  undid: { entryId: string; operation: string } | null
}

async function audit(filter: Record<string, unknown> = {}): Promise<Entry[]> {
  const input = { accountId: platform.accountId, limit: 200, ...filter }
  return (await platform.request('GET', '/audit', { token: platform.admin.token, input })).json.entries
}

const scale = (containers: number, token: string, headers: Record<string, string> = {}) =>
  platform.request('PATCH', '/app-env/containers', { token, input: { appEnvId, containers }, headers })

/** What an agent over MCP does and is refused, in a session of its own if its host can ask the person. */
async function agentWorks(capabilities: { elicitation?: Record<string, never> }): Promise<void> {
  const agent = new Client({ name: 'test-agent', title: 'Tést\u200b Agent', version: '1' }, { capabilities })
  if (capabilities.elicitation)
    agent.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept' as const, content: {} }))
  const requestInit = { headers: { authorization: member.token } }
  await agent.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit }) as never)
  const call = (name: string, args: object) => agent.callTool({ name, arguments: { ...args } })
  await call('update-app-env-variables', { appEnvId, set: [{ name: 'A', value: '1' }] })
  const { accountId } = platform
  await call('create-contact-point', {
    accountId,
    name: 'Ops',
    type: 'email',
    config: { addresses: ['a@example.com'] },
  })
  await agent.close()
}

describe('the origin of an audit entry', () => {
  it('names the token and the agent session, also of what the agent was refused, and filters by both', async () => {
    const seen = new Set((await audit({ surface: 'mcp' })).map(({ sessionId }) => sessionId))
    await agentWorks({ elicitation: {} })
    await agentWorks({ elicitation: {} })
    const both = (await audit({ surface: 'mcp', principalId: member.userId })).filter(
      ({ sessionId }) => !seen.has(sessionId),
    )
    expect(new Set(both.map(({ sessionId }) => sessionId)).size).toBe(2)
    expect(new Set(both.map(({ tokenId }) => tokenId)).size).toBe(1)
    const { sessionId, tokenId } = both[0]!
    expect(sessionId).toMatch(/^ses_[0-9a-f]{32}$/)
    const outcomes = (entries: Entry[]) => entries.map(({ operation, outcome }) => `${operation} ${outcome}`)
    const newestFirst = ['create-contact-point refused', 'update-app-env-variables done']
    expect(outcomes(await audit({ sessionId }))).toEqual(newestFirst)
    expect(outcomes(await audit({ tokenId, outcome: 'refused' }))).toEqual([newestFirst[0], newestFirst[0]])
    expect(await audit({ sessionId, principalId: platform.admin.userId })).toEqual([])
    expect(await audit({ sessionId: 'ses_unknown' })).toEqual([])
  })

  it('has no session where the agent cannot ask its person, because its requests are independent', async () => {
    await agentWorks({})
    expect(await audit({ surface: 'mcp', limit: 1 })).toMatchObject([
      { sessionId: null, tokenId: expect.stringMatching(/^tok_/) },
    ])
  })

  it('names the agent as it names itself over MCP, and filters by that name', async () => {
    const seen = (await audit({ surface: 'mcp' })).length
    await agentWorks({ elicitation: {} })
    const own = (await audit({ surface: 'mcp' })).slice(0, -seen || undefined)
    expect(own.map(({ agent, outcome }) => `${agent} ${outcome}`)).toEqual([
      'Tést Agent refused',
      'Tést Agent done',
    ])
    expect(await audit({ agent: 'Tést Agent', limit: 2 })).toEqual(own)
    const set = {
      name: 'update-app-env-variables',
      arguments: { appEnvId, set: [{ name: 'B', value: '2' }] },
    }
    const { headers, body } = rpc2026('tools/call', set, { headers: { authorization: member.token } })
    expect((await fetch(mcpUrl, { method: 'POST', headers, body })).status).toBe(200)
    expect(await audit({ agent: 'raw' })).toMatchObject([{ operation: 'update-app-env-variables' }])
    expect(await audit({ agent: 'another' })).toEqual([])
    const refused = await scale(3, member.token, { 'longshore-agent': '%E2%80%8B' })
    expect(refused.status).toBe(400)
    expect(refused.json.details).toContain('Longshore-Agent')
  })

  it('says what an undo undid, and how the object is named', async () => {
    const { token } = platform.admin
    const { cliEnvName } = (await platform.request('GET', '/app-env', { token, input: { appEnvId } })).json
    await scale(3, token)
    const [scaled] = await audit({ objectId: appEnvId, limit: 1 })
    const input = { entryId: scaled!.entryId }
    expect((await platform.request('POST', '/audit/undo', { token, input })).status).toBe(200)
    const { operation, entryId } = scaled!
    expect(await audit({ objectId: appEnvId, limit: 2 })).toMatchObject([
      { operation: 'undo-change', objectName: cliEnvName, undid: { operation, entryId } },
      { operation: 'scale-app-env-containers', objectName: cliEnvName, undid: null, agent: null },
    ])
  })

  it('takes the name that a caller of REST gives its session, and rejects one that is no name', async () => {
    expect((await scale(2, member.token, { 'longshore-session': 'nightly-42' })).status).toBe(200)
    expect(await audit({ sessionId: 'nightly-42' })).toMatchObject([
      { operation: 'scale-app-env-containers', surface: 'rest', principal: { id: member.userId } },
    ])
    const refused = await scale(3, member.token, { 'longshore-session': 'two words' })
    expect(refused.status).toBe(400)
    expect(refused.json.details).toContain('Longshore-Session')
  })

  it('belongs to the chain of hashes, which older entries without it still match', async () => {
    const chain = async () => {
      const { chains } = await platform.db.read((tx) => verifyAudit(tx))
      return chains.find(({ accountId }) => accountId === platform.accountId)!
    }
    const [newest] = await platform.db.read((tx) =>
      tx
        .selectFrom('audit_log')
        .selectAll()
        .where('account_id', '=', platform.accountId)
        .orderBy('seq', 'desc')
        .limit(1)
        .execute(),
    )
    const set = (values: Partial<NonNullable<typeof newest>>) =>
      platform.db.write((tx) =>
        tx.updateTable('audit_log').set(values).where('seq', '=', newest!.seq).execute(),
      )
    expect((await chain()).broken).toBeNull()
    for (const forged of [
      { token_id: 'tok_other' },
      { session_id: null },
      { token_id: null, session_id: null },
      { agent: 'another' },
      { undid: 'aud_other' },
      { impact: null },
      { approval_id: 'apv_other' },
    ]) {
      await set(forged)
      expect((await chain()).broken?.entryId, JSON.stringify(forged)).toBe(newest!.entry_id)
      const { token_id, session_id, agent, undid, impact, approval_id } = newest!
      await set({ token_id, session_id, agent, undid, impact, approval_id })
    }
    const { seq: _seq, hash: _hash, ...old } = newest!
    const { previous_hash, before, after, outcome, ...rest } = old
    const { entry_id, at, account_id, principal, surface, operation, object_type, object_id } = rest
    const identity = [previous_hash, entry_id, at, account_id, principal, surface, operation]
    const content = [...identity, object_type, object_id, outcome, before, after]
    expect(
      hashOfEntry({
        ...{ ...old, token_id: null, session_id: null, trace_id: null },
        ...{ agent: null, undid: null, impact: null, decision: null, approval_id: null },
        ...{ confirmed_by: null, client_address: null, chat: null },
      }),
    ).toBe(
      createHash('sha256')
        .update(JSON.stringify(content).replaceAll(/"v1\.key_[^"]+"/g, '"sealed"'))
        .digest('hex'),
    )
  })
})
