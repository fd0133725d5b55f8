import { type ChildProcess, spawn } from 'node:child_process'
import { request } from 'node:http'
import { type Clock, sleep } from '../clock.ts'
import { AppError } from '../errors.ts'
import { findLocalInstallation } from './local-installation.ts'

export interface LocalPlatformOptions {
  home: string
  /** The command that serves as a child: it ends when its standard input ends. */
  command: readonly [string, ...string[]]
  env: NodeJS.ProcessEnv
  clock: Clock
  /** How long a start may take, in milliseconds. Default 60,000. */
  startMs?: number
}

/** How one child ended up: serving at an address, or gone with a reason. */
type Started = { api: string } | { gone: string }

/**
 * The platform of this machine: the one that runs on the home, or one started as a child of this process, which
 * ends with it. Several processes may do this at once; the home's lock lets one win, and the others find it.
 */
export class LocalPlatform {
  readonly #options: LocalPlatformOptions
  #child: ChildProcess | undefined
  #starting: Promise<string> | undefined

  constructor(options: LocalPlatformOptions) {
    this.#options = options
  }

  /** Address of the REST API, starting a platform when none answers. Calls at the same time share one start. */
  ensure(): Promise<string> {
    this.#starting ??= this.#findOrStart().finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  /** Lets the child end: it drains and leaves by itself when its standard input closes. */
  release(): void {
    this.#child?.stdin?.end()
    this.#child?.unref()
    this.#child = undefined
  }

  async #findOrStart(): Promise<string> {
    const { clock, home, startMs = 60_000 } = this.#options
    const deadlineMs = clock.monotonicMs() + startMs
    for (let failures = 0; ; ) {
      const found = await findLocalInstallation(home)
      if (found !== null && (await answers(found.url))) return found.url
      const started = await this.#startChild(deadlineMs - clock.monotonicMs())
      if ('api' in started) return started.api
      // Somebody else may hold the home, still starting or still leaving; else the start itself is broken.
      const other = await findLocalInstallation(home)
      if (other === null) failures += 1
      if (failures >= 3 || clock.monotonicMs() >= deadlineMs) throw startError(started.gone)
      await sleep(clock, 300)
    }
  }

  #startChild(limitMs: number): Promise<Started> {
    this.release()
    const { command, env, home, clock } = this.#options
    const [program, ...args] = command
    const child = spawn(program, args, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...env, LONGSHORE_HOME: home },
    })
    this.#child = child
    // The child may be gone when its input is closed.
    child.stdin?.on('error', () => {})
    return new Promise((resolve) => {
      const cancel = clock.after(Math.max(0, limitMs), () => done({ gone: 'it took too long' }))
      const done = (started: Started) => {
        cancel()
        if ('gone' in started && this.#child === child) this.release()
        resolve(started)
      }
      child.once('error', (error) => done({ gone: error.message }))
      child.once('exit', (code, signal) => done({ gone: `it ended with ${signal ?? `code ${code}`}` }))
      onReadyLine(child, (api) => done({ api }))
    })
  }
}

/** `serve` prints one line of JSON when it is ready; whatever follows is read and dropped. */
function onReadyLine(child: ChildProcess, ready: (api: string) => void): void {
  let text = ''
  let isReady = false
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    if (isReady) return
    text += chunk
    for (const line of text.split('\n').slice(0, -1)) {
      const api = apiOf(line)
      if (api === null) continue
      isReady = true
      ready(api)
      return
    }
  })
}

function apiOf(line: string): string | null {
  try {
    const { api } = JSON.parse(line) as { api?: unknown }
    return typeof api === 'string' ? api : null
  } catch {
    return null
  }
}

/** Whether something accepts requests there: any answer counts. */
function answers(api: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = request(new URL('/healthz', api), { timeout: 2_000 }, (answer) => {
      answer.resume()
      resolve(true)
    })
    probe.once('timeout', () => probe.destroy())
    probe.once('error', () => resolve(false))
    probe.end()
  })
}

function startError(why: string): AppError {
  return new AppError('unavailable', 'The platform could not be started', {
    details: `"longshore serve" was not ready: ${why}; its reason stands on standard error of this server. Run "longshore serve" in a terminal to see it, or set LONGSHORE_URL to a platform that runs.`,
  })
}
