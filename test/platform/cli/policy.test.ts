import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCli } from '../../../src/server/commands/run-cli.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { removeFolder } from '../../../testkit/remove-folder.ts'

let platform: TestPlatform
const home = mkdtempSync(path.join(tmpdir(), 'longshore-policy-'))
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(async () => {
  await platform.close()
  removeFolder(home)
})

async function run(...argv: string[]) {
  const said = { out: '', err: '' }
  const io = {
    stdout: { write: (text: string) => (said.out += text) },
    stderr: { write: (text: string) => (said.err += text) },
    onInterrupt: () => () => {},
  }
  const env = {
    LONGSHORE_URL: platform.apiUrl,
    LONGSHORE_TOKEN: platform.admin.token,
    LONGSHORE_HOME: home,
  }
  const code = await runCli(argv, env, io as never)
  return { code, ...said }
}

function fileOf(text: string): string {
  const file = path.join(home, 'policy.yaml')
  writeFileSync(file, text)
  return file
}

describe('longshore policy', () => {
  it('sets a starting policy, shows it, and puts it in force', async () => {
    expect((await run('policy', 'set', 'careful')).out).toContain('observed: nothing is stopped')
    expect((await run('policy', 'show')).out).toMatch(/ask {3}data-loss/)
    expect((await run('policy', 'enforce')).out).toContain('in force')
    const refused = await run('policy', 'set', fileOf('rules: [{ id: a, effect: deny }]'))
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('keep every admin')])
    expect((await run('policy', 'set', 'open')).code).toBe(0)
  })

  it('tests a policy without a platform', async () => {
    const good = fileOf(
      'policy: careful\ncalls:\n  - { name: loses data, operation: delete-app-env, impact: { dataLost: true }, expect: ask }\n  - { name: changes, operation: update-app-env, expect: allow }\n',
    )
    const tested = await run('policy', 'test', good)
    expect([tested.code, tested.out]).toEqual([0, expect.stringContaining('✓ loses data: ask by data-loss')])
    const wrong = fileOf('policy: open\ncalls: [{ operation: delete-app-env, expect: deny }]')
    expect((await run('policy', 'test', wrong)).code).toBe(1)
    const unknown = fileOf('rules: [{ id: a, effect: deny, on: { operations: [delete-nothing] } }]')
    const refused = await run('policy', 'test', unknown)
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('rules[0].on.operations[0]')])
  })

  it('shows what the writes of the last days would have met', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const made = await platform.request('POST', '/user/tokens', {
      token: platform.admin.token,
      input: { name: 'a', kind: 'agent' },
    })
    const set = [{ name: 'A', value: '1', isSecret: false }]
    const done = await platform.request('PATCH', '/app-env/variables', {
      token: made.json.token,
      input: { appEnvId, set },
    })
    expect(done.status).toBe(200)
    await run('policy', 'set', 'reviewed')
    const shown = await run('policy', 'show')
    expect(shown.out).toMatch(/would hold 1 and deny 0/)
    expect(shown.out).toContain(`update-app-env-variables ${appEnvId}: ask by agents-propose`)
    await run('policy', 'set', 'open')
  })

  it('pauses and resumes agents, and lists them', async () => {
    expect((await run('agents', 'pause')).out).toContain('Agents are paused')
    expect((await run('agents', 'resume')).out).toContain('may write again')
    expect((await run('agents', 'list')).out).toMatch(/^tokenId +agent/m)
  })
})
