import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { mcpHosts } from '../../../src/client/mcp-hosts.ts'
import { runCli } from '../../../src/server/commands/run-cli.ts'

const token = `lsu_${'a'.repeat(49)}`
let home: string
beforeEach(() => {
  home = mkdtempSync(path.join(os.tmpdir(), 'longshore-hosts-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

async function install(words: string[], settings: Record<string, string> = {}) {
  const output = { out: '', err: '' }
  const io = {
    stdout: { write: (text: string) => (output.out += text) },
    stderr: { write: (text: string) => (output.err += text) },
    onInterrupt: () => () => {},
  }
  const env = { HOME: home, PATH: home, LONGSHORE_HOME: path.join(home, 'data'), ...settings }
  const code = await runCli(['mcp', 'install', ...words], env, io as never)
  return { code, ...output }
}

const zed = () => path.join(home, '.config/zed/settings.json')
const cursor = () => path.join(home, '.cursor/mcp.json')

describe('longshore mcp install', () => {
  it('makes the file of a host that has none, for its owner alone', async () => {
    expect((await install(['--host', 'cursor', '--read-only'])).code).toBe(0)
    const { mcpServers } = JSON.parse(readFileSync(cursor(), 'utf8'))
    expect(mcpServers.longshore).toEqual({
      command: 'node',
      args: [expect.stringMatching(/\/dist\/longshore\.js$/), 'mcp', '--read-only'],
      env: { LONGSHORE_HOME: path.join(home, 'data') },
    })
    expect(statSync(cursor()).mode & 0o777).toBe(0o600)
  })

  it('enters the settings of the shell that the server needs, and no secret but the token it acts with', async () => {
    const masterKey = 'a'.repeat(64)
    const settings = {
      LONGSHORE_PORT: '4711',
      LONGSHORE_ENGINE: 'process',
      LONGSHORE_TOKEN: token,
      LONGSHORE_MASTER_KEY: masterKey,
      LONGSHORE_DATABASE_URL: 'postgres://u:p4ssw0rd@db.example.com/longshore',
      LONGSHORE_SMTP_URL: '',
    }
    const { err, out } = await install(['--host', 'cursor'], settings)
    const text = readFileSync(cursor(), 'utf8')
    expect(JSON.parse(text).mcpServers.longshore.env).toEqual({
      LONGSHORE_HOME: path.join(home, 'data'),
      LONGSHORE_PORT: '4711',
      LONGSHORE_ENGINE: 'process',
      LONGSHORE_TOKEN: token,
    })
    expect(err).toContain(
      'Not entered, because they are secrets: LONGSHORE_MASTER_KEY, LONGSHORE_DATABASE_URL.',
    )
    expect(err).toContain('LONGSHORE_TOKEN is entered as plain text')
    expect(`${text}${err}${out}`).not.toMatch(new RegExp(`${masterKey}|p4ssw0rd`))
    expect(`${err}${out}`).not.toContain(token)

    const url = { ...settings, LONGSHORE_URL: 'https://ops.example.com' }
    expect((await install(['--host', 'cursor'], url)).err).not.toContain('LONGSHORE_MASTER_KEY')
    expect(JSON.parse(readFileSync(cursor(), 'utf8')).mcpServers.longshore.env).toEqual({
      LONGSHORE_URL: 'https://ops.example.com',
      LONGSHORE_TOKEN: token,
    })
  })

  it('keeps comments and other servers, keeps a copy, and never enters itself twice', async () => {
    const before =
      '{\n  // mine\n  "theme": "One",\n  "context_servers": { "other": { "command": "x" } },\n}\n'
    mkdirSync(path.dirname(zed()), { recursive: true })
    writeFileSync(zed(), before)
    await install(['--host', 'zed'])
    await install(['--host', 'zed', '--tools', 'apps,logs'], {
      LONGSHORE_URL: 'https://ops.example.com/api/public/v1',
      LONGSHORE_TOKEN: token,
    })
    const after = readFileSync(zed(), 'utf8')
    expect(after).toContain('// mine')
    expect(after).toContain('"other": {')
    expect(after.match(/"longshore"/g)).toHaveLength(1)
    expect(after).toContain('"LONGSHORE_URL": "https://ops.example.com"')
    expect(after).toContain('--tools=apps,logs')
    expect(readFileSync(`${zed()}.before-longshore`, 'utf8')).toBe(before)

    const again = await install(['--host', 'zed', '--tools', 'apps,logs'], {
      LONGSHORE_URL: 'https://ops.example.com',
      LONGSHORE_TOKEN: token,
    })
    expect(again.err).toContain('has this entry already')
    expect(again.err + again.out).not.toContain(token)
  })

  it('leaves a file alone that is no JSON, and says on which line', async () => {
    mkdirSync(path.dirname(cursor()), { recursive: true })
    writeFileSync(cursor(), '{\n  "mcpServers": {\n')
    const { code, err } = await install(['--host', 'cursor'])
    expect(code).toBe(1)
    expect(err).toMatch(/mcp\.json line 3: CloseBraceExpected/)
    expect(readFileSync(cursor(), 'utf8')).toBe('{\n  "mcpServers": {\n')
    expect(readdirSync(path.dirname(cursor()))).toEqual(['mcp.json'])
  })

  it('uses the command of a host that has one, else prints it', async () => {
    const printed = await install(['--host', 'claude-code'])
    expect(printed.err).toContain('not installed here')
    expect(printed.out).toMatch(/^claude mcp add --scope user .* longshore .*-- node .* mcp\n$/)

    writeFileSync(path.join(home, 'claude'), `#!/bin/sh\nprintf '%s\\n' "$@" > ${home}/words\n`, {
      mode: 0o755,
    })
    expect((await install(['--host', 'claude-code'], { PATH: `${home}:${process.env.PATH}` })).code).toBe(0)
    expect(readFileSync(path.join(home, 'words'), 'utf8')).toContain(
      `--env\nLONGSHORE_HOME=${home}/data\n--\nnode\n`,
    )
  })

  it('runs the published package with npx where it was not installed in a folder', () => {
    const to = { url: 'http://127.0.0.1:4400', token, folder: null, flags: ['--read-only'] }
    const { longshore } = JSON.parse(mcpHosts.cursor!.stdio(to)).mcpServers
    expect(longshore).toMatchObject({ command: 'npx', args: ['-y', 'longshore', 'mcp', '--read-only'] })
    expect(mcpHosts['claude-code']!.stdio(to)).toMatch(/ -- npx -y longshore mcp --read-only$/)
    expect(mcpHosts.codex!.stdio(to)).toContain(
      'command = "npx"\nargs = ["-y","longshore","mcp","--read-only"]',
    )
  })

  it('prints and changes nothing with --print; refuses a host or an option that it does not know', async () => {
    const printed = await install(['--host', 'vscode', '--print'])
    expect(JSON.parse(printed.out).servers.longshore.type).toBe('stdio')
    expect(readdirSync(home)).toEqual([])
    expect((await install(['--host', 'emacs'])).err).toContain('claude-code')
    expect((await install(['--host', 'cursor', '--read-onli'])).code).toBe(2)
    expect((await install(['--host', 'cursor', '--tools', 'nonsense'])).err).toContain('There are:')
    expect((await install([])).err).toContain('--host <host> is required')
  })
})
