import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noScope, type ServerScope, scopedInputs } from '../../../src/mcp/policy/tool-policy.ts'
import { makeWorld, type World } from '../../../testkit/mcp/account-world.ts'
import { openToolSession, type ToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { storedState } from '../../../testkit/store/stored-state.ts'
import { tools } from '../../../tools/index.ts'

let platform: TestPlatform
/** The objects in the scope, and others: another account, another app, another environment of the same app. */
let inside: World
let outside: Record<keyof ServerScope, World>
const sessions: ToolSession[] = []

type Level = keyof ServerScope
const levels: Level[] = ['account', 'app', 'env']
const ids = [
  'accountId',
  'appId',
  'appEnvId',
  'envName',
  'membershipId',
  'contactPointId',
  'alertId',
  'jobRunId',
  'backupId',
  'entryId',
  'remediationId',
  'runId',
] as const
type Id = (typeof ids)[number]

beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  const { accountId } = platform
  const made = await platform.request('POST', '/account', {
    token: platform.admin.token,
    input: { name: 'Two' },
  })
  inside = await makeWorld(platform, 'INSIDE', accountId)
  const otherAccount = await makeWorld(platform, 'OTHERACCOUNT', made.json.accountId)
  const otherApp = await makeWorld(platform, 'OTHERAPP', accountId)
  outside = { account: otherAccount, app: otherApp, env: otherApp }
})
afterAll(async () => {
  for (const session of sessions) await session.close()
  await platform.close()
})

const scopeAt = (level: Level, by: World): ServerScope => ({
  ...noScope,
  [level]: { account: by.accountId, app: by.appId, env: by.envName }[level],
})

async function limitedTo(level: Level): Promise<ToolSession> {
  const session = await openToolSession(platform.apiUrl, {
    token: platform.admin.token,
    toolPolicy: { scope: scopeAt(level, inside), allowSecrets: true },
  })
  sessions.push(session)
  return session
}

const shapeOf = (name: string) => tools.find((tool) => tool.name === name)!.operation.input.shape
const idsOf = (name: string) => ids.filter((id) => id in shapeOf(name))

/** Inputs of a tool besides ids, so that the platform would accept the call. */
const rest: Record<string, Record<string, unknown>> = {
  'create-app': { name: 'x', port: 8080 },
  'create-app-env': { name: 'x', region: 'local' },
  'deploy-app-env-image': { image: 'registry.example.com/x:1' },
  'notify-code-upload': { storageKey: 'upl_x' },
  'scale-app-env-containers': { containers: 3 },
  'update-app-env': { name: 'renamed' },
  'update-app-env-variables': { set: [{ name: 'A', value: 'b' }] },
  'update-app-env-autoscaling': { enabled: true },
  'get-app-env-metrics-series': { metric: 'cpu_percent' },
  'update-member-env-access': { grantFullAccess: true },
  'create-contact-point': { name: 'x', type: 'email', config: { addresses: ['x@example.com'] } },
  'update-contact-point': { name: 'renamed' },
  'create-alert': {
    name: 'x',
    metric: 'cpu_percent',
    operator: 'gt',
    threshold: 1,
    duration: '1m',
    contactPointIds: [],
  },
  'update-alert': { name: 'renamed' },
  'toggle-alert': { enabled: false },
  'create-remediation': { name: 'x', trigger: { cause: 'crash-loop' }, steps: [{ action: 'restart' }] },
  'update-remediation': { name: 'renamed' },
  'toggle-remediation': { mode: 'auto' },
}

const state = () => storedState(platform.db)

/** The id of another world in every form that might bypass a check. */
const disguises = (value: string): unknown[] => [value, [value], { 0: value }, ` ${value}`, [[value]]]

