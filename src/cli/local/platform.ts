import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, createReadStream, fstatSync, openSync, renameSync, statSync } from 'node:fs'
import { request } from 'node:http'
import path from 'node:path'
import { type Clock, sleep } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { lockHolder } from '../../lock-holder.ts'
import { makeFolder } from '../../make-folder.ts'
import { findLocalInstallation } from './installation.ts'

interface LocalPlatformOptions {
  home: string
  /** The command of `longshore serve`. */
  command: readonly [string, ...string[]]
  env: NodeJS.ProcessEnv
  clock: Clock
  /** How long a start may take, in milliseconds. Default 60,000. */
  startMs?: number
}

const lookMs = 50
/** A log larger than this is rotated at the next start; one older log is kept. */
const longestLogBytes = 10 * 1024 * 1024

/**
 * The platform of this machine: the running one of the data directory, or one started in the background, which outlives
 * this process. Several processes may do this at once; the lock of the data directory lets one platform start, and all use
 * that one.
 */
export class LocalPlatform {
  readonly #options: LocalPlatformOptions
  #starting: Promise<string> | undefined

  constructor(options: LocalPlatformOptions) {
    this.#options = options
  }

  /** Address of the REST API; starts a platform if none answers. Concurrent calls share one start. */
  ensure(): Promise<string> {
    this.#starting ??= this.#findOrStart().finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  async #findOrStart(): Promise<string> {
    const { clock, home, startMs = 60_000 } = this.#options
    const deadlineMs = clock.monotonicMs() + startMs
    for (let failures = 0; ; ) {
      const found = await this.#find()
      if (found !== null) return found
      const isLate = clock.monotonicMs() >= deadlineMs
      const holder = lockHolder(home)
      if (holder !== null) {
        // Another process is starting or stopping a platform: wait for the outcome.
        if (isLate) throw startError(`process ${holder} holds ${home} but does not answer`)
        await sleep(clock, lookMs)
        continue
      }
      const started = await this.#start(deadlineMs)
      if ('api' in started) return started.api
      // Another process was faster, or the start failed.
      if (lockHolder(home) === null) failures += 1
      if (failures >= 3 || isLate) throw startError(started.gone, started.logFile)
      await sleep(clock, 300)
    }
  }

  async #find(): Promise<string | null> {
    const found = await findLocalInstallation(this.#options.home)
    return found !== null && (await answers(found.url)) ? found.url : null
  }

  /** Starts a platform in the background and waits until it, or a faster one, answers. */
  async #start(deadlineMs: number): Promise<{ api: string } | { gone: string; logFile: string }> {
    const { clock, home } = this.#options
    const { file: logFile, descriptor } = openLog(home)
    const from = fstatSync(descriptor).size
    const { child, end } = this.#spawn(descriptor)
    closeSync(descriptor)
    for (;;) {
      const found = await this.#find()
      if (found !== null) return { api: found }
      const gone = end()
      if (gone !== null || clock.monotonicMs() >= deadlineMs) {
        child.kill()
        await copyToStandardError(logFile, from)
        return { gone: gone ?? 'it took too long', logFile }
      }
      await sleep(clock, lookMs)
    }
  }

  /** In its own session and without inherited pipes, so that signals and closed pipes of the host do not affect it. */
  #spawn(log: number): { child: ChildProcess; end(): string | null } {
    const { command, env, home } = this.#options
    const [program, ...args] = command
    const child = spawn(program, args, {
      detached: true,
      stdio: ['ignore', 'ignore', log],
      env: { ...env, LONGSHORE_HOME: home },
    })
    let gone: string | null = null
    child.once('error', (error) => {
      gone = error.message
    })
    child.once('exit', (code, signal) => {
      gone = `it ended with ${signal ?? `code ${code}`}`
    })
    child.unref()
    return { child, end: () => gone }
  }
}

/** Opens the log of a background platform, readable by its owner only. */
function openLog(home: string): { file: string; descriptor: number } {
  const folder = path.join(home, 'run')
  const file = path.join(folder, 'serve.log')
  try {
    makeFolder(folder)
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
    if (size > longestLogBytes) renameSync(file, `${file}.1`)
    return { file, descriptor: openSync(file, 'a', 0o600) }
  } catch (cause) {
    throw new AppError('unavailable', 'The platform could not be started', {
      details: `${file} cannot be written (${(cause as NodeJS.ErrnoException).code}). Set LONGSHORE_HOME to a folder that you own.`,
      cause,
    })
  }
}

/** Copies the log of a failed start to standard error, where MCP hosts show it. */
async function copyToStandardError(file: string, from: number): Promise<void> {
  for await (const chunk of createReadStream(file, { start: from })) process.stderr.write(chunk as Buffer)
}

/** Whether a server answers at this address; any response counts. */
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

function startError(why: string, logFile?: string): AppError {
  const reason = logFile === undefined ? '' : `; see ${logFile}`
  return new AppError('unavailable', 'The platform could not be started', {
    details: `"longshore serve" was not ready: ${why}${reason}. Run "longshore serve" in a terminal to see the problem, or set LONGSHORE_URL to a running platform.`,
  })
}
