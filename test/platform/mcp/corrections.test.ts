import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { updateAccount } from '../../../src/contract/accounts.ts'
import { openToolSession, type ToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
let session: ToolSession
let appId: string
let appEnvId: string
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  ;({ appEnvId } = await platform.makeEnvironment())
  session = await openToolSession(platform.apiUrl, { token: platform.admin.token })
  const { structured } = await session.call('get-app-env', { appEnvId })
  appId = structured.appId as string
})
afterAll(async () => {
  await session.close()
  await platform.close()
})

async function detailsOf(tool: string, input: Record<string, unknown>): Promise<string> {
  const { isError, structured, text } = await session.call(tool, input)
  expect(isError, text).toBe(true)
  expect(text).toContain(structured.details as string)
  return structured.details as string
}

describe('a mistaken input is answered with what to send instead', () => {
  it('a name for an id: the prefix of the object that the field names', async () => {
    const details = await detailsOf('get-policy', { accountId: 'no such account' })
    expect(details).toContain('accountId is an id that begins with acc_')
    expect(details).not.toContain('pol_')
  })

  it.each([
    ['a text with a unit', { timeoutSeconds: '30s' }, 'Send timeoutSeconds as 30.'],
    ['minutes for seconds', { idleTimeoutSeconds: '15 minutes' }, 'Send idleTimeoutSeconds as 900.'],
    ['hours for seconds', { timeoutSeconds: '1h' }, 'Send timeoutSeconds as 3600.'],
    ['a snake-case name', { timeout_seconds: 30 }, 'Send timeoutSeconds instead of timeout_seconds.'],
    ['a shorter name', { timeout: 30 }, 'Send timeoutSeconds instead of timeout.'],
    ['a misspelled name', { maxScael: 3 }, 'Send maxScale instead of maxScael.'],
    ['a name that is given as well', { maxScale: 3, max_scale: 3 }, 'Omit max_scale: maxScale is given.'],
    ['a text for a choice', { applyImmediately: 'yes' }, 'Send applyImmediately as true.'],
  ])('%s', async (_name, input, correction) => {
    expect(await detailsOf('update-function-config', { appEnvId, ...input })).toContain(correction)
  })

  it.each([
    ['a name of line feeds', 'create-app', { ['\n'.repeat(300_000)]: 1 }],
    ['a long name', 'create-app', { ['x'.repeat(300_000)]: 1 }],
    ['a long name for an id', 'restart-app-env', { appEnvId: 'x'.repeat(300_000) }],
    ['a long name for the id of an app', 'get-app', { appId: 'x'.repeat(300_000) }],
  ])('%s is answered at once', async (_name, tool, input) => {
    const before = process.cpuUsage()
    await detailsOf(tool, input)
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000)
  })

  it.each([
    ['an object without a text', { toString: 'true' }],
    ['a list of such', [{ toString: 1 }]],
  ])('%s is refused like any other', async (_name, applyImmediately) => {
    expect(await detailsOf('update-function-config', { appEnvId, applyImmediately })).toMatch(
      /^applyImmediately/,
    )
  })

  it.each([
    ['GB for MB', { disk: '5GB' }, 'Send disk as 5120.'],
    ['MB with a space', { disk: '2048 MiB' }, 'Send disk as 2048.'],
    [
      'a nested unit',
      { functionConfig: { timeoutSeconds: '2m' } },
      'Send functionConfig.timeoutSeconds as 120.',
    ],
    [
      'a nested name',
      { functionConfig: { timeout: 30 } },
      'Send functionConfig.timeoutSeconds instead of functionConfig.timeout.',
    ],
  ])('%s in update-app-env', async (_name, input, correction) => {
    expect(await detailsOf('update-app-env', { appEnvId, ...input })).toContain(correction)
  })

  it('a value that is near an allowed one', async () => {
    const app = { accountId: platform.accountId, name: 'near', port: 8080 }
    expect(await detailsOf('create-app', { ...app, dockerPreset: 'nodejs' })).toContain(
      'Send dockerPreset as "NODE_JS".',
    )
    expect(await detailsOf('create-app', { ...app, dockerPreset: 'function' })).toContain(
      'Send dockerPreset as "FUNCTION".',
    )
  })

  it('memory, which no input takes, with all inputs', async () => {
    expect(await detailsOf('scale-app-env-containers', { appEnvId, containers: 2, memory: '512MB' })).toMatch(
      /scale-app-env-containers takes .*containers/,
    )
  })

  it('the name of an app or account where an id belongs', async () => {
    const { structured } = await session.call('get-app', { appId })
    const { name } = structured as { name: string }
    expect(await detailsOf('get-app', { appId: name })).toContain(`Send appId ${appId}: `)
    const { accounts } = (await session.call('list-accounts', {})).structured as {
      accounts: { name: string }[]
    }
    expect(await detailsOf('list-apps', { accountId: accounts[0]!.name })).toContain(
      `Send accountId ${platform.accountId}: `,
    )
  })

  it('the environment that was meant by a mistyped name, its name as an id or the name of its app', async () => {
    const { structured } = await session.call('get-app-env', { appEnvId })
    const { cliEnvName } = structured as { cliEnvName: string }
    const { name } = (await session.call('get-app', { appId })).structured as { name: string }
    const meant = `Did you mean ${cliEnvName} (appEnvId ${appEnvId})?`
    for (const input of [{ envName: `${cliEnvName}x` }, { appEnvId: cliEnvName }, { envName: name }])
      expect(await detailsOf('get-app-env-status', input)).toContain(meant)
    expect(await detailsOf('get-app-env-status', { appEnvId: 'env_unknown' })).not.toContain('Did you mean')
    expect(await detailsOf('get-alert', { alertId: cliEnvName })).not.toContain('Did you mean')
  })

  it('M2 no environment that the caller may not see, and none outside of the scope', async () => {
    const { structured } = await session.call('get-app-env', { appEnvId })
    const input = { envName: `${structured.cliEnvName}x` }
    const seen = await platform.makeEnvironment()
    const setting = (memberEnvAccessEnabled: boolean) =>
      platform.admin.client.call(updateAccount, { accountId: platform.accountId, memberEnvAccessEnabled })
    const restricted = await platform.makeUser({ allowedAppEnvIds: [seen.appEnvId] })
    const stranger = await platform.makeUser({ accountId: await platform.makeAccount('Elsewhere') })
    const scope = { account: null, app: seen.appId, env: null }
    await setting(true)
    for (const options of [
      { token: restricted.token },
      { token: stranger.token },
      { toolPolicy: { scope } },
    ]) {
      const other = await openToolSession(platform.apiUrl, { token: platform.admin.token, ...options })
      const { structured: refused } = await other.call('get-app-env-status', input)
      expect(refused).toMatchObject({ error: 'App environment not found' })
      expect(refused.details).not.toContain(appEnvId)
      await other.close()
    }
    await setting(false)
  })

  it('another name where an id belongs, with the tool that lists ids', async () => {
    expect(await detailsOf('get-alert', { alertId: 'too many errors' })).toContain(
      'alertId is an id that begins with alr_, not a name; list-alerts shows ids.',
    )
    expect(await detailsOf('get-app', { appId: 'no such app' })).toContain('list-apps shows ids.')
  })

  it('nothing about an id that is one, whatever else is wrong with the call', async () => {
    const { accountId } = platform
    for (const tool of ['list-audit', 'list-app-envs', 'get-policy', 'get-account-health'])
      expect(await detailsOf(tool, { accountId, mistyped: 1 }), tool).not.toContain('accountId is')
    expect(await detailsOf('get-policy', { accountId: 'no such account' })).toContain(
      'accountId is an id that begins with acc_, not a name; list-accounts shows ids.',
    )
  })

  it('nothing about a text, which may be secret, or a unit that fits no whole number', async () => {
    const set = [{ name: 'KEY', value: 12, isSecret: true }]
    expect(await detailsOf('update-app-env-variables', { appEnvId, set })).not.toContain('Send')
    expect(await detailsOf('update-function-config', { appEnvId, timeoutSeconds: '5GB' })).not.toContain(
      'Send',
    )
    expect(await detailsOf('update-function-config', { appEnvId, timeoutSeconds: '500ms' })).not.toContain(
      'Send',
    )
  })
})
