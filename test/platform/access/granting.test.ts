import { afterAll, beforeAll, expect, it } from 'vitest'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

const call = (method: string, path: string, by: { token: string }, input: Record<string, unknown>) =>
  platform.request(method, path, { token: by.token, input })
const setAccess = (membershipId: string, allowedAppEnvIds: string[] | undefined, by = platform.admin) =>
  call('PATCH', '/member/env-access', by, {
    accountId: platform.accountId,
    membershipId,
    ...(allowedAppEnvIds ? { allowedAppEnvIds } : {}),
  })
const enable = (memberEnvAccessEnabled: boolean) =>
  call('PATCH', '/account', platform.admin, { accountId: platform.accountId, memberEnvAccessEnabled })
const appEnvIdsOf = async (by: { token: string }) =>
  (await call('GET', '/app-envs', by, { accountId: platform.accountId })).json.appEnvs.map(
    (env: { appEnvId: string }) => env.appEnvId,
  )

it('M8 a restricted manager grants only what is on their own list', async () => {
  const [own, hidden] = [await platform.makeEnvironment(), await platform.makeEnvironment()]
  const restricted = await platform.makeUser({ manageMembers: true })
  const other = await platform.makeUser()
  const { accountId } = platform
  await enable(true)
  await setAccess(restricted.membershipId, [own.appEnvId])
  await setAccess(other.membershipId, [hidden.appEnvId])
  const add = (allowedAppEnvIds?: string[]) => {
    const input = {
      accountId,
      email: `second-${allowedAppEnvIds?.length}@example.com`,
      name: 'Second self',
    }
    return call('POST', '/member', restricted, { ...input, ...(allowedAppEnvIds && { allowedAppEnvIds }) })
  }
  for (const [what, attempt] of [
    ['full access of their own', () => setAccess(restricted.membershipId, [], restricted)],
    ['no list', () => setAccess(restricted.membershipId, undefined, restricted)],
    ['one more', () => setAccess(restricted.membershipId, [own.appEnvId, hidden.appEnvId], restricted)],
    ['full access of another', () => setAccess(other.membershipId, [], restricted)],
    ['a new member with full access', () => add()],
    ['a new member with more', () => add([own.appEnvId, hidden.appEnvId])],
    ['everybody', () => call('PATCH', '/account', restricted, { accountId, memberEnvAccessEnabled: false })],
  ] as const) {
    const answer = await attempt()
    expect([answer.status, answer.json.error], what).toEqual([403, 'Your own access is restricted'])
  }
  expect(await appEnvIdsOf(restricted)).toEqual([own.appEnvId])
  // What they have they may pass on, and what others had stays.
  const both = [own.appEnvId, hidden.appEnvId]
  expect((await setAccess(other.membershipId, both, restricted)).status).toBe(200)
  expect((await add([own.appEnvId])).status).toBe(200)
  await enable(false)
  expect((await setAccess(restricted.membershipId, [], restricted)).status).toBe(403)
})
