import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const surfaceOfAgents = { 'longshore-surface': 'mcp' }
let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

type Ask = { token?: string; input?: Record<string, unknown>; headers?: Record<string, string> }
const ask = (method: string, pathname: string, { token = platform.admin.token, ...rest }: Ask = {}) =>
  platform.request(method, pathname, { token, ...rest })

async function makeToken(input: Record<string, unknown> = {}): Promise<string> {
  const made = await ask('POST', '/user/tokens', { input: { name: 'agent', kind: 'agent', ...input } })
  expect(made.status, made.text).toBe(200)
  return made.json.token
}

const variables = (appEnvId: string) => ({
  appEnvId,
  set: [{ name: 'A', value: String(Math.random()), isSecret: false }],
})
const setVariable = (token: string, appEnvId: string, headers: Record<string, string> = {}) =>
  ask('PATCH', '/app-env/variables', { token, input: variables(appEnvId), headers })

describe('tokens of agents', () => {
  it('people-only: an agent makes no tokens, however it calls', async () => {
    const agent = await makeToken()
    const { token } = platform.admin
    // Other names: the third identical failure would be answered by the loop breaker.
    for (const [index, call] of [{ token: agent }, { token, headers: surfaceOfAgents }].entries()) {
      const made = await ask('POST', '/user/tokens', { ...call, input: { name: `x${index}` } })
      expect([made.status, made.json.error]).toEqual([403, 'Only people may do this'])
    }
    // The header of another surface does not make it a person.
    const made = await ask('POST', '/user/tokens', {
      token: agent,
      input: { name: 'y' },
      headers: { 'longshore-surface': 'cli' },
    })
    expect(made.status).toBe(403)
  })

  it('an agent does not sign in to the console, nor makes links to it', async () => {
    const agent = await makeToken()
    const refused = { message: 'Only people sign in to the console' }
    await expect(platform.sessions.signIn({ token: agent })).rejects.toMatchObject(refused)
    await expect(platform.sessions.createLink(agent)).rejects.toMatchObject(refused)
  })

  it('tool-groups read-only-token: limits of a token hold on REST: environments, groups of tools, scopes, reads only', async () => {
    const inside = await platform.makeEnvironment()
    const outside = await platform.makeEnvironment()
    const pinned = await makeToken({ appEnvIds: [inside.appEnvId] })
    expect((await setVariable(pinned, inside.appEnvId)).status).toBe(200)
    expect((await setVariable(pinned, outside.appEnvId)).status).toBe(403)

    const grouped = await makeToken({ toolGroups: ['alerts'], mayPropose: false })
    const refused = await setVariable(grouped, inside.appEnvId)
    expect([refused.status, refused.json.error]).toEqual([403, 'This token is limited to other tools'])
    expect((await ask('GET', '/app-env', { token: grouped, input: inside })).status).not.toBe(403)

    const reads = await makeToken({ scopes: ['environments:read'], mayPropose: false })
    expect((await setVariable(reads, inside.appEnvId)).json.error).toBe('insufficient_scope')
    const readOnly = await makeToken({ readOnly: true, mayPropose: false })
    expect((await setVariable(readOnly, inside.appEnvId)).json.error).toBe('This token is read-only')
  })

  it('with mayPropose a limited token dry-runs what it may not do, and changes nothing', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const dry = { 'dry-run': 'true' }
    for (const limit of [{ readOnly: true }, { scopes: ['alerts:write'] }, { toolGroups: ['logs'] }]) {
      const proposing = await makeToken(limit)
      expect((await setVariable(proposing, appEnvId, dry)).json.dryRun).toBe(true)
      expect((await setVariable(proposing, appEnvId)).status).toBe(403)
      const strict = await makeToken({ ...limit, mayPropose: false })
      expect((await setVariable(strict, appEnvId, dry)).status).toBe(403)
    }
    const person = await makeToken({ kind: 'person', readOnly: true })
    expect((await setVariable(person, appEnvId, dry)).status).toBe(403)
  })

  it('refuses limits that name what the person cannot reach, or that exclude each other', async () => {
    const inside = await platform.makeEnvironment()
    const other = await platform.makeEnvironment()
    const make = (input: Record<string, unknown>) =>
      ask('POST', '/user/tokens', { input: { name: 'x', kind: 'agent', ...input } })
    const foreign = await platform.makeAccount('Foreign')
    expect((await make({ accountId: foreign })).status).toBe(404)
    expect((await make({ appEnvIds: ['env_nobody'] })).status).toBe(404)
    const apart = await make({ appId: inside.appId, appEnvIds: [other.appEnvId] })
    expect([apart.status, apart.json.error]).toEqual([400, 'The limits exclude each other'])
  })

  it('the list of tokens shows kind, label and limits, and rotation keeps them', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const person = await platform.makeUser({ admin: true })
    const made = await ask('POST', '/user/tokens', {
      token: person.token,
      input: { name: 'a', label: 'Deployer', kind: 'agent', appEnvIds: [appEnvId], toolGroups: ['deploys'] },
    })
    const { tokens } = (await ask('GET', '/user/tokens', { token: person.token })).json
    expect(tokens.find(({ tokenId }: { tokenId: string }) => tokenId === made.json.tokenId)).toMatchObject({
      kind: 'agent',
      label: 'Deployer',
      appEnvIds: [appEnvId],
      toolGroups: ['deploys'],
      mayPropose: true,
    })
  })

  it('the audit log names an agent by the label of its token, whatever it calls itself', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const agent = await makeToken({ label: 'Deployer' })
    await setVariable(agent, appEnvId, { 'longshore-agent': 'Somebody' })
    const { entries } = (
      await ask('GET', '/audit', { input: { accountId: platform.accountId, objectId: appEnvId, limit: 1 } })
    ).json
    expect(entries[0]).toMatchObject({ agent: 'Deployer', operation: 'update-app-env-variables' })
  })
})

describe('the stop switch', () => {
  const pause = (agentsPaused: boolean) =>
    ask('PATCH', '/account', { input: { accountId: platform.accountId, agentsPaused } })

  it('agents-paused: refuses every write of callers that are not people, from the next request on', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const agent = await makeToken()
    const environment = await platform.makeEnvironmentToken(appEnvId)
    expect((await setVariable(agent, appEnvId)).status).toBe(200)
    expect((await pause(true)).status).toBe(200)
    const calls = [
      setVariable(agent, appEnvId),
      setVariable(platform.admin.token, appEnvId, surfaceOfAgents),
      ask('POST', '/app-env/request-storage-key', { token: environment, input: { appEnvId } }),
      ask('PATCH', '/account', {
        token: agent,
        input: { accountId: platform.accountId, agentsPaused: false },
      }),
    ]
    for (const { status, json } of await Promise.all(calls))
      expect([status, json.error]).toEqual([403, 'Agents are paused'])
    expect((await ask('GET', '/app-env', { token: agent, input: { appEnvId } })).status).toBe(200)
    expect((await setVariable(platform.admin.token, appEnvId)).status).toBe(200)
    await pause(false)
    expect((await setVariable(agent, appEnvId)).status).toBe(200)
  })

  it('an undo by an agent does not end it', async () => {
    const agent = await makeToken()
    await pause(true)
    const { entries } = (await ask('GET', '/audit', { input: { accountId: platform.accountId, limit: 1 } }))
      .json
    const undone = await ask('POST', '/audit/undo', { token: agent, input: { entryId: entries[0].entryId } })
    expect(undone.json.error).toBe('Agents are paused')
    await pause(false)
  })
})
