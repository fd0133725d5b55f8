import type { IncomingMessage } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { toolPolicyOfRequest } from '../../../src/mcp/policy/http-policy.ts'
import { readToolPolicy, splitFlags } from '../../../src/mcp/policy/options.ts'
import { defaultToolPolicy, noScope, type ToolPolicy } from '../../../src/mcp/policy/tool-policy.ts'
import { publishTools } from '../../../src/mcp/tools/publish.ts'
import { listedTools, type Permissions } from '../../../src/mcp/tools/published-tool.ts'
import { type FakeBackend, startFakeBackend } from '../../../testkit/fakes/backend.ts'
import { openToolSession, type ToolSession } from '../../../testkit/mcp/tool-session.ts'
import { tools } from '../../../tools/index.ts'

const names = tools.map(({ name }) => name)
const published = publishTools(tools)
const listed = (toolPolicy: Partial<ToolPolicy>, permissions: Permissions | null = null) =>
  listedTools(published, { ...defaultToolPolicy, ...toolPolicy }, permissions)
const namesOf = (list: { name: string }[]) => list.map(({ name }) => name)

function parsed(...argv: string[]): ToolPolicy {
  const { given, rest } = splitFlags(argv)
  if (rest.length > 0) throw new Error(`unknown ${rest[0]}`)
  return readToolPolicy(given, names)
}

describe('the options', () => {
  it('are read as flags, with or without an equals sign', () => {
    expect(
      parsed('--read-only', '--tools', 'apps,logs', '--exclude-tools=get-logs', '--env', 'shop-prod'),
    ).toEqual({
      ...defaultToolPolicy,
      readOnly: true,
      groups: ['apps', 'logs'],
      excludedTools: ['get-logs'],
      scope: { ...noScope, env: 'shop-prod' },
    })
  })

  it.each([
    [['--read-only-true']],
    [['--readonly']],
    [['--read-only=ture']],
    [['--tools', 'apps,fnctions']],
    [['--tools', '']],
    [['--tools']],
    [['--tools', '--read-only']],
    [['--exclude-tools', 'delete-everything']],
    [['--account', 'app_1']],
    [['--env', 'a b']],
    [['--read-only', '--read-only']],
  ])('stop the start when mistyped: %j', (argv) => {
    expect(() => parsed(...argv)).toThrow()
  })

  const request = (url: string, headers: Record<string, string> = {}) =>
    ({ url, headers }) as unknown as IncomingMessage

  it("of an address and its headers can only tighten the server's policy", () => {
    const base = {
      ...defaultToolPolicy,
      readOnly: true,
      groups: ['apps', 'logs'] as const,
      excludedTools: ['get-app'],
    }
    const asked = toolPolicyOfRequest(
      request('/mcp?read-only=0&tools=logs,alerts&account=acc_1', { 'longshore-exclude-tools': 'get-logs' }),
      base,
      names,
    )
    expect(asked).toMatchObject({ readOnly: true, groups: ['logs'], allowSecrets: false })
    expect(asked.excludedTools).toEqual(['get-app', 'get-logs'])
    expect(asked.scope.account).toBe('acc_1')
    const limited = { ...base, scope: { ...noScope, env: 'env_1' } }
    expect(() => toolPolicyOfRequest(request('/mcp?env=env_2'), limited, names)).toThrow(
      /another environment/,
    )
  })

  it.each(['/mcp?read_only=1', '/mcp?readonly=yess', '/mcp?tools=none', '/mcp?allow-secrets=1'])(
    'of an address are refused when not understood: %s',
    (url) => {
      expect(() => toolPolicyOfRequest(request(url), defaultToolPolicy, names)).toThrow()
    },
  )
})

describe('the list', () => {
  it('every tool states its group', () => {
    expect(tools.filter((tool) => tool.group === undefined).map(({ name }) => name)).toEqual([])
  })

  it('omits writes, destructive tools, other groups and single tools', () => {
    expect(listed({ readOnly: true }).every((tool) => tool.annotations.readOnlyHint)).toBe(true)
    const mild = namesOf(listed({ noDestructive: true }))
    expect(mild).toContain('create-app')
    for (const tool of tools) if (tool.hints.destructive) expect(mild).not.toContain(tool.name)
    expect(namesOf(listed({ groups: ['functions'] }))).toEqual(['update-function-config', 'probe-function'])
    expect(namesOf(listed({ excludedTools: ['get-logs'] }))).toEqual(
      names.filter((name) => name !== 'get-logs'),
    )
  })

  it('has no inputs that its scope fills in, and no tools that act outside its environment', () => {
    const list = listed({ scope: { ...noScope, env: 'env_1' } })
    for (const { name, inputSchema } of list) {
      for (const gone of ['accountId', 'appId', 'appEnvId', 'envName']) {
        expect(inputSchema.properties, name).not.toHaveProperty(gone)
        expect(inputSchema.required ?? [], name).not.toContain(gone)
      }
    }
    expect(namesOf(list)).toContain('delete-app-env')
    for (const gone of [
      'create-app',
      'delete-app',
      'create-app-env',
      'list-members',
      'list-audit',
      'create-contact-point',
    ]) {
      expect(namesOf(list)).not.toContain(gone)
    }
  })

  it('A3 A4 shows a caller only tools that it may call', () => {
    const member: Permissions = {
      kind: 'user',
      readOnly: false,
      groups: null,
      admin: false,
      manageMembers: false,
    }
    const ordinary = namesOf(listed({}, member))
    expect(ordinary).toContain('deploy-app-env-image')
    for (const gone of ['create-alert', 'list-audit', 'list-members']) expect(ordinary).not.toContain(gone)
    expect(namesOf(listed({}, { ...member, admin: true }))).toEqual(names)
    expect(listed({}, { ...member, readOnly: true }).every((tool) => tool.annotations.readOnlyHint)).toBe(
      true,
    )
    const environment = namesOf(listed({}, { ...member, kind: 'environment' }))
    expect(environment).toContain('get-logs')
    expect(environment).not.toContain('create-app')
  })
})

