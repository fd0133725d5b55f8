import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { updateAppEnvVariables } from '../../../src/contract/app-env-actions.ts'
import { OAuthHost } from '../../../testkit/oauth/host.ts'
import { Person } from '../../../testkit/oauth/person.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const secret = 'sup3r-secret-value'

describe.each([
  ['shows secrets to agents', true],
  ['shows agents no secrets', false],
])('secrets:read at a server that %s', (_name, allowSecrets) => {
  let platform: TestPlatform
  let person: Person
  let appEnvId: string
  beforeAll(async () => {
    const oauth = { toolPolicy: { allowSecrets } }
    platform = await TestPlatform.start({ reconciles: false, oauth, consoleDir: 'dist/console' })
    person = await Person.signIn(platform, platform.admin.token)
    appEnvId = (await platform.makeEnvironment()).appEnvId
    await platform.admin.client.call(updateAppEnvVariables, {
      appEnvId,
      set: [{ name: 'KEY', value: secret, isSecret: true }],
    })
  })
  afterAll(() => platform.close())

  const hostWith = (scope: string, readOnly = false) => {
    const browser = (url: URL) => {
      url.searchParams.set('scope', scope)
      return person.approves(url, { readOnly })
    }
    return new OAuthHost(`${platform.apiUrl}/mcp`, browser, 'second')
  }
  const read = async (scope: string, readOnly = false) => {
    const host = hostWith(scope, readOnly)
    const agent = await host.connect()
    const reply = await agent.says('get-app-env', { appEnvId, decrypt: true }).catch(() => null)
    const wants = host.opened.at(1)?.searchParams.get('scope') ?? null
    await agent.close()
    return { reply, wants }
  }

  it('with the scope', async () => {
    const { reply, wants } = await read('environments:read secrets:read')
    expect(wants).toBeNull()
    expect(reply!.isError).toBe(!allowSecrets)
    expect(reply!.text.includes(secret)).toBe(allowSecrets)
    if (!allowSecrets) expect(reply!.text).toContain('decrypt is switched off on agent tools')
  })

  it('without the scope: the host asks the person for it where it helps', async () => {
    const { reply, wants } = await read('environments:read')
    expect(wants).toBe(allowSecrets ? 'environments:read secrets:read' : null)
    if (!allowSecrets) expect(reply!.text).toContain('decrypt is switched off on agent tools')
  })

  it('narrowed to read-only it shows none', async () => {
    const { reply } = await read('environments:read secrets:read', true)
    expect(reply?.text ?? '').not.toContain(secret)
  })
})
