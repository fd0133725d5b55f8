import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { type Client, createClient } from '../../src/client/client.ts'
import { freePort } from '../free-port.ts'
import { removeFolder } from '../remove-folder.ts'

const entry = path.resolve('dist/longshore.js')

interface ReadyLine {
  api: string
  mcp: string
  gateway: string
  engine: string
  home: string
  accountId: string
  adminTokenFile: string
  console: string
  signInUrl: string | null
}

/** An installation as a user runs it: the built command, its own data directory, free ports. */
export class Installation {
  readonly home = mkdtempSync(path.join(os.tmpdir(), 'longshore-test-'))
  readonly #env: NodeJS.ProcessEnv
  #child: ChildProcess | null = null
  #ready: ReadyLine | null = null
  /** Kept over restarts; empty before the first start. */
  readonly #ports: NodeJS.ProcessEnv = {}
  stderr = ''
  /** The program for later starts: this build, or another one. */
  program = entry

  constructor(env: NodeJS.ProcessEnv = {}) {
    const inherited = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !name.startsWith('LONGSHORE_')),
    )
    this.#env = {
      ...inherited,
      LONGSHORE_HOME: this.home,
      // Tests and benches send more than people and agents do.
      LONGSHORE_RATE_LIMITS: 'off',
      ...env,
    }
  }

  get ready(): ReadyLine {
    if (!this.#ready) throw new Error('not started')
    return this.#ready
  }

  /** An environment variable it is started with. */
  setting(name: string): string | undefined {
    return this.#env[name]
  }

  get token(): string {
    return this.#env.LONGSHORE_BOOTSTRAP_TOKEN ?? readFileSync(this.ready.adminTokenFile, 'utf8').trim()
  }

  /**
   * Starts `serve` and resolves at its ready line; API and gateway keep their ports over restarts. `env` holds for
   * this start alone.
   */
  async start(env: NodeJS.ProcessEnv = {}): Promise<ReadyLine> {
    this.#ports.LONGSHORE_PORT ??= String(await freePort())
    this.#ports.LONGSHORE_GATEWAY_PORT ??= String(await freePort())
    const child = spawn(process.execPath, [this.program, 'serve'], {
      env: { ...this.#ports, ...this.#env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    return new Promise((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`serve ended with ${code}: ${this.stderr}`)))
      createInterface({ input: child.stdout }).once('line', (line) => {
        const ready: ReadyLine = JSON.parse(line)
        this.#ready = ready
        resolve(ready)
      })
    })
  }

  /** Ends the control plane with a signal and resolves when it is gone. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null
    const gone = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
    child.kill(signal)
    return gone
  }

  /** Stops the control plane's process as it is (SIGSTOP), or lets it go on (SIGCONT). */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.kill(signal)
  }

  client(token = this.token): Client {
    return createClient({ url: this.ready.api, token, surface: 'cli' })
  }

  /** One request through the gateway, by `Host`. */
  request(host: string, pathname = '/'): Promise<{ status: number; body: string }> {
    const { hostname, port } = new URL(this.ready.gateway)
    return new Promise((resolve, reject) => {
      const request = http.get({ hostname, port, path: pathname, headers: { host } }, (answer) => {
        let body = ''
        answer.setEncoding('utf8').on('data', (text: string) => {
          body += text
        })
        answer.once('end', () => resolve({ status: answer.statusCode ?? 0, body }))
        answer.once('error', reject)
      })
      request.once('error', reject)
    })
  }

  /** Ends everything: control plane, containers, gateway; removes the home. */
  async dispose(): Promise<void> {
    await this.end('SIGTERM')
    await new Promise<void>((resolve) => {
      const stop = spawn(process.execPath, [this.program, 'stop'], { env: this.#env, stdio: 'ignore' })
      stop.once('exit', () => resolve())
    })
    removeFolder(this.home)
  }
}
