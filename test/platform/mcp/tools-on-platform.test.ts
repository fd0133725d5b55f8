import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Tool } from '../../../src/mcp/tools/define-tool.ts'
import { outputSchemaOf } from '../../../src/mcp/tools/schema.ts'
import { findBackup, saveBackup } from '../../../src/store/repositories/backups.ts'
import { inputWithIds } from '../../../testkit/api/sample-input.ts'
import { fakeOperations } from '../../../testkit/fakes/operations.ts'
import { makeWorld } from '../../../testkit/mcp/account-world.ts'
import { openToolSession, type ToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { tools } from '../../../tools/index.ts'

let platform: TestPlatform
let session: ToolSession

type Arguments = () => Record<string, unknown> | Promise<Record<string, unknown>>

const account = () => ({ accountId: platform.accountId })
const environment = async () => ({ appEnvId: (await platform.makeEnvironment()).appEnvId })
const member = async () => ({ ...account(), membershipId: (await platform.makeUser()).membershipId })

const database = async () => ({
  appEnvId: (await platform.makeEnvironment({ app: { dockerPreset: 'REDIS' } })).appEnvId,
})

/** A database and a finished backup, without a running reconciler. */
async function backedUp() {
  const { appEnvId } = await database()
  const { json } = await platform.request('POST', '/app-env/backup', {
    token: platform.admin.token,
    input: { appEnvId },
  })
  const { backupId } = json.backup as { backupId: string }
  await platform.db.write(async (tx) => {
    const found = await findBackup(tx, backupId)
    if (found) await saveBackup(tx, { ...found, status: 'SUCCEEDED', sizeBytes: 1, sha256: 'x' })
  })
  return { appEnvId, backupId }
}

async function withDomain() {
  const { appEnvId } = await environment()
  const input = { appEnvId, domain: `${appEnvId.slice(4)}.domains.example` }
  await platform.request('POST', '/app-env/domain', { token: platform.admin.token, input })
  return input
}

async function confirmedRestore() {
  const ids = await backedUp()
  const { json } = await platform.request('GET', '/app-env', {
    token: platform.admin.token,
    input: { appEnvId: ids.appEnvId },
  })
  return { ...ids, confirm: json.cliEnvName }
}

/** Arguments for a successful call of each tool without a fake, on the real platform. */
const workingInput: Record<string, Arguments> = {
  'list-members': account,
  'get-app-env-metrics': environment,
  'get-app-env-metrics-series': async () => ({ ...(await environment()), metric: 'ingress_request_rate' }),
  'get-app-env-usage': environment,
  'add-app-env-domain': async () => ({ ...(await environment()), domain: 'new.domains.example' }),
  'list-app-env-domains': environment,
  'verify-app-env-domain': withDomain,
  'remove-app-env-domain': async () => {
    const input = await withDomain()
    return { ...input, confirm: input.domain }
  },
  'list-database-presets': () => ({}),
  'get-member-env-access': member,
  'update-member-env-access': async () => ({ ...(await member()), grantFullAccess: true }),
  'create-app-env-backup': database,
  'list-app-env-backups': account,
  'restore-app-env-backup': async () => await confirmedRestore(),
  'rotate-database-password': async () => {
    const { appEnvId, confirm } = await confirmedRestore()
    return { appEnvId, confirm }
  },
  'delete-app-env-backup': async () => {
    const { backupId } = await backedUp()
    return { backupId, confirm: backupId }
  },
  'update-account': () => ({ ...account(), memberEnvAccessEnabled: false }),
  'list-audit': account,
  'explain-policy': async () => ({ operation: 'create-app', input: { ...account(), name: 'x', port: 8080 } }),
  'explain-access': async () => ({ appEnvId: (await platform.makeEnvironment()).appEnvId }),
  'undo-change': async () => {
    const { token } = platform.admin
    const name = `Name ${Math.random()}`
    await platform.request('PATCH', '/account', { token, input: { ...account(), name } })
    const { json } = await platform.request('GET', '/audit', { token, input: { ...account(), limit: 1 } })
    return { entryId: json.entries[0].entryId, confirm: name }
  },
  'delete-app': async () => {
    const { appId, appEnvId } = await platform.makeEnvironment({ app: { name: 'Gone' } })
    await platform.request('DELETE', '/app-env', { token: platform.admin.token, input: { appEnvId } })
    return { appId, confirm: 'Gone' }
  },
}

/** For all other tools; each in a world of its own. */
const usualInput = async ({ name, operation }: Tool) =>
  inputWithIds(
    operation,
    await makeWorld(platform, name.toUpperCase().replaceAll('-', '_'), platform.accountId),
  )

beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
})
afterAll(async () => {
  await session.close()
  await platform.close()
})

