import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OAuthHost } from '../../../testkit/oauth/host.ts'
import { Person } from '../../../testkit/oauth/person.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

describe('sign-in of agents with the embedded authorization server', () => {
  let platform: TestPlatform
  let person: Person
  beforeAll(async () => {
    platform = await TestPlatform.start({ reconciles: false, oauth: {}, consoleDir: 'dist/console' })
    person = await Person.signIn(platform, platform.admin.token)
  })
  afterAll(() => platform.close())

  const hostOf = (decision: Parameters<Person['approves']>[1] = {}) =>
    new OAuthHost(`${platform.apiUrl}/mcp`, (url) => person.approves(url, decision))

  it('connects a host by URL alone, and the first write works', async () => {
    const host = hostOf()
    const agent = await host.connect()
    expect(host.held?.access_token).toMatch(/^lsa_/)
    expect(host.held?.scope).toBe('environments:read environments:write')
    const { accountId } = platform
    const made = await agent.does('create-app', {
      accountId,
      name: 'by agent',
      dockerPreset: 'CUSTOM',
      port: 8080,
    })
    expect(made.appId).toMatch(/^app_/)
    await agent.close()
  })
})
