import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toolGroups } from '../../../src/contract/tool-groups.ts'
import { noScope } from '../../../src/mcp/policy/tool-policy.ts'
import { makeWorld, type World } from '../../../testkit/mcp/account-world.ts'
import { openToolSession, type SessionOptions, type ToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { tools } from '../../../tools/index.ts'

let platform: TestPlatform
let world: World
const sessions: ToolSession[] = []
const writes = tools.filter(({ hints }) => !hints.readOnly)
const reads = tools.filter(({ hints }) => hints.readOnly)

beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  world = await makeWorld(platform, 'WORLD', platform.accountId)
})
afterAll(async () => {
  for (const session of sessions) await session.close()
  await platform.close()
})

async function connect(options: SessionOptions = {}): Promise<ToolSession> {
  const session = await openToolSession(platform.apiUrl, { token: platform.admin.token, ...options })
  sessions.push(session)
  return session
}

async function readToken(): Promise<string> {
  const made = await platform.request('POST', '/user/tokens', {
    token: platform.admin.token,
    input: { name: 'reads', readOnly: true },
  })
  return made.json.token
}

/** Arguments that name existing objects, with everything that an attacker might add. */
function argsFor(name: string): Record<string, unknown> {
  const { shape } = tools.find((tool) => tool.name === name)!.operation.input
  const ids = Object.fromEntries(Object.entries(world).filter(([key]) => key in shape))
  return { ...ids, ...rest[name] }
}

const rest: Record<string, Record<string, unknown>> = {
  'delete-app-env': { confirm: 'world-app-world-env' },
  'delete-alert': { confirm: 'WORLD alert' },
  'scale-app-env-containers': { containers: 5 },
  'update-app-env': { name: 'renamed' },
  'update-app-env-variables': { unset: ['WORLD_VARIABLE'] },
  'toggle-alert': { enabled: false },
  'delete-remediation': { confirm: 'WORLD fix' },
  'toggle-remediation': { mode: 'auto' },
  'undo-change': { confirm: 'world-app-world-env' },
  'create-app': { name: 'x', port: 8080 },
}

/** All state that a write can change, except audit entries of rejected ones. */
async function state(): Promise<string> {
  const tables = [
    'app_envs',
    'apps',
    'contact_points',
    'alerts',
    'remediations',
    'memberships',
    'job_runs',
    'uploads',
  ] as const
  const rows = await platform.db.read((tx) =>
    Promise.all([
      ...tables.map((table) => tx.selectFrom(table).selectAll().execute()),
      tx.selectFrom('audit_log').selectAll().where('outcome', '!=', 'refused').execute(),
    ]),
  )
  return JSON.stringify(rows)
}

describe('--read-only', () => {
  it.each([
    [{ readOnly: true }],
    [{ readOnly: true, allowSecrets: true, groups: [...toolGroups] }],
    [{ readOnly: true, scope: { ...noScope, env: 'world-app-world-env' } }],
  ])('refuses every write by name, whatever else is chosen: %j', async (toolPolicy) => {
    const before = await state()
    const session = await connect({ toolPolicy })
    for (const { name } of writes) {
      for (const more of [{}, { dryRun: true }, { dryRun: false }]) {
        const said = await session.call(name, { ...argsFor(name), ...more })
        expect(said.structured.error).toBe(`${name} is switched off: this server is read-only`)
      }
    }
    expect(await state()).toBe(before)
  })
})

describe('a read-only token', () => {
  it('is rejected by the platform for every write, without help of the tool server', async () => {
    const token = await readToken()
    const before = await state()
    const session = await connect({ token })
    for (const { name, operation } of writes) {
      const said = await session.call(name, argsFor(name))
      expect(said.isError, name).toBe(true)
      const answer = await platform.request(operation.method, operation.path, {
        token,
        input: argsFor(name),
      })
      expect([400, 403]).toContain(answer.status)
    }
    expect(await state()).toBe(before)
  })

  it('A3 X1 sees no secret, even for an admin and with secrets allowed', async () => {
    const token = await readToken()
    const session = await connect({ token, toolPolicy: { allowSecrets: true } })
    const { appEnvId, contactPointId } = world
    for (const [name, path, input] of [
      ['get-app-env', '/app-env', { appEnvId, decrypt: true }],
      ['get-contact-point', '/contact-point', { contactPointId, showSecrets: true }],
    ] as const) {
      const said = await session.call(name, input)
      expect(said.structured.error).toMatch(/Admin permission required/)
      const answer = await platform.request('GET', path, { token, input })
      expect([answer.status, answer.json.details]).toEqual([403, expect.stringContaining('read-only token')])
      expect(
        (await session.call(name, { ...input, decrypt: undefined, showSecrets: undefined })).isError,
      ).toBe(false)
    }
  })
})

describe('secrets', () => {
  it('are not inputs in any form unless allowed', async () => {
    const session = await connect()
    const { appEnvId, contactPointId } = world
    for (const value of [true, 'true', 1, ['true'], { a: 1 }, 'false', null]) {
      const env = await session.call('get-app-env', { appEnvId, decrypt: value })
      expect(env.isError, JSON.stringify(value)).toBe(true)
      const point = await session.call('get-contact-point', { contactPointId, showSecrets: value })
      expect(point.isError, JSON.stringify(value)).toBe(true)
    }
  })
})

describe('groups and exclusions', () => {
  it.each(toolGroups)('with the group %s alone, no tool of another group can be called', async (group) => {
    const before = await state()
    const session = await connect({ toolPolicy: { groups: [group] } })
    const { tools: listed } = await session.client.listTools()
    const own = tools.filter((tool) => tool.group === group).map(({ name }) => name)
    expect(listed.map(({ name }) => name)).toEqual(own)
    for (const { name } of tools.filter((tool) => tool.group !== group)) {
      const said = await session.call(name, argsFor(name))
      expect(said.structured.error).toBe(`${name} is switched off: its group is not offered`)
    }
    expect(await state()).toBe(before)
  })

  it('an excluded tool cannot be called, and the others can', async () => {
    for (const { name } of reads.slice(0, 3)) {
      const session = await connect({ toolPolicy: { excludedTools: [name] } })
      expect((await session.call(name, argsFor(name))).structured.error).toBe(`${name} is switched off`)
      const { tools: listed } = await session.client.listTools()
      expect(listed).toHaveLength(tools.length - 1)
    }
  })

  it('names that resemble a tool are rejected', async () => {
    const session = await connect({ toolPolicy: { excludedTools: ['delete-app-env'] } })
    for (const name of [
      'Delete-App-Env',
      ' delete-app-env',
      'delete-app-env\u200b',
      'delete_app_env',
      '__proto__',
      'constructor',
      '',
    ]) {
      expect((await session.call(name, argsFor('delete-app-env'))).structured.error).toMatch(
        /^There is no tool/,
      )
    }
  })
})
