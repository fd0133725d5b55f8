import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCli } from '../../../src/server/run-cli.ts'
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
    expect(made.code).toBe(0)
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

  it('creates no token when an option is mistyped', async () => {
    const before = (await run(['list'])).out
    expect((await run(['create', '--name', 'x', '--readonly'])).code).toBe(2)
    expect((await run(['create', '--read-only'])).code).toBe(2)
    expect((await run(['list'])).out).toBe(before)
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
