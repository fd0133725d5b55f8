import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnv } from '../../../src/contract/app-envs.ts'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

describe('answers that would mislead', () => {
  let platform: TestPlatform
  beforeAll(async () => {
    platform = await TestPlatform.start({ reconciles: false })
  })
  afterAll(() => platform.close())

  // biome-ignore lint/suspicious/noExplicitAny: answers are read by their parts
  const call = async (method: string, path: string, input: Record<string, unknown>): Promise<any> =>
    (await platform.request(method, path, { token: platform.admin.token, input })).json
  const audit = (filter: Record<string, unknown>) =>
    call('GET', '/audit', { accountId: platform.accountId, ...filter })

  it('list-audit takes a cliEnvName and an e-mail address, and refuses other names', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const { cliEnvName } = await platform.admin.client.call(getAppEnv, { appEnvId })
    const byName = await audit({ objectId: cliEnvName })
    expect(byName.entries.length).toBeGreaterThan(0)
    expect(byName).toEqual(await audit({ objectId: appEnvId }))
    const { email } = (await call('GET', '/members', { accountId: platform.accountId })).members[0]
    const byAddress = await audit({ principalId: email })
    expect(byAddress.entries.length).toBeGreaterThan(0)
    for (const { principal } of byAddress.entries) expect(principal.email).toBe(email)
    const names = {
      objectId: 'no-such-name',
      principalId: 'nobody@example.com',
      tokenId: 'ci',
      approvalId: 'Ship it',
    }
    for (const [field, name] of Object.entries(names))
      expect(await audit({ [field]: name })).toMatchObject({ error: `No such ${field}` })
    expect((await audit({ objectId: 'env_4k2m6q8s0u3w5y7a9c1e' })).entries).toEqual([])
  })

  it('list-audit names objects that were deleted since, in every entry', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const { cliEnvName } = await platform.admin.client.call(getAppEnv, { appEnvId })
    await call('POST', '/app-env/token', { appEnvId })
    await call('DELETE', '/app-env', { appEnvId })
    const { entries } = await audit({ objectId: appEnvId })
    expect(entries.length).toBeGreaterThan(2)
    for (const { objectName } of entries) expect(objectName).toBe(cliEnvName)
  })

  it('the one cursor of a page that was shortened skips nothing that was left out', async () => {
    const session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
    for (let count = 0; count < 3; count += 1) await platform.makeEnvironment()
    const page = { accountId: platform.accountId, limit: 6 }
    const whole = await session.call('list-audit', page)
    expect(whole.structured.cursor).toEqual(expect.any(String))
    const short = await session.call('list-audit', { ...page, maxTokens: 400 })
    expect(short.structured).toMatchObject({ cursor: expect.stringMatching(/^entries:\d$/) })
    const rest = await session.call('list-audit', { ...page, cursor: short.structured.cursor })
    expect(rest.structured.cursor).toBe(whole.structured.cursor)
    await session.close()
  })

  it('list-app-envs with a limit says how many there are', async () => {
    const { accountId } = platform
    for (let count = 0; count < 3; count += 1) await platform.makeEnvironment()
    const all = (await call('GET', '/app-envs', { accountId })).appEnvs.length
    const some = await call('GET', '/app-envs', { accountId, limit: 2 })
    expect(some.pagination).toEqual({ limit: 2, offset: 0, total: all, hasMore: true })
    const session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
    const shown = await session.call('list-app-envs', { accountId, limit: 2 })
    expect(shown.text).toContain(`The first 2 of ${all} environments`)
    await session.close()
  })

  it('a mistyped source of a reference is corrected to what it resembles, not to the edited environment', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const source = await platform.makeEnvironment()
    const edited = (await platform.admin.client.call(getAppEnv, { appEnvId })).cliEnvName
    const meant = (await platform.admin.client.call(getAppEnv, { appEnvId: source.appEnvId })).cliEnvName
    const session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
    const typed = `${meant}x`
    const set = [{ name: 'URL', from: { envName: typed, field: 'X' } }]
    const { text } = await session.call('update-app-env-variables', { envName: edited, set })
    expect(text).toContain(`from.envName: did you mean ${meant}`)
    expect(text).not.toContain(`mean ${edited} `)
    await session.close()
  })
})
