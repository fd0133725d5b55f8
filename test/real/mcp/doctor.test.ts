import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FakeBackend, startFakeBackend } from '../../../testkit/fakes/backend.ts'

const token = 'lsu_doctor_token_that_is_never_printed'
let home: string
let backend: FakeBackend
const servers: Server[] = []

beforeEach(async () => {
  home = mkdtempSync(path.join(os.tmpdir(), 'longshore-doctor-'))
  backend = await startFakeBackend()
})
afterEach(async () => {
  for (const server of servers.splice(0)) server.close()
  await backend.close()
  rmSync(home, { recursive: true, force: true })
})

async function longshore(...words: string[]): Promise<{ code: number; out: string }> {
  const env = {
    HOME: home,
    PATH: process.env.PATH,
    LONGSHORE_HOME: path.join(home, 'data'),
    LONGSHORE_URL: backend.url,
    LONGSHORE_TOKEN: token,
  }
  const child = spawn(process.execPath, ['dist/longshore.js', 'mcp', ...words], { env })
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  expect(`${out}${err}`).not.toContain(token)
  return { code, out }
}

/** The entry as a person might have written it. */
function cursorHas(longshore: object): void {
  mkdirSync(path.join(home, '.cursor'), { recursive: true })
  writeFileSync(path.join(home, '.cursor/mcp.json'), JSON.stringify({ mcpServers: { longshore } }))
}

async function answering(status: number): Promise<string> {
  const server = createServer((_request, answer) => answer.writeHead(status).end('{"error":"Unauthorized"}'))
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('longshore mcp doctor', () => {
  it('connects as the host does and says what works', async () => {
    await longshore('install', '--host', 'cursor')
    const { code, out } = await longshore('doctor')
    expect(out).toMatch(
      /^Cursor: .*mcp\.json\n {2}ok: the file has an entry.*\n {2}ok: the server answers initialize after \d+ ms\n {2}ok: it lists \d\d tools\n {2}ok: a read reaches the platform with the token of this entry\n$/,
    )
    expect(code).toBe(0)
  })

  it('checks the server of this shell when no host has an entry', async () => {
    const { code, out } = await longshore('doctor')
    expect(out).toMatch(/^No MCP host has an entry for this server\. The server of this shell:\n {2}ok: /)
    expect(code).toBe(0)
  })

  it('says what a host lacks, when it is the chosen one', async () => {
    const { code, out } = await longshore('doctor', '--host', 'zed')
    expect(out).toContain('wrong: there is no such file. Run: longshore mcp install --host zed')
    expect(code).toBe(1)
  })

  it('names a program that is not on the PATH', async () => {
    cursorHas({ command: 'node-of-another-shell', args: ['longshore.js', 'mcp'] })
    const { code, out } = await longshore('doctor')
    expect(out).toContain('wrong: the program "node-of-another-shell" is not on the PATH')
    expect(out).toContain(process.execPath)
    expect(code).toBe(1)
  })

  it('shows the last output of a server that ended', async () => {
    cursorHas({ command: process.execPath, args: [path.join(home, 'moved/longshore.js'), 'mcp'] })
    const { code, out } = await longshore('doctor')
    expect(out).toContain('moved/longshore.js mcp')
    expect(out).toContain('Cannot find module')
    expect(code).toBe(1)
  })

  it('shows the error of the first read', async () => {
    await longshore('install', '--host', 'cursor')
    await backend.close()
    const { code, out } = await longshore('doctor', '--host', 'cursor')
    expect(out).toMatch(/ok: it lists \d+ tools\n {2}wrong: .*cannot be reached/)
    expect(out).not.toContain('..')
    expect(code).toBe(1)
  })

  it('tells an address that refuses the token from one where nothing answers', async () => {
    cursorHas({ url: `${await answering(401)}/mcp`, headers: { Authorization: `Bearer ${token}` } })
    const refused = await longshore('doctor')
    expect(refused.out).toContain('refuses the token of this entry')
    expect(refused.code).toBe(1)

    const url = await answering(200)
    for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve))
    cursorHas({ url: `${url}/mcp` })
    const gone = await longshore('doctor')
    expect(gone.out).toContain(`nothing answers at ${url}/mcp. Start the platform: longshore serve`)
    expect(gone.code).toBe(1)
  })
})
