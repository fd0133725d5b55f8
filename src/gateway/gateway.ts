import { stat } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import path from 'node:path'
import { type Clock, every } from '../clock.ts'
import type { Log } from '../log.ts'
import { ControlServer } from './control-server.ts'
import { Crew } from './crew.ts'
import type { FromGateway, ToGateway } from './gateway-link.ts'
import { Serving } from './serving.ts'
import { freeSocketPath, takePort } from './take-port.ts'

export interface GatewayOptions {
  /** Unix socket for the control plane; at most about 107 bytes. */
  socketPath: string
  /** The gateway leaves when this folder goes away. Default: the folder of `socketPath`. */
  home?: string
  /** Where requests are taken; port 0 picks a free one. */
  host: string
  port: number
  clockScale: number
  build: string
  log: Log
  clock: Clock
  /** How long requests in flight may go on after `shutdown`, in seconds. Default 30. */
  drainSeconds?: number
  /** How long to wait for a taken port to become free, for the predecessor is leaving. Default 0. */
  portPatienceMs?: number
  /** How many processes serve, this one included. Default 1. */
  processes?: number
  /** Script and arguments of the others, which run `crewMember`; needed with more than one process. */
  memberCommand?: readonly string[]
}

export interface Gateway {
  host: string
  port: number
  /** Stops accepting, lets requests in flight finish (bounded), ends. Twice is once. */
  shutdown(reason: string): void
  /** Resolves when it has ended. */
  closed: Promise<void>
}

const homeCheckMs = 2_000

/**
 * Serves requests until told to leave. Needs a control plane only for news: without one it goes on with the
 * routes it last heard. Throws an `AppError` when the port or the socket cannot be had.
 */
export async function runGateway(options: GatewayOptions): Promise<Gateway> {
  const running = new RunningGateway(options)
  await running.start()
  return running
}

class RunningGateway implements Gateway {
  readonly closed: Promise<void>
  readonly #options: GatewayOptions
  readonly #server: Server
  readonly #control: ControlServer
  readonly #serving: Serving
  readonly #crew: Crew
  readonly #timers: (() => void)[] = []
  #resolveClosed: () => void = () => {}

  constructor(options: GatewayOptions) {
    this.#options = options
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve
    })
    this.#serving = new Serving({
      clock: options.clock,
      clockScale: options.clockScale,
      linked: () => this.#control.linked,
      report: (message) => this.#control.send(message),
      elsewhere: (name) => this.#crew.elsewhere(name),
    })
    this.#crew = new Crew({
      processes: options.processes ?? 1,
      command: options.memberCommand ?? [],
      clock: options.clock,
      log: options.log,
      own: {
        take: (news) => this.#serving.take(news),
        serves: (appEnvId) => this.#serving.table.get(appEnvId) !== undefined,
        accept: (socket, read) => this.#serving.accept(socket, read),
      },
      report: (message) => this.#control.send(message),
    })
    // Half-open: a WebSocket's sides end one by one, and an answer outlives the end of what the client sends.
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) =>
      this.#serving.accept(socket),
    )
    this.#control = this.#controlServer()
  }

  get host(): string {
    return this.#options.host
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address ? address.port : this.#options.port
  }

  async start(): Promise<void> {
    const options = this.#options
    await takePort(this.#server, options)
    try {
      await this.#crew.start()
      await freeSocketPath(options.socketPath, options)
      await this.#control.listen(options.socketPath)
    } catch (error) {
      this.#server.close()
      await this.#crew.leave(0)
      throw error
    }
    this.#server.on('error', (error) => options.log.error({ err: error }, 'listener failed'))
    this.#serving.startTimers()
    await this.#watchHome()
  }

  shutdown(reason: string): void {
    if (this.#serving.draining) return
    this.#options.log.info({ reason }, 'gateway leaves when its requests are done')
    const drainMs = (this.#options.drainSeconds ?? 30) * 1000
    // First the control socket, which removes its file, then the port: a successor that gets the port finds no
    // file of ours in its way and makes its own.
    this.#control.stopListening()
    const accepted = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#serving.drain(drainMs)
    this.#crew.drain()
    void this.#end(accepted, drainMs)
  }

  async #end(accepted: Promise<void>, drainMs: number): Promise<void> {
    await accepted
    await this.#serving.emptied()
    await this.#crew.leave(drainMs)
    // A member may have passed its last connections back.
    await this.#serving.emptied()
    for (const cancel of this.#timers) cancel()
    this.#control.close()
    this.#serving.stop()
    this.#resolveClosed()
  }

  async #watchHome(): Promise<void> {
    const { clock, log } = this.#options
    const home = this.#options.home ?? path.dirname(this.#options.socketPath)
    const identity = await identityOf(home)
    const look = async () => {
      if ((await identityOf(home)) === identity) return
      log.warn('the home folder is gone')
      this.shutdown('home gone')
    }
    this.#timers.push(every(clock, homeCheckMs, look))
  }

  #controlServer(): ControlServer {
    const { build, log } = this.#options
    const events = {
      hello: () => this.#hello(),
      greeted: (theirs: string) => {
        this.#crew.setLinked(true)
        if (theirs !== build) this.shutdown('control plane of another build')
      },
      message: (message: ToGateway) => this.#take(message),
      left: () => {
        this.#crew.setLinked(false)
        log.info('control plane left; serving on')
      },
    }
    return new ControlServer(events, log)
  }

  #hello(): FromGateway {
    const { build, clockScale, processes = 1 } = this.#options
    return { type: 'hello', build, pid: process.pid, host: this.host, port: this.port, clockScale, processes }
  }

  #take(message: ToGateway): void {
    if (message.type === 'shutdown') this.shutdown('asked by the control plane')
    else if (message.type !== 'hello') this.#crew.take(message)
  }
}

/** Tells one folder from another of the same path; null when there is none. */
async function identityOf(folder: string): Promise<string | null> {
  try {
    const { dev, ino } = await stat(folder)
    return `${dev}:${ino}`
  } catch {
    return null
  }
}