describe('every tool without a fake', () => {
  const unfaked = tools
    .filter(({ name }) => !(name in fakeOperations))
    .map((tool) => [tool.name, tool] as const)

  it.each(unfaked)('%s answers what its output schema says, as text and object', async (name, tool) => {
    const said = await session.call(name, await (workingInput[name]?.() ?? usualInput(tool)))
    expect(said.text).not.toMatch(/^Error/)
    expect(said.isError).toBe(false)
    outputSchemaOf(tool).parse(said.structured)
    expect(JSON.parse(said.text.split('\n').at(-1)!)).toEqual(said.structured)
  })
})

describe('responses that the next step depends on', () => {
  it('a paused alert is not reported as firing, and one without contact points is reported', async () => {
    const rule = {
      ...(await environment()),
      name: 'busy',
      metric: 'cpu_percent',
      operator: 'gt',
      threshold: 80,
      duration: '1m',
      contactPointIds: [],
    }
    const made = await session.call('create-alert', rule)
    const { alertId } = made.structured.alert as { alertId: string }
    expect(made.text.split('\n')[0]).toBe(
      `Alert ${alertId} created. It sends no notifications: contactPointIds is empty.`,
    )
    await session.call('toggle-alert', { alertId, enabled: false })
    expect((await session.call('get-alert', { alertId })).text).toMatch(/^Alert alr_\w+ is paused; /)
    const { appEnvId } = rule
    expect((await session.call('list-alerts', { appEnvId })).text).toMatch(/^1 alert, 0 firing, 1 paused\./)
    const refreshed = await session.call('refresh-alert', { alertId })
    expect(refreshed.structured.notes).toEqual([expect.stringContaining('it was not evaluated')])
  })

  it('backups are counted, with the status of the newest', async () => {
    await backedUp()
    expect((await session.call('list-app-env-backups', account())).text).toMatch(
      /^\d+ backups?, newest \w+; \d+ restores?/,
    )
  })

  it('a name instead of an id gets an error that names the list with the ids', async () => {
    for (const [tool, args, list] of [
      ['list-apps', { accountId: 'acme' }, 'list-accounts'],
      ['get-app', { appId: 'shop' }, 'list-apps'],
      ['get-alert', { alertId: 'busy' }, 'list-alerts'],
      ['test-contact-point', { contactPointId: 'ops' }, 'list-contact-points'],
      ['get-job-run', { jobRunId: 'last' }, 'list-job-runs'],
      ['get-app-env-status', { appEnvId: 'shop-prod' }, 'list-app-envs'],
    ] as const) {
      const said = await session.call(tool, args)
      expect(said.structured.details, tool).toContain(list)
    }
  })

  it('thousands of inputs get an error that names none of them', async () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`k${at}`, 1]))
    const { text, structured } = await session.call('list-apps', { ...account(), ...many })
    expect(structured.details).toMatch(/^A call has at most 100 inputs/)
    expect(text.length).toBeLessThan(1_000)
  })

  it('null for an optional input gets an error that says to omit it', async () => {
    const input = { ...account(), name: 'shop', port: 8080, image: null, dockerPreset: null }
    const { details } = (await session.call('create-app', input)).structured
    expect(details).toContain('image: must be text, not null (omit it')
    expect(details).toMatch(/dockerPreset: must be .* or CLICKHOUSE, not null/)
  })
})

describe('restore-app-env-backup as a tool', () => {
  it('asks for confirm with the effect, and rejects a backup from outside the environment of this server', async () => {
    const { appEnvId, backupId } = await backedUp()
    const said = await session.call('restore-app-env-backup', { appEnvId, backupId })
    expect(said.isError).toBe(true)
    expect(said.text).toMatch(/Replaces all data of .*confirm set to the exact name: \S+-prod\S*$/m)
    const other = await database()
    const limited = await openToolSession(platform.apiUrl, {
      token: platform.admin.token,
      toolPolicy: { scope: { account: null, app: null, env: other.appEnvId } },
    })
    const input = { ...other, backupId, confirm: 'prod' }
    const refused = await limited.call('restore-app-env-backup', input)
    expect(refused.text).toContain('outside the environment of this server')
    await limited.close()
  })
})

describe('update-member-env-access as a tool', () => {
  it('M5 rejects an empty list without grantFullAccess, shows the counts, and changes nothing', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const user = await platform.makeUser({ allowedAppEnvIds: [appEnvId] })
    const ids = { ...account(), membershipId: user.membershipId }
    for (const input of [ids, { ...ids, allowedAppEnvIds: [] }, { ...ids, grantFullAccess: false }]) {
      const said = await session.call('update-member-env-access', input)
      expect(said.isError).toBe(true)
      expect(said.text).toContain('grantFullAccess')
      expect(said.text).toMatch(/from 1 of \d+ environments to all \d+ environments/)
    }
    const kept = await session.call('get-member-env-access', ids)
    expect(kept.structured).toMatchObject({ access: 'restricted', allowedAppEnvIds: [appEnvId] })
    const done = await session.call('update-member-env-access', { ...ids, grantFullAccess: true })
    expect(done.text).toMatch(/from 1 of \d+ environments to all \d+ environments/)
  })
})
