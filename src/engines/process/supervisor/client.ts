import { addAbortListener } from 'node:events'
import { existsSync } from 'node:fs'
import type net from 'node:net'
import { AppError } from '../../../errors.ts'
import { EngineFailure } from '../../engine.ts'
import { makeEngineDirs } from '../engine-files.ts'
import { onJsonLine, sendJsonLine } from './json-lines.ts'
import { type SupervisorCommand, startAndConnect } from './launch.ts'
import {
  type Hello,
  protocolVersion,
  type Reply,
  type RequestBody,
  type StepRequest,
  type StepResult,
} from './protocol.ts'
import { tryConnect } from './socket.ts'
import { whileAlive } from './while-alive.ts'

/** A supervisor that is being killed may take connections for a moment yet, so one more try is not enough. */
const retries = 6
const retryPauseMs = 20
/** After this long without a reply the client sends a ping; the supervisor gets as long again to respond. */
const silenceMs = 5_000

type OnOutput = (stream: 'stdout' | 'stderr', message: string) => void

interface Pending {
  socket: net.Socket
  resolve(value: unknown): void
  reject(error: Error): void
  onOutput: OnOutput | null
}

class ConnectionLost extends Error {}

/** The engine's end of the socket. Starts the supervisor if it is not running, and again if it died. */
export class SupervisorClient {
  readonly #command: SupervisorCommand
  readonly #onChange: (name: string) => void
  #connecting: Promise<net.Socket> | null = null
  /** The current connection, after the handshake. */
  #established: net.Socket | null = null
  readonly #pending = new Map<number, Pending>()
  readonly #silenceMs: number
  #pid: number | null = null
  #nextId = 1
  #closed = false

  constructor(
    options: SupervisorCommand & {
      onChange: (name: string) => void
      /** For tests; a supervisor may be silent for twice this time. */
      silenceMs?: number
    },
  ) {
    this.#command = options
    this.#silenceMs = options.silenceMs ?? silenceMs
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
   * Every request is idempotent, so one interrupted by the supervisor's end is sent again. Throws `unavailable` if
   * the supervisor stays away or does not respond.
   */
  async ask<T>(desiredState: RequestBody): Promise<T> {
    for (let tries = 0; ; tries++) {
      try {
        const { socket, id, answer } = await this.#send(desiredState, null)
        return (await this.#whileAlive(socket, id, answer)) as T
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        if (tries < retries && !this.#closed) {
          await new Promise((resolve) => setTimeout(resolve, retryPauseMs * tries))
          continue
        }
        throw new AppError('unavailable', 'The process engine’s supervisor disconnected', {
          details: `The next call restarts it; see ${this.#command.files.supervisorLog}.`,
          cause: error,
        })
      }
    }
  }

  /** Runs a build step; `signal` cancels it. A step is never repeated: it may have done half its work. */
  async step(step: StepRequest, onOutput: OnOutput, signal: AbortSignal): Promise<StepResult> {
    await this.ask({ verb: 'hello' })
    const { id, socket, answer } = await this.#send({ verb: 'step', step }, onOutput)
    const cancel = () => sendJsonLine(socket, { id: this.#nextId++, verb: 'cancel-step', step: id })
    const stopping = addAbortListener(signal, cancel)
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
      stopping[Symbol.dispose]()
    }
  }

  async #send(
    desiredState: RequestBody,
    onOutput: OnOutput | null,
  ): Promise<{ id: number; socket: net.Socket; answer: Promise<unknown> }> {
    const socket = await this.#connection()
    return { socket, ...this.#request(socket, desiredState, onOutput) }
  }

  #request(
    socket: net.Socket,
    desiredState: RequestBody,
    onOutput: OnOutput | null,
  ): { id: number; answer: Promise<unknown> } {
    const id = this.#nextId++
    const answer = new Promise<unknown>((resolve, reject) => {
      if (socket.writable) this.#pending.set(id, { socket, resolve, reject, onOutput })
      else reject(new ConnectionLost('the supervisor disconnected'))
    })
    sendJsonLine(socket, { id, ...desiredState })
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
    const find = this.#pid ? '' : ` (PID: pgrep -f -- '--home ${this.#command.home}')`
    return new AppError('unavailable', 'The process engine’s supervisor does not answer', {
      details: `It is stopped or hangs. Continue it with \`kill -CONT ${pid}\`, or end it with \`kill -9 ${pid}\` (its containers end and are started again)${find}.`,
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
    makeEngineDirs(this.#command.files)
    const socket = (await tryConnect(this.#command.files.socket)) ?? (await startAndConnect(this.#command))
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
        details: `End it with \`kill ${pid}\` (its containers stop) and the new one starts automatically.`,
      })
    }
    // The socket closed since the reply arrived; its close event would find no connection to reset.
    if (socket.destroyed) throw new ConnectionLost('the supervisor disconnected')
    this.#established = socket
    return socket
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
      pending.reject(new ConnectionLost('the supervisor disconnected'))
    }
    // A connection that fails before the handshake is handled by the code that opens it.
    if (this.#established !== socket) return
    this.#established = null
    this.#connecting = null
    if (!this.#closed) void this.#reconnect()
  }

  /** A new supervisor ends the containers of the old one, which changes every container it lists. */
  async #reconnect(): Promise<void> {
    // Reconnecting would recreate a deleted data directory.
    if (!existsSync(this.#command.files.dir)) return
    this.#command.log.warn('lost the connection to the supervisor of the process engine; reconnecting')
    try {
      for (const record of await this.ask<{ name: string }[]>({ verb: 'list' })) this.#onChange(record.name)
    } catch (error) {
      // The next call tries again and reports the error to its caller.
      if (!this.#closed) this.#command.log.error({ err: error }, 'cannot reach the supervisor')
    }
  }
}
