import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import type net from 'node:net'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { EngineFailure } from '../engine.ts'
import { type EngineFiles, makeEngineDirs } from './engine-files.ts'
import { onJsonLine, sendJsonLine } from './json-lines.ts'
import {
  type Hello,
  protocolVersion,
  type Reply,
  type StepRequest,
  type StepResult,
  type Wish,
} from './protocol.ts'
import { tail, tryConnect } from './supervisor-socket.ts'
import { whileAlive } from './while-alive.ts'

const startDeadlineMs = 10_000
const connectPeriodMs = 5
const firstLockPauseMs = 100
const longestLockPauseMs = 1_000
/** A supervisor that is being killed may take connections for a moment yet, so one more try is not enough. */
const retries = 6
const retryPauseMs = 20
/** An answer that takes longer than this is asked about; the supervisor is given as long again to say hello. */
const silenceMs = 5_000

type OnOutput = (stream: 'stdout' | 'stderr', message: string) => void

interface Pending {
  socket: net.Socket
  resolve(value: unknown): void
  reject(error: Error): void
  onOutput: OnOutput | null
}

class ConnectionLost extends Error {}

/** The engine's end of the socket: starts the supervisor when there is none, and again when it died. */
export class SupervisorClient {
  readonly #files: EngineFiles
  readonly #entry: readonly string[]
  readonly #home: string
  readonly #log: Log
  readonly #onChange: (name: string) => void
  #connecting: Promise<net.Socket> | null = null
  /** The connection in use, once it has said hello. */
  #established: net.Socket | null = null
  readonly #pending = new Map<number, Pending>()
  readonly #silenceMs: number
  #pid: number | null = null
  #nextId = 1
  #closed = false

  constructor(options: {
    files: EngineFiles
    home: string
    /** Command line of the supervisor without `--home <home>`. */
    entry: readonly string[]
    log: Log
    onChange: (name: string) => void
    /** For tests; twice this long a supervisor may say nothing at all. */
    silenceMs?: number
  }) {
    this.#silenceMs = options.silenceMs ?? silenceMs
    this.#files = options.files
    this.#home = options.home
    this.#entry = options.entry
    this.#log = options.log
    this.#onChange = options.onChange
  }

  async open(): Promise<void> {
    this.#closed = false
    await this.ask({ verb: 'hello' })
  }

  async close(): Promise<void> {
    this.#closed = true
    const socket = await this.#connecting?.catch(() => null)
    socket?.destroy()
    this.#connecting = null
  }

