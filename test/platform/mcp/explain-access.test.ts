import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeWorld, type World } from '../../../testkit/mcp/account-world.ts'
import { openToolSession, type ToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
let session: ToolSession
let world: World

beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
  world = await makeWorld(platform, 'WORLD', platform.accountId)
})
afterAll(async () => {
  await session.close()
  await platform.close()
})

type Json = Record<string, unknown>

async function call(name: string, input: Json, by = session): Promise<Json> {
  const said = await by.call(name, input)
  if (said.isError) throw new Error(`${name}: ${said.text}`)
  return said.structured
}

describe('explain-access by an agent', () => {
  it('M1 M2 M5 M6 A3 A4 names the rule for each member, and shows members only themselves', async () => {
    const made = await makeWorld(platform, 'EXPLAINED', platform.accountId)
    const { appEnvId } = made
    const restricted = await platform.makeUser({ allowedAppEnvIds: [world.appEnvId] })
    const listed = await platform.makeUser({ allowedAppEnvIds: [appEnvId] })
    const manager = await platform.makeUser({ manageMembers: true, allowedAppEnvIds: [world.appEnvId] })
    const of = async (user: { membershipId: string }, by = session) => {
      const { members } = (await call('explain-access', { appEnvId }, by)) as {
        members: { membershipId: string; operates: boolean; because: string[] }[]
      }
      return members.find(({ membershipId }) => membershipId === user.membershipId)!
    }
    expect(await of(restricted)).toMatchObject({
      operates: true,
      because: [expect.stringContaining('M5'), expect.stringContaining('A3')],
    })
    await send('PATCH', '/account', { accountId: platform.accountId, memberEnvAccessEnabled: true })
    expect(await of(restricted)).toMatchObject({
      operates: false,
      seesSecrets: false,
      because: [expect.stringContaining('M2'), expect.any(String)],
    })
    expect(await of(listed)).toMatchObject({
      operates: true,
      because: [expect.stringContaining('M1'), expect.any(String)],
    })
    expect(await of(manager)).toMatchObject({ operates: false, configuresAccess: true })
    expect(await of(platform.admin)).toMatchObject({ operates: true, seesSecrets: true, changesAlerts: true })
    const own = await openToolSession(platform.apiUrl, { token: listed.token })
    const said = await call('explain-access', { appEnvId }, own)
    expect(said).toMatchObject({ complete: false, members: [{ membershipId: listed.membershipId }] })
    await own.close()
    const refused = await openToolSession(platform.apiUrl, { token: restricted.token })
    expect((await refused.call('explain-access', { appEnvId })).isError).toBe(true)
    await refused.close()
    await send('PATCH', '/account', { accountId: platform.accountId, memberEnvAccessEnabled: false })
  })

  const send = (method: string, path: string, input: Json) =>
    platform.request(method, path, { token: platform.admin.token, input })
})
