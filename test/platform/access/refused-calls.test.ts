import { afterAll, beforeAll, expect, it } from 'vitest'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

const call = (
  method: string,
  path: string,
  input: Record<string, unknown> = {},
  token = platform.admin.token,
) => platform.request(method, path, { token, input })
const audit = async (more: Record<string, unknown> = {}) =>
  (await call('GET', '/audit', { accountId: platform.accountId, ...more })).json

it('records what a rule forbids, not what is malformed, and what the person did not confirm', async () => {
  const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } })
  const token = platform.admin.token
  const session = await openToolSession(platform.apiUrl, { token, person: () => ({ action: 'decline' }) })
  await session.call('scale-app-env-containers', { appEnvId, containers: 3 })
  await call('PATCH', '/app-env/containers', { appEnvId, containers: 3 })
  await call('PATCH', '/app-env/containers', { appEnvId, containers: 'x' })
  await call('PATCH', '/app-env', { appEnvId, name: 'x', expectedRevision: 99 })
  expect((await session.call('delete-app-env', { appEnvId })).text).toContain('The host declined')
  await session.close()
  const { entries } = await audit({ objectId: appEnvId, outcome: 'refused' })
  expect(
    entries.map(({ operation, surface }: { operation: string; surface: string }) => [operation, surface]),
  ).toEqual([
    ['delete-app-env', 'mcp'],
    ['scale-app-env-containers', 'rest'],
    ['scale-app-env-containers', 'mcp'],
  ])
  expect((await call('GET', '/app-env', { appEnvId })).status).toBe(200)
})

it('records in the account what a token that is limited to reads or to one environment is refused', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  const other = await platform.makeEnvironment()
  const made = await call('POST', '/user/tokens', { name: 'reader', readOnly: true })
  const narrowed = await call('POST', '/app-env/token', { appEnvId: other.appEnvId })
  for (const { token } of [made.json, narrowed.json]) {
    expect((await call('POST', '/app-env/stop', { appEnvId }, token)).status).toBe(403)
  }
  const { entries } = await audit({ objectId: appEnvId, outcome: 'refused' })
  expect(entries.map(({ principal }: { principal: { id: string } }) => principal.id)).toEqual([
    other.appEnvId,
    platform.admin.userId,
  ])
  // Not in an account that the owner of the token is no member of.
  const strangers = await platform.makeAccount('Strangers')
  const stranger = await platform.makeUser({ accountId: strangers })
  const reader = await call('POST', '/user/tokens', { name: 'r', readOnly: true }, stranger.token)
  expect((await call('POST', '/app-env/stop', { appEnvId }, reader.json.token)).status).toBe(403)
  expect((await audit({ objectId: appEnvId, outcome: 'refused' })).entries).toHaveLength(2)
})

it('records a refused read of secrets, and no other refused read', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  const { accountId } = platform
  const input = { accountId, name: 'Ops', type: 'email', config: { addresses: ['ops@example.com'] } }
  const { contactPointId } = (await call('POST', '/contact-point', input)).json.contactPoint
  const member = await platform.makeUser()
  const { cliEnvName: envName } = (await call('GET', '/app-env', { appEnvId })).json
  const reads: [string, Record<string, unknown>][] = [
    ['/app-env', { envName, decrypt: true }],
    ['/contact-point', { contactPointId, showSecrets: true }],
    // Not of secrets.
    ['/audit', { accountId }],
  ]
  for (const [path, query] of reads) expect((await call('GET', path, query, member.token)).status).toBe(403)
  const { entries } = await audit({ principalId: member.userId })
  expect(entries.map((one: Record<string, unknown>) => [one.operation, one.objectId, one.outcome])).toEqual([
    ['get-contact-point', contactPointId, 'refused'],
    ['get-app-env', appEnvId, 'refused'],
  ])
})
