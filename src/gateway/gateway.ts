import { stat, unlink } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import path from 'node:path'
import { type Clock, every } from '../clock.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import { ClientConnection, type ProxyContext } from './client-connection.ts'
import { ControlServer } from './control-server.ts'
import type { FromGateway, ToGateway } from './gateway-link.ts'
import { RouteTable } from './route-table.ts'
import type { EnvironmentHost } from './served-environment.ts'

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
}

export interface Gateway {
  host: string
  port: number
  /** Stops accepting, lets requests in flight finish (bounded), ends. Twice is once. */
  shutdown(reason: string): void
  /** Resolves when it has ended. */
  closed: Promise<void>
}

const sweepMs = 100
const homeCheckMs = 2_000
const trafficMs = 1_000

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
  readonly #table: RouteTable
  readonly #context: ProxyContext
  readonly #timers: (() => void)[] = []
  #resolveClosed: () => void = () => {}
  #muted = false
  #ended = false

  constructor(options: GatewayOptions) {
    this.#options = options
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve
    })
    const host: EnvironmentHost = {
      clock: options.clock,
      clockScale: options.clockScale,
      linked: () => this.#control.linked,
      report: (message) => this.#report(message),
    }
    this.#table = new RouteTable(host)
    this.#context = { clock: options.clock, table: this.#table, connections: new Set(), draining: false }
    // Half-open: a WebSocket's sides end one by one, and an answer outlives the end of what the client sends.
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
      new ClientConnection(socket, this.#context)
    })
    this.#control = new ControlServer(
      {
        hello: () => this.#hello(),
        greeted: (build) => {
          if (build !== options.build) this.shutdown('control plane of another build')
        },
        message: (message) => this.#take(message),
        left: () => options.log.info('control plane left; serving on'),
      },
      options.log,
    )
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
    await listenOn(this.#server, options)
    try {
      await freeSocketPath(options)
      await this.#control.listen(options.socketPath)
    } catch (error) {
      this.#server.close()
      throw error
    }
    this.#server.on('error', (error) => options.log.error({ err: error }, 'listener failed'))
    await this.#startTimers()
  }

  shutdown(reason: string): void {
    if (this.#context.draining) return
    this.#context.draining = true
    this.#options.log.info({ reason }, 'gateway leaves when its requests are done')
    // First the control socket, which removes its file, then the port: a successor that gets the port finds no
    // file of ours in its way and makes its own.
    this.#control.stopListening()
    this.#server.close(() => this.#end())
    for (const connection of this.#context.connections) connection.drain()
    const drainMs = (this.#options.drainSeconds ?? 30) * 1000
    this.#timers.push(
      this.#options.clock.after(drainMs, () => {
        for (const connection of this.#context.connections) connection.break()
      }),
    )
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    for (const cancel of this.#timers) cancel()
    this.#control.close()
    for (const environment of this.#table.all()) environment.remove()
    this.#resolveClosed()
  }

  async #startTimers(): Promise<void> {
    const { clock, clockScale, log } = this.#options
    const home = this.#options.home ?? path.dirname(this.#options.socketPath)
    const identity = await identityOf(home)
    const scaleMs = Math.min(1000, Math.max(10, 1000 / clockScale))
    this.#timers.push(
      every(clock, sweepMs, () => this.#sweep()),
      every(clock, scaleMs, () => this.#evaluateAwake()),
      every(clock, trafficMs, () => this.#sendTraffic()),
      every(clock, homeCheckMs, async () => {
        if ((await identityOf(home)) === identity) return
        log.warn('the home folder is gone')
        this.shutdown('home gone')
      }),
    )
  }

  #hello(): FromGateway {
    const { build, clockScale } = this.#options
    return { type: 'hello', build, pid: process.pid, host: this.host, port: this.port, clockScale }
  }

  #take(message: ToGateway): void {
    switch (message.type) {
      case 'routes':
        // The whole state is told afterwards; saying its parts before would say them twice.
        this.#muted = true
        try {
          this.#table.replaceAll(message.routes)
        } finally {
          this.#muted = false
        }
        for (const environment of this.#table.all()) environment.tellAgain()
        return
      case 'route':
        this.#table.put(message.route)
        return
      case 'route-gone':
        this.#table.drop(message.appEnvId)
        return
      case 'start-failed':
        this.#table.get(message.appEnvId)?.startFailed(message.message)
        return
      case 'shutdown':
        this.shutdown('asked by the control plane')
        return
    }
  }

  #report(message: FromGateway): void {
    if (!this.#muted) this.#control.send(message)
  }

  #sweep(): void {
    const nowMs = this.#options.clock.monotonicMs()
    for (const connection of this.#context.connections) connection.sweep(nowMs)
  }

  #evaluateAwake(): void {
    for (const environment of this.#table.all()) if (environment.awake) environment.evaluate()
  }

  #sendTraffic(): void {
    const nowMs = this.#options.clock.monotonicMs()
    for (const environment of this.#table.all()) environment.sweep(nowMs)
    if (!this.#control.linked) return
    const samples = []
    for (const environment of this.#table.all()) {
      const sample = environment.takeSample()
      if (sample) samples.push(sample)
    }
    if (samples.length > 0) this.#control.send({ type: 'traffic', samples })
  }
}

async function listenOn(server: Server, options: GatewayOptions): Promise<void> {
  const { clock, host, port } = options
  const untilMs = clock.monotonicMs() + (options.portPatienceMs ?? 0)
  for (;;) {
    try {
      return await listenOnce(server, host, port)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'EADDRINUSE' || clock.monotonicMs() >= untilMs) throw portProblem(code, host, port, error)
    }
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

function listenOnce(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error) => reject(error)
    server.once('error', failed)
    server.listen({ host, port, backlog: 4096 }, () => {
      server.off('error', failed)
      resolve()
    })
  })
}

function portProblem(code: string | undefined, host: string, port: number, cause: unknown): AppError {
  const details = 'Stop what uses it, or set LONGSHORE_GATEWAY_PORT to a free port.'
  if (code === 'EADDRINUSE') {
    return new AppError('unavailable', `port ${port} is already taken on ${host}`, { details, cause })
  }
  if (code === 'EACCES') {
    return new AppError('unavailable', `port ${port} needs more rights than this user has`, {
      details: 'Set LONGSHORE_GATEWAY_PORT to a port above 1023.',
      cause,
    })
  }
  return new AppError('unavailable', `the gateway cannot listen on ${host} port ${port}`, {
    details: 'Set LONGSHORE_HOST to an address of this machine and LONGSHORE_GATEWAY_PORT to a free port.',
    cause,
  })
}

/** A socket file nobody answers at is left over from a crash and may go; a live one belongs to another gateway. */
async function freeSocketPath(options: GatewayOptions): Promise<void> {
  const { clock, socketPath } = options
  const untilMs = clock.monotonicMs() + (options.portPatienceMs ?? 0)
  while (await answersAt(socketPath)) {
    if (clock.monotonicMs() >= untilMs) {
      throw new AppError('unavailable', 'another gateway serves this installation', {
        details: 'Stop it first: it listens on another port or belongs to another start of the platform.',
      })
    }
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  await unlink(socketPath).catch(() => {})
}

function answersAt(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(socketPath)
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', () => resolve(false))
  })
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