  /**
   * Every verb may be repeated, so one that was cut off by the supervisor's end is asked again. Throws `unavailable`
   * when the supervisor stays away, or is there and says nothing.
   */
  async ask<T>(wish: Wish): Promise<T> {
    for (let tries = 0; ; tries++) {
      try {
        const { socket, id, answer } = await this.#send(wish, null)
        return (await this.#whileAlive(socket, id, answer)) as T
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        if (tries < retries && !this.#closed) {
          await new Promise((resolve) => setTimeout(resolve, retryPauseMs * tries))
          continue
        }
        throw new AppError('unavailable', 'The process engine’s supervisor went away', {
          details: `It is started again by the next call; see ${this.#files.supervisorLog}.`,
          cause: error,
        })
      }
    }
  }

  /** Runs a build step; `signal` cancels it. A step is not repeated: it may have done half its work. */
  async step(step: StepRequest, onOutput: OnOutput, signal: AbortSignal): Promise<StepResult> {
    await this.ask({ verb: 'hello' })
    const { id, socket, answer } = await this.#send({ verb: 'step', step }, onOutput)
    const cancel = () => sendJsonLine(socket, { id: this.#nextId++, verb: 'cancel-step', step: id })
    signal.addEventListener('abort', cancel, { once: true })
    if (signal.aborted) cancel()
    try {
      return (await answer) as StepResult
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
      throw new EngineFailure(
        'interrupted',
        'The build was interrupted: its supervisor ended. Deploy again.',
        {
          cause: error,
        },
      )
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  async #send(
    wish: Wish,
    onOutput: OnOutput | null,
  ): Promise<{ id: number; socket: net.Socket; answer: Promise<unknown> }> {
    const socket = await this.#connection()
    return { socket, ...this.#request(socket, wish, onOutput) }
  }

  #request(
    socket: net.Socket,
    wish: Wish,
    onOutput: OnOutput | null,
  ): { id: number; answer: Promise<unknown> } {
    const id = this.#nextId++
    const answer = new Promise<unknown>((resolve, reject) => {
      if (socket.writable) this.#pending.set(id, { socket, resolve, reject, onOutput })
      else reject(new ConnectionLost('the supervisor went away'))
    })
    sendJsonLine(socket, { id, ...wish })
    return { id, answer }
  }

  #whileAlive(socket: net.Socket, id: number, answer: Promise<unknown>): Promise<unknown> {
    return whileAlive(answer, {
      silenceMs: this.#silenceMs,
      ask: () => {
        const hello = this.#request(socket, { verb: 'hello' }, null)
        return { answer: hello.answer, forget: () => this.#pending.delete(hello.id) }
      },
      silent: () => {
        this.#pending.delete(id)
        return this.#frozen()
      },
    })
  }

  #frozen(): AppError {
    const pid = this.#pid ?? 'PID'
    const find = this.#pid ? '' : ` (PID: pgrep -f -- '--home ${this.#home}')`
    return new AppError('unavailable', 'The process engine’s supervisor does not answer', {
      details: `It is stopped or hangs. Let it go on with \`kill -CONT ${pid}\`, or end it with \`kill -9 ${pid}\` (its containers end and are started again)${find}.`,
    })
  }

  #connection(): Promise<net.Socket> {
    if (this.#closed) throw new Error('the process engine is closed')
    if (!this.#connecting) {
      const connecting = this.#connect()
      this.#connecting = connecting
      connecting.catch(() => {
        if (this.#connecting === connecting) this.#connecting = null
      })
    }
    return this.#connecting
  }

  async #connect(): Promise<net.Socket> {
    makeEngineDirs(this.#files)
    const socket = (await tryConnect(this.#files.socket)) ?? (await this.#startAndConnect())
    socket.on('error', () => {})
    socket.once('close', () => this.#onLost(socket))
    onJsonLine(socket, (message) => this.#onReply(message as Reply))
    const { id, answer } = this.#request(socket, { verb: 'hello' }, null)
    const hello = await this.#whileAlive(socket, id, answer).catch((error: unknown) => {
      socket.destroy()
      throw error
    })
    const { protocol, pid } = hello as Hello
    this.#pid = pid
    if (protocol !== protocolVersion) {
      socket.destroy()
      throw new AppError('unavailable', 'The process engine’s supervisor is of another version', {
        details: `End it with \`kill ${pid}\` (its containers stop) and the new one starts by itself.`,
      })
    }
    // Closed since its answer came: nobody would hear of it any more.
    if (socket.destroyed) throw new ConnectionLost('the supervisor went away')
    this.#established = socket
    return socket
  }

  async #startAndConnect(): Promise<net.Socket> {
    let exitCode: number | null = null
    const start = () => {
      exitCode = null
      const child = this.#spawnSupervisor()
      child.once('exit', (code) => {
        exitCode = code ?? 1
      })
      child.once('error', () => {
        exitCode = 127
      })
    }
    start()
    let lockPauseMs = firstLockPauseMs
    for (const endMs = performance.now() + startDeadlineMs; performance.now() < endMs; ) {
      const socket = await tryConnect(this.#files.socket)
      if (socket) return socket
      if (exitCode !== null && exitCode !== 0) break
      await new Promise((resolve) => setTimeout(resolve, exitCode === 0 ? lockPauseMs : connectPeriodMs))
      // Code 0: another one holds the lock. It answers soon, or it was just dying and the lock is free now.
      if (exitCode === 0) {
        start()
        lockPauseMs = Math.min(lockPauseMs * 2, longestLockPauseMs)
      }
    }
    throw new AppError('unavailable', 'The process engine’s supervisor does not start', {
      details: `See ${this.#files.supervisorLog}.`,
      cause: new Error(`exit code ${exitCode}: ${tail(this.#files.supervisorLog)}`),
    })
  }

  /** A daemon: its own session, no terminal, nothing of the platform's environment but PATH. */
  #spawnSupervisor(): ChildProcess {
    const logFd = openSync(this.#files.supervisorLog, 'a', 0o600)
    try {
      const [program, ...rest] = this.#entry
      const child = spawn(program!, [...rest, '--home', this.#home], {
        detached: true,
        cwd: '/',
        // A small young generation: it reads /proc each second, and that garbage need not grow the heap.
        env: { PATH: process.env.PATH, NODE_OPTIONS: '--max-semi-space-size=1' },
        stdio: ['ignore', logFd, logFd],
      })
      child.unref()
      this.#log.info({ supervisorPid: child.pid }, 'started the supervisor of the process engine')
      return child
    } finally {
      closeSync(logFd)
    }
  }

  #onReply(reply: Reply): void {
    if ('changed' in reply) {
      this.#onChange(reply.changed)
      return
    }
    const pending = this.#pending.get(reply.id)
    if (!pending) return
    if ('output' in reply) {
      pending.onOutput?.(reply.output.stream, reply.output.message)
      return
    }
    this.#pending.delete(reply.id)
    if (reply.ok) pending.resolve(reply.value)
    else pending.reject(new Error(`supervisor: ${reply.error}`))
  }

  #onLost(socket: net.Socket): void {
    for (const [id, pending] of this.#pending) {
      if (pending.socket !== socket) continue
      this.#pending.delete(id)
      pending.reject(new ConnectionLost('the supervisor went away'))
    }
    // One that never said hello is the business of whoever is connecting.
    if (this.#established !== socket) return
    this.#established = null
    this.#connecting = null
    if (!this.#closed) void this.#reconnect()
  }

  /** A new supervisor ends what the old one left: that is a change of every container it lists. */
  async #reconnect(): Promise<void> {
    // A home that was deleted took its containers along and must not come back by itself.
    if (!existsSync(this.#files.dir)) return
    this.#log.warn('the supervisor of the process engine went away; connecting again')
    try {
      for (const record of await this.ask<{ name: string }[]>({ verb: 'list' })) this.#onChange(record.name)
    } catch (error) {
      // The next call tries again and tells its caller.
      if (!this.#closed) this.#log.error({ err: error }, 'cannot reach the supervisor')
    }
  }
}
