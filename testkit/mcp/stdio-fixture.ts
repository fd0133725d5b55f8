import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { ClientCapabilities } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { type FakeBackend, startFakeBackend } from '../fakes/backend.ts'
import { removeFolder } from '../remove-folder.ts'

interface Run {
  child: ChildProcess
  send(message: unknown): void
  /** All output so far. */
  out(): string
  err(): string
  exit: Promise<number | null>
}

/** `longshore mcp` as a host starts it, beside a fake platform and with a data directory of its own in each test. */
export class StdioFixture {
  home = ''
  backend!: FakeBackend
  #command = ''
  readonly #children: ChildProcess[] = []
  readonly #clients: Client[] = []

  constructor() {
    let dist = ''
    beforeAll(() => {
      dist = mkdtempSync(path.join(os.tmpdir(), 'longshore-mcp-dist-'))
      // Packages that the bundle leaves out are found beside it.
      symlinkSync(path.resolve('node_modules'), path.join(dist, 'node_modules'))
      writeFileSync(path.join(dist, 'package.json'), '{"type":"module"}')
      execFileSync(process.execPath, ['build.mjs', path.join(dist, 'dist'), 'testkit/mcp/entry.ts'])
      this.#command = path.join(dist, 'dist', 'longshore.js')
    })
    afterAll(() => removeFolder(dist))
    beforeEach(async () => {
      this.home = mkdtempSync(path.join(os.tmpdir(), 'longshore-mcp-'))
      this.backend = await startFakeBackend()
      this.backend.state.add({ name: 'prod' })
    })
    afterEach(async () => {
      for (const client of this.#clients.splice(0)) await client.close()
      for (const child of this.#children.splice(0)) child.kill('SIGKILL')
      this.#endPlatform()
      await this.backend.close()
      removeFolder(this.home)
    })
  }

  /** The environment of a host that uses the fake platform. */
  readonly remote = () => ({ LONGSHORE_URL: this.backend.url, LONGSHORE_TOKEN: 'lsu_stdio' })
  readonly local = () => ({ LONGSHORE_HOME: this.home })

  async connect(
    env: Record<string, string>,
    args: string[] = [],
    capabilities: ClientCapabilities = {},
  ): Promise<Client> {
    const client = new Client({ name: 'test', version: '1' }, { capabilities })
    this.#clients.push(client)
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [this.#command, 'mcp', ...args],
        env: { PATH: process.env.PATH!, ...env },
        stderr: 'ignore',
      }),
    )
    return client
  }

  run(env: Record<string, string>, args: string[] = []): Run {
    const child = spawn(process.execPath, [this.#command, 'mcp', ...args], {
      env: { PATH: process.env.PATH!, ...env },
    })
    this.#children.push(child)
    let out = ''
    let err = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      err += text
    })
    return {
      child,
      send: (message) => void child.stdin.write(`${JSON.stringify(message)}\n`),
      out: () => out,
      err: () => err,
      exit: new Promise((resolve) => child.once('close', (code) => resolve(code))),
    }
  }

  /** A platform that `longshore mcp` started keeps running without it. */
  #endPlatform(): void {
    const file = path.join(this.home, 'run', 'lock')
    const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
    if (pid > 0 && isAlive(pid)) process.kill(pid, 'SIGKILL')
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

export const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}
export const call = (id: number, name: string, args: unknown) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})
