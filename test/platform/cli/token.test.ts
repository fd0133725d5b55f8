import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCli } from '../../../src/server/commands/run-cli.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
let home: string
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  home = mkdtempSync(path.join(os.tmpdir(), 'longshore-home-'))
})
afterAll(async () => {
  await platform.close()
  rmSync(home, { recursive: true, force: true })
})

async function run(argv: string[], token = platform.admin.token) {
  const said = { out: '', err: '' }
  const io = {
    stdout: { write: (text: string) => (said.out += text) },
    stderr: { write: (text: string) => (said.err += text) },
    onInterrupt: () => () => {},
  }
  const env = { LONGSHORE_URL: platform.apiUrl, LONGSHORE_TOKEN: token, LONGSHORE_HOME: home }
  const code = await runCli(['token', ...argv], env, io as never)
  return { code, ...said }
}

describe('longshore token', () => {
  it('creates a read-only token, lists it and revokes it', async () => {
    const made = await run(['create', '--name', 'agent', '--read-only'])
    expect([made.code, made.err]).toEqual([0, expect.stringContaining('Created the read-only token tok_')])
    const token = made.out.trim()
    expect(token).toMatch(/^lsu_/)
    const { appEnvId } = await platform.makeEnvironment()
    const ask = (method: string, pathname: string) =>
      platform.request(method, pathname, { token, input: { appEnvId } })
    expect((await ask('GET', '/app-env')).status).toBe(200)
    expect((await ask('POST', '/app-env/restart')).status).toBe(403)
    const listed = await run(['list'])
    const line = listed.out.split('\n').find((one) => one.includes('agent'))!
    expect(listed.out).toMatch(/^tokenId +name +readOnly/m)
    expect(line).toMatch(/agent +yes/)
    expect(listed.out).not.toContain('lsu_')
    expect((await run(['revoke', line.split('  ')[0]!])).code).toBe(0)
    expect((await ask('GET', '/app-env')).status).toBe(401)
  })

  it('creates a token that expires, at a time or in a number of days; its rotation keeps the expiry', async () => {
    const made = await run(['create', '--name', 'trial', '--expires-at', '2040-05-06T07:08:09Z'])
    expect(made.err).toContain('which expires at 2040-05-06T07:08:09.000Z')
    const trial = async () => (await run(['list'])).out.split('\n').filter((one) => / trial /.test(one))
    expect(await trial()).toEqual([expect.stringContaining('2040-05-06T07:08:09.000Z')])
    const rotated = await run(['rotate'], made.out.trim())
    expect([rotated.code, await trial()]).toEqual([0, [expect.stringContaining('2040-05-06T07:08:09.000Z')]])

    const before = Date.now()
    const inDays = JSON.parse((await run(['create', '--name', 'x', '--expires-at', '30d', '--json'])).out)
    const days = (Date.parse(inDays.expiresAt) - before) / 86_400_000
    expect([Math.floor(days), Math.round(days)]).toEqual([30, 30])
    const refused = await run(['create', '--name', 'x', '--expires-at', 'soon'])
    expect([refused.code !== 0, refused.err]).toEqual([
      true,
      expect.stringContaining('--expires-at: must be an ISO 8601 time with a time zone'),
    ])
  })

  it('creates no token when an option is mistyped', async () => {
    const ids = async () => (await run(['list'])).out.match(/tok_\w+/g)
    const before = await ids()
    expect((await run(['create', '--name', 'x', '--readonly'])).code).toBe(2)
    expect((await run(['create', '--read-only'])).code).toBe(2)
    expect(await ids()).toEqual(before)
  })

  it('rotates the local admin token in its file', async () => {
    const user = await platform.makeUser()
    const file = path.join(home, 'admin-token')
    writeFileSync(file, `${user.token}\n`)
    const rotated = await run(['rotate'], user.token)
    expect(rotated.code).toBe(0)
    expect(readFileSync(file, 'utf8')).toBe(rotated.out)
    const ask = (token: string) => platform.request('GET', '/user', { token })
    expect((await ask(user.token)).status).toBe(401)
    expect((await ask(rotated.out.trim())).json.userId).toBe(user.userId)
  })
})
