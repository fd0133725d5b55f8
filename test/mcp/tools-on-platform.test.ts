import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { outputSchemaOf } from '../../src/mcp/tool-schema.ts'
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

/** Arguments with which each tool that has no fake succeeds on the platform itself. */
const workingInput: Record<string, Arguments> = {
  'list-members': account,
  'get-app-env-metrics': environment,
  'get-app-env-metrics-series': async () => ({ ...(await environment()), metric: 'ingress_request_rate' }),
  'get-app-env-usage': environment,
  'list-database-presets': () => ({}),
  'get-member-env-access': member,
  'update-member-env-access': async () => ({ ...(await member()), grantFullAccess: true }),
  'list-audit': account,
  'explain-access': async () => ({ appEnvId: (await platform.makeEnvironment()).appEnvId }),
  'undo-change': async () => {
    const { token } = platform.admin
    await platform.request('PATCH', '/account', {
      token,
      input: { ...account(), name: `Name ${Math.random()}` },
    })
    const { json } = await platform.request('GET', '/audit', { token, input: { ...account(), limit: 1 } })
    return { entryId: json.entries[0].entryId }
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

describe('update-member-env-access as a tool', () => {
  it('M5 refuses an empty list without grantFullAccess, says the counts, and changes nothing', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const user = await platform.makeUser({ allowedAppEnvIds: [appEnvId] })
    const ids = { ...account(), membershipId: user.membershipId }
    for (const input of [ids, { ...ids, allowedAppEnvIds: [] }, { ...ids, grantFullAccess: false }]) {
      const said = await session.call('update-member-env-access', input)
      expect(said.isError).toBe(true)
      expect(said.text).toContain('grantFullAccess')
      expect(said.text).toContain('1 environment(s)')
    }
    const kept = await session.call('get-member-env-access', ids)
    expect(kept.structured).toMatchObject({ access: 'restricted', allowedAppEnvIds: [appEnvId] })
    const done = await session.call('update-member-env-access', { ...ids, grantFullAccess: true })
    expect(done.text).toMatch(/from 1 of \d+ environments to all \d+ environments/)
  })
})
