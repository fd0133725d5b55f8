import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { publishTools } from '../../../src/mcp/tools/publish.ts'
import { startFakeBackend } from '../../../testkit/fakes/backend.ts'
import { makeWorld, type World } from '../../../testkit/mcp/account-world.ts'
import { accountName, destructions, domainNamed, others } from '../../../testkit/mcp/destructions.ts'
import { openToolSession, type SessionOptions, type ToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { storedState } from '../../../testkit/store/stored-state.ts'
import { tools } from '../../../tools/index.ts'

let platform: TestPlatform
let world: World
const sessions: ToolSession[] = []

beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  const roomy = { accountId: platform.accountId, zCloudLimit: 10_000 }
  await platform.request('PATCH', '/account', { token: platform.admin.token, input: roomy })
})
afterAll(async () => {
  for (const session of sessions) await session.close()
  await platform.close()
})

let worlds = 0
async function newWorld(): Promise<World> {
  worlds += 1
  world = await makeWorld(platform, `WORLD${worlds}`, platform.accountId)
  return world
}

async function connect(options: SessionOptions = {}): Promise<ToolSession> {
  const session = await openToolSession(platform.apiUrl, { token: platform.admin.token, ...options })
  sessions.push(session)
  return session
}

/** A person who gives the same answer to each question, and the questions. */
function personWho(agrees: boolean) {
  const asked: string[] = []
  const person: SessionOptions['person'] = (question) => {
    asked.push(question)
    return agrees ? { action: 'accept', content: { agree: true } } : { action: 'decline' }
  }
  return { asked, person }
}

const state = () => storedState(platform.db)

/** Brings the world into the state in which the call destroys something. */
async function prepared(name: string): Promise<World> {
  const made = await newWorld()
  if (name === 'restore-app-env-backup' || name === 'rotate-database-password') {
    const environment = { name: 'data' }
    const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'REDIS' }, environment })
    const { json } = await platform.request('GET', '/app-env', {
      token: platform.admin.token,
      input: { appEnvId },
    })
    return { ...made, appEnvId, envName: json.cliEnvName }
  }
  const input: Record<string, [string, string, Record<string, unknown>]> = {
    'update-account': [
      'PATCH',
      '/account',
      { accountId: made.accountId, name: accountName, memberEnvAccessEnabled: true },
    ],
    'delete-app': ['DELETE', '/app-env', { appEnvId: made.appEnvId }],
    'remove-app-env-domain': [
      'POST',
      '/app-env/domain',
      { appEnvId: made.appEnvId, domain: domainNamed(made.marker) },
    ],
    'update-member-env-access': [
      'PATCH',
      '/member/env-access',
      { ...others(made), allowedAppEnvIds: [made.appEnvId] },
    ],
  }
  const first = input[name]
  if (first) await platform.request(first[0], first[1], { token: platform.admin.token, input: first[2] })
  return made
}