describe('a call', () => {
  let backend: FakeBackend
  let session: ToolSession | undefined

  beforeEach(async () => {
    backend = await startFakeBackend()
    backend.state.add({ name: 'prod' })
    backend.state.add({ name: 'test', appId: 'app_2', accountId: 'acc_2' })
  })
  afterEach(async () => {
    await session?.close()
    await backend.close()
  })
  const open = async (toolPolicy: Partial<ToolPolicy>) => {
    session = await openToolSession(backend.url, { toolPolicy })
    return session
  }

  it('is rejected by name, independent of the list', async () => {
    const only = await open({ noDestructive: true, excludedTools: ['get-app'], groups: ['apps'] })
    for (const [name, why] of [
      ['delete-app-env', 'destroys nothing'],
      ['get-app', 'switched off'],
      ['get-logs', 'its group is not offered'],
    ] as const) {
      const said = await only.call(name, { envName: 'shop-prod', appId: 'app_1', confirm: 'shop-prod' })
      expect(said.isError).toBe(true)
      expect(said.structured.error).toContain(why)
    }
    expect(backend.state.calls).toEqual([])
  })

  it('is limited to its environment: ids are filled in, others rejected', async () => {
    const { call } = await open({ scope: { ...noScope, env: 'shop-prod' } })
    expect((await call('restart-app-env', {})).isError).toBe(false)
    for (const args of [{ envName: 'shop-test' }, { appEnvId: 'env_2' }, { appEnvId: 7 }]) {
      const said = await call('stop-app-env', args)
      expect(said.structured.error).toMatch(/outside the environment of this server/)
    }
    expect(backend.state.env({ envName: 'shop-test' }).status).toBe('RUNNING')
    const { structured } = await call('list-app-envs', {})
    expect((structured.appEnvs as { cliEnvName: string }[]).map((env) => env.cliEnvName)).toEqual([
      'shop-prod',
    ])
    expect((await call('create-app', { name: 'x' })).structured.error).toMatch(
      /outside the environment of this server/,
    )
  })

  it('is limited to its account: an environment of another one is rejected', async () => {
    const { call } = await open({ scope: { ...noScope, account: 'acc_1' } })
    const own = { envName: 'shop-prod', confirm: 'shop-prod' }
    expect((await call('stop-app-env', own)).isError).toBe(false)
    expect((await call('stop-app-env', { envName: 'shop-test' })).structured.error).toMatch(
      /outside the account of this server/,
    )
    const done = backend.state.calls.filter(({ id, dryRun }) => id === 'stop-app-env' && !dryRun)
    expect(done).toHaveLength(1)
  })

  it('with dryRun changes nothing, asks no question and returns the effects', async () => {
    const { call } = await open({})
    const said = await call('delete-app-env', { envName: 'shop-prod', dryRun: true })
    expect(said).toMatchObject({
      isError: false,
      structured: { dryRun: true, effects: backend.state.effects },
    })
    expect(said.text).toMatch(/^Dry run of "Delete environment": nothing was changed/)
    await call('deploy-app-env-image', { envName: 'shop-prod', image: 'shop:2', dryRun: true })
    expect(backend.state.countOf('delete-app-env') + backend.state.countOf('deploy-app-env-image')).toBe(0)
    expect(backend.state.envs.size).toBe(2)
  })

  it("sends the caller's idempotency key", async () => {
    const { call } = await open({})
    const app = { name: 'Shop', accountId: 'acc_1', port: 8080, idempotencyKey: 'once' }
    await call('create-app', app)
    expect(backend.state.calls).toMatchObject([{ id: 'create-app', idempotencyKey: 'once' }])
    expect(backend.state.calls[0]!.input).not.toHaveProperty('idempotencyKey')
  })
})