describe.each(levels)('limited to one %s', (level) => {
  it('no call by name, with an id of another object in any form, reads or changes it', async () => {
    const { call } = await limitedTo(level)
    const foreign = outside[level]
    const before = await state()
    const leaked: string[] = []
    let calls = 0
    for (const { name } of tools) {
      const wanted = idsOf(name).filter((id) => belongsOutside(level, id))
      const confirm = [foreign.envName, inside.envName]
      for (const id of wanted) {
        for (const value of disguises(foreign[id])) {
          for (const others of [{}, ownIds(name, id, level), { ...ownIds(name, id, null) }]) {
            calls += 1
            const args = { ...rest[name], ...others, [id]: value, ...destroyed(name, confirm[calls % 2]!) }
            const { text, isError } = await call(name, args)
            if (!isError || text.includes(foreign.marker))
              leaked.push(`${name} ${JSON.stringify(args)}: ${text.slice(0, 200)}`)
          }
        }
      }
    }
    expect(leaked).toEqual([])
    expect(await state()).toBe(before)
    expect(calls).toBeGreaterThan(200)
  })

  it('the ids of the scope are not inputs, and lists show only objects in it', async () => {
    const session = await limitedTo(level)
    const { tools: listed } = await session.client.listTools()
    for (const { name, inputSchema } of listed) {
      for (const gone of scopedInputs(scopeAt(level, inside))) {
        expect(inputSchema.properties, name).not.toHaveProperty(gone)
        expect(inputSchema.required ?? [], name).not.toContain(gone)
      }
    }
    let found = 0
    for (const { name, annotations } of listed) {
      if (!annotations?.readOnlyHint) continue
      const own = idsOf(name).filter(
        (id) => !scopedInputs(scopeAt(level, inside)).includes(id) && id !== 'envName',
      )
      const args = Object.fromEntries(own.map((id) => [id, inside[id]]))
      const { text } = await session.call(name, { ...rest[name], ...args })
      expect(text, name).not.toContain(outside[level].marker)
      expect(text, name).not.toContain(outside[level].appEnvId)
      if (text.includes('INSIDE')) found += 1
    }
    expect(found).toBeGreaterThan(5)
  })

  it('resources and prompts are limited too', async () => {
    const { client } = await limitedTo(level)
    const { contents } = await client.readResource({ uri: 'longshore://environments' })
    const text = JSON.stringify(contents)
    expect(text).toContain(inside.envName)
    expect(text).not.toContain(outside[level].envName)
    for (const name of [outside[level].envName, outside[level].appEnvId]) {
      await expect(client.readResource({ uri: `longshore://environments/${name}` })).rejects.toThrow(
        /outside the \w+ of this server/,
      )
      const prompt = { name: 'why-is-it-down', arguments: { envName: name } }
      await expect(client.getPrompt(prompt)).rejects.toThrow(/outside the \w+ of this server/)
    }
  })
})

/** Contact points belong to the account, so they may be used by a server limited to an app or environment of it. */
function belongsOutside(level: Level, id: Id): boolean {
  if (level === 'account') return true
  if (id === 'contactPointId' || id === 'membershipId') return false
  return id !== 'accountId'
}

/** Ids of the own world together with the foreign one; ids of the scope are omitted unless `level` is null. */
function ownIds(name: string, but: Id, level: Level | null): Record<string, unknown> {
  const gone = level === null ? [] : scopedInputs(scopeAt(level, inside))
  // With both, appEnvId wins and envName is ignored (docs/interface.md#naming-an-environment).
  const own = idsOf(name).filter(
    (id) => id !== but && !gone.includes(id) && !(but === 'envName' && id === 'appEnvId'),
  )
  return Object.fromEntries(own.map((id) => [id, inside[id]]))
}

function destroyed(name: string, confirm: string): Record<string, unknown> {
  const tool = tools.find((one) => one.name === name)!
  return tool.destroys && !tool.confirmedWith ? { confirm } : {}
}

it('a scope that contradicts itself rejects every call', async () => {
  const session = await openToolSession(platform.apiUrl, {
    token: platform.admin.token,
    toolPolicy: { scope: { account: outside.account.accountId, app: null, env: inside.envName } },
  })
  sessions.push(session)
  const before = await state()
  for (const { name } of tools) {
    const { isError } = await session.call(name, { ...rest[name], dryRun: undefined })
    expect(isError, name).toBe(true)
  }
  expect(await state()).toBe(before)
})

it('a new reference to a variable outside is refused; one that is there is written back', async () => {
  const input = { envName: inside.envName, set: [{ name: 'KEPT', from: sourceIn('app') }] }
  await platform.request('PATCH', '/app-env/variables', { token: platform.admin.token, input })
  for (const level of levels) {
    const session = await limitedTo(level)
    const named = level === 'env' ? {} : { appEnvId: inside.appEnvId }
    const fresh = [{ name: 'FRESH', from: sourceIn(level) }]
    for (const [tool, args] of [
      ['update-app-env-variables', { set: fresh }],
      ['update-app-env', { envVars: fresh }],
    ] as const) {
      const { text, isError } = await session.call(tool, { ...named, ...args })
      expect([isError, text], tool).toEqual([true, expect.stringMatching(/outside the \w+ of this server/)])
    }
    const odd = await session.call('update-app-env-variables', { ...named, set: [null, 1, { from: null }] })
    expect(odd.structured.error).toBe('Invalid request')
    const { structured } = await session.call('get-app-env', named)
    const envVars = (structured.envVars as { name: string; from?: object }[]).map((one) => ({ ...one }))
    expect(envVars.find(({ name }) => name === 'KEPT')?.from).toEqual(sourceIn('app'))
    const { text, isError } = await session.call('update-app-env', { ...named, envVars })
    expect(isError, text).toBeFalsy()
  }
})

function sourceIn(level: Level) {
  return { envName: outside[level].envName, field: `${outside[level].marker}_VARIABLE` }
}