describe('every tool that destroys', () => {
  it('has the destructive hint and is in this table', () => {
    const destructive = tools.filter(({ hints }) => hints.destructive).map(({ name }) => name)
    const testedElsewhere = ['stop-app-env', 'cancel-deployment']
    expect([...Object.keys(destructions), ...testedElsewhere].sort()).toEqual(destructive.sort())
    const published = publishTools(tools)
    for (const tool of tools) {
      if (tool.hints.destructive) expect(tool.destroys, tool.name).toBeDefined()
      const properties = published.find(({ listed }) => listed.name === tool.name)!.listed.inputSchema
        .properties
      const { destroys, confirmedWith = 'confirm' } = tool
      expect(destroys === undefined || confirmedWith in properties!, tool.name).toBe(true)
      expect('confirm' in properties!, tool.name).toBe(destroys !== undefined && confirmedWith === 'confirm')
    }
  })

  it.each(Object.keys(destructions))('%s does nothing when the person does not agree', async (name) => {
    const { args, asks, name: typed } = destructions[name]!
    const made = await prepared(name)
    const before = await state()
    const { asked, person } = personWho(false)
    const session = await connect({ person })
    const confirm = typed === null ? {} : { confirm: typed(made) }
    const said = await session.call(name, { ...args(made), ...confirm })
    expect(said.structured).toMatchObject({ error: 'The host declined' })
    expect(asked).toEqual([expect.stringMatching(asks)])
    expect(await state()).toBe(before)
  })

  it.each(Object.keys(destructions))('%s asks nothing for a dry run, and does nothing', async (name) => {
    const made = await prepared(name)
    const before = await state()
    const { asked, person } = personWho(true)
    const session = await connect({ person })
    const said = await session.call(name, { ...destructions[name]!.args(made), dryRun: true })
    expect(said).toMatchObject({ isError: false, structured: { dryRun: true } })
    expect([asked, await state()]).toEqual([[], before])
  })

  it.each(Object.keys(destructions))('%s does it when the person agrees', async (name) => {
    const made = await prepared(name)
    const before = await state()
    const { asked, person } = personWho(true)
    const session = await connect({ person })
    const said = await session.call(name, destructions[name]!.args(made))
    expect(said.text).not.toMatch(/^Error/)
    expect(asked).toHaveLength(1)
    expect(await state()).not.toBe(before)
  })

  it.each(
    Object.entries(destructions).flatMap(([name, { name: typed }]) =>
      typed ? [[name, typed] as const] : [],
    ),
  )('%s needs the exact name if the client cannot ask', async (name, typed) => {
    const made = await prepared(name)
    const before = await state()
    const session = await connect()
    const args = destructions[name]!.args(made)
    const exact = typed(made)
    for (const confirm of [
      undefined,
      '',
      'yes',
      'true',
      exact.toUpperCase() === exact ? 'x' : exact.toUpperCase(),
      ` ${exact}`,
    ]) {
      const said = await session.call(name, confirm === undefined ? args : { ...args, confirm })
      expect(said.structured, String(confirm)).toMatchObject({ error: 'Confirmation needed' })
      // A tenant's name is in a field, never in the sentence.
      const named = said.structured.name === undefined ? `: ${exact}` : ', which is the field name'
      expect(said.structured.details).toContain(`confirm set to the exact name${named}`)
      expect(said.structured.name ?? exact).toBe(exact)
      expect(said.structured.details).toMatch(/Nothing was (?:deleted|done)\./)
    }
    expect((await session.call(name, { ...args, confirm: [exact] })).isError).toBe(true)
    expect((await session.call(name, { ...args, confirm: true })).isError).toBe(true)
    expect(await state()).toBe(before)
    expect((await session.call(name, { ...args, confirm: exact })).text).not.toMatch(/^Error/)
    expect(await state()).not.toBe(before)
  })

  it('does not exist without destructive tools, by name either', async () => {
    const session = await connect({ toolPolicy: { noDestructive: true } })
    const { tools: listed } = await session.client.listTools()
    await newWorld()
    const before = await state()
    for (const [name, { args, name: typed }] of Object.entries(destructions)) {
      expect(listed.map((tool) => tool.name)).not.toContain(name)
      const confirm = typed === null ? {} : { confirm: typed(world) }
      const said = await session.call(name, { ...args(world), ...confirm })
      expect(said.structured.error).toContain('this server destroys nothing')
    }
    expect(await state()).toBe(before)
  })
})

describe('calls without a destructive effect', () => {
  it('ask no question: an ended run, unchanged variables, a stopped environment, a shorter list', async () => {
    const { asked, person } = personWho(false)
    const session = await connect({ person })
    const { jobRunId, appEnvId, marker, ...rest } = await newWorld()
    await platform.request('POST', '/job-run/cancel', { token: platform.admin.token, input: { jobRunId } })
    const calls: [string, Record<string, unknown>][] = [
      ['cancel-job-run', { jobRunId }],
      ['update-app-env', { appEnvId, envVars: [{ name: `${marker}_VARIABLE`, value: 'y' }] }],
      ['update-app-env-variables', { appEnvId, set: [{ name: 'B', value: 'y' }] }],
      ['stop-app-env', { appEnvId }],
      [
        'update-member-env-access',
        { accountId: rest.accountId, membershipId: rest.membershipId, allowedAppEnvIds: [appEnvId] },
      ],
    ]
    for (const [name, args] of calls)
      expect((await session.call(name, args)).text, name).not.toMatch(/^Error/)
    expect(asked).toEqual([])
  })

  it('stopping a running environment has the host ask if it can, and needs confirm otherwise', async () => {
    const backend = await startFakeBackend()
    try {
      backend.state.add({ name: 'prod' })
      const { asked, person } = personWho(false)
      const asking = await openToolSession(backend.url, { person })
      sessions.push(asking)
      const said = await asking.call('stop-app-env', { envName: 'shop-prod' })
      expect(said.structured).toMatchObject({ error: 'The host declined' })
      expect(asked).toEqual([expect.stringMatching(/^Stop environment shop-prod \(RUNNING\)\? /)])
      expect(backend.state.countOf('stop-app-env')).toBe(0)
      const alone = await openToolSession(backend.url)
      sessions.push(alone)
      const input = { envName: 'shop-prod' }
      const unconfirmed = await alone.call('stop-app-env', input)
      expect(unconfirmed.structured).toMatchObject({ error: 'Confirmation needed' })
      expect(backend.state.countOf('stop-app-env')).toBe(0)
      expect((await alone.call('stop-app-env', { ...input, confirm: 'shop-prod' })).isError).toBe(false)
    } finally {
      await backend.close()
    }
  })
})
