import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { outputSchemaOf } from '../../src/mcp/tool-schema.ts'
import { findBackup, saveBackup } from '../../src/store/backups.ts'
import { tools } from '../../tools/index.ts'
import { fakeOperations } from '../fakes/fake-operations.ts'
import { TestPlatform } from '../support/test-platform.ts'
import { openToolSession, type ToolSession } from './tool-session.ts'

let platform: TestPlatform
let session: ToolSession

type Arguments = () => Record<string, unknown> | Promise<Record<string, unknown>>

const account = () => ({ accountId: platform.accountId })
const environment = async () => ({ appEnvId: (await platform.makeEnvironment()).appEnvId })
const member = async () => ({ ...account(), membershipId: (await platform.makeUser()).membershipId })

const database = async () => ({
  appEnvId: (await platform.makeEnvironment({ app: { dockerPreset: 'REDIS' } })).appEnvId,
})

/** A database and a backup of it that is done, without a loop that takes it. */
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

/** Arguments with which each tool that has no fake succeeds on the platform itself. */
const workingInput: Record<string, Arguments> = {
  'list-members': account,
  'get-app-env-metrics': environment,
  'get-app-env-metrics-series': async () => ({ ...(await environment()), metric: 'ingress_request_rate' }),
  'get-app-env-usage': environment,
  'list-database-presets': () => ({}),
  'get-member-env-access': member,
  'update-member-env-access': async () => ({ ...(await member()), grantFullAccess: true }),
  'create-app-env-backup': database,
  'list-app-env-backups': account,
  'restore-app-env-backup': async () => ({ ...(await backedUp()), confirm: 'prod' }),
  'list-audit': account,
  'explain-access': async () => ({ appEnvId: (await platform.makeEnvironment()).appEnvId }),
  'undo-change': async () => {
    const { token } = platform.admin
    await platform.request('PATCH', '/account', {
      token,
      input: { ...account(), name: `Name ${Math.random()}` },
    })
    const { json } = await platform.request('GET', '/audit', { token, input: { ...account(), limit: 1 } })
    return { entryId: json.entries[0].entryId, confirm: 'update-account' }
  },
  'delete-app': async () => {
    const { appId, appEnvId } = await platform.makeEnvironment({ app: { name: 'Gone' } })
    await platform.request('DELETE', '/app-env', { token: platform.admin.token, input: { appEnvId } })
    return { appId, confirm: 'Gone' }
  },
}

beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
})
afterAll(async () => {
  await session.close()
  await platform.close()
})

describe('every tool without a fake', () => {
  it('is here', () => {
    const untested = tools
      .map(({ name }) => name)
      .filter((name) => !(name in fakeOperations) && !(name in workingInput))
    expect(untested).toEqual([])
  })

  it.each(Object.keys(workingInput))(
    '%s answers what its output schema says, as text and object',
    async (name) => {
      const said = await session.call(name, await workingInput[name]!())
      expect(said.text).not.toMatch(/^Error/)
      expect(said.isError).toBe(false)
      outputSchemaOf(tools.find((tool) => tool.name === name)!).parse(said.structured)
      expect(JSON.parse(said.text.split('\n').at(-1)!)).toEqual(said.structured)
    },
  )
})

describe('answers that a next step rests on', () => {
  it('an alert that is paused is not said to fire, and one without contact points to notify nobody', async () => {
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
    expect(made.text.split('\n')[0]).toBe('Alert busy created. It notifies nobody: contactPointIds is empty.')
    const { alertId } = made.structured.alert as { alertId: string }
    await session.call('toggle-alert', { alertId, enabled: false })
    expect((await session.call('get-alert', { alertId })).text).toMatch(/^busy is paused; /)
    const { appEnvId } = rule
    expect((await session.call('list-alerts', { appEnvId })).text).toMatch(
      /^1 alert\(s\), 0 firing, 1 paused\./,
    )
    const refreshed = await session.call('refresh-alert', { alertId })
    expect(refreshed.structured.notes).toEqual([expect.stringContaining('nothing was evaluated')])
  })

  it('backups are counted, with how the newest one went', async () => {
    await backedUp()
    expect((await session.call('list-app-env-backups', account())).text).toMatch(
      /^\d+ backup\(s\), newest \w+; \d+ restore\(s\)/,
    )
  })

  it('a name in the place of an id is answered with the list that has the ids', async () => {
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

  it('null in the place of what may be left out is answered with that', async () => {
    const input = { ...account(), name: 'shop', port: 8080, image: null, dockerPreset: null }
    const { details } = (await session.call('create-app', input)).structured
    expect(details).toContain('image: must be text, not null (leave it out')
    expect(details).toMatch(/dockerPreset: must be .* or CLICKHOUSE, not null/)
  })
})

describe('restore-app-env-backup as a tool', () => {
  it('asks for confirm, saying what is replaced, and not for a backup of what is outside the pinned environment', async () => {
    const { appEnvId, backupId } = await backedUp()
    const said = await session.call('restore-app-env-backup', { appEnvId, backupId })
    expect(said.isError).toBe(true)
    expect(said.text).toMatch(/Replaces all data of .*confirm set to the exact name: prod/)
    const other = await database()
    const pinned = await openToolSession(platform.apiUrl, {
      token: platform.admin.token,
      exposure: { pin: { account: null, app: null, env: other.appEnvId } },
    })
    const input = { ...other, backupId, confirm: 'prod' }
    const refused = await pinned.call('restore-app-env-backup', input)
    expect(refused.text).toContain('outside the pinned')
    await pinned.close()
  })
})

describe('update-member-env-access as a tool', () => {
  it('M5 refuses an empty list without grantFullAccess, says the counts, and changes nothing', async () => {
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
