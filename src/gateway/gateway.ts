import { stat } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import path from 'node:path'
import type { TLSSocket } from 'node:tls'
import { type Clock, every } from '../clock.ts'
import type { Log } from '../log.ts'
import { TrustedProxies } from '../trusted-proxies.ts'
import type { FromGateway, ToGateway } from './control/protocol.ts'
import type { RequestLogMode } from './control/request-record.ts'
import { ControlServer } from './control/server.ts'
import { ClientAddresses } from './http/proxy-protocol.ts'
import { TlsListener } from './tls/listener.ts'
import { bindPort, freeSocketPath } from './workers/bind-port.ts'
import { ProxyServer } from './workers/proxy-server.ts'
import { WorkerPool } from './workers/worker-pool.ts'

interface GatewayOptions {
  /** Unix socket for the control plane; at most about 107 bytes. */
  socketPath: string
  /** The gateway shuts down when this folder is removed. Default: the folder of `socketPath`. */
  home?: string
  /** Address for requests; port 0 picks a free one. */
  host: string
  port: number
  clockScale: number
  /** Default `off`. */
  requestLog?: RequestLogMode
  /** Peers whose headers about the client are believed. Default: none. */
  trustedProxies?: readonly string[]
  /** Those peers begin connections with a header of the PROXY protocol. Default false. */
  proxyProtocol?: boolean
  build: string
  log: Log
  clock: Clock
  /** Port for TLS, which opens with the first certificate; 0 picks a free one. Default: none. */
  tlsPort?: number | null
  /** How long requests in flight may continue after `shutdown`, in seconds. Default 30. */
  drainSeconds?: number
  /** How long to wait for a port that an exiting predecessor still uses. Default 0. */
  portPatienceMs?: number
  /** Number of processes, including this one. Default 1. */
  processes?: number
  /** Script and arguments of the other processes, which run `worker`; required for more than one process. */
  memberCommand?: readonly string[]
}

export interface Gateway {
  host: string
  port: number
  /** Null while there is no certificate. */
  tlsPort: number | null
  /** Stops accepting, lets requests in flight finish (bounded), then exits. A second call has no effect. */
  shutdown(reason: string): void
  /** Resolves when it has shut down. */
  closed: Promise<void>
}

const homeCheckMs = 2_000

/**
 * Serves requests until shut down. Needs the control plane only for updates: without one it continues with its last
 * routes. Throws an `AppError` if the port or the socket is unavailable.
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
  readonly #serving: ProxyServer
  readonly #workers: WorkerPool
  readonly #tls: TlsListener | null
  readonly #timers: (() => void)[] = []
  readonly #addresses: ClientAddresses
  #resolveClosed: () => void = () => {}

  constructor(options: GatewayOptions) {
    this.#options = options
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve
    })
    const trusted = options.proxyProtocol ? new TrustedProxies(options.trustedProxies) : null
    this.#addresses = new ClientAddresses(options.clock, trusted)
    this.#serving = new ProxyServer({
      clock: options.clock,
      clockScale: options.clockScale,
      requestLog: options.requestLog ?? 'off',
      trustedProxies: options.trustedProxies ?? [],
      tlsPort: () => this.tlsPort,
      linked: () => this.#control.linked,
      report: (message) => this.#control.send(message),
      elsewhere: (name) => this.#workers.elsewhere(name),
    })
    this.#workers = new WorkerPool({
      processes: options.processes ?? 1,
      bridgePath: path.join(path.dirname(options.socketPath), 'bridge'),
      command: options.memberCommand ?? [],
      clock: options.clock,
      log: options.log,
      own: {
        take: (news) => this.#serving.take(news),
        serves: (appEnvId) => this.#serving.table.get(appEnvId) !== undefined,
        accept: (socket, read, peer) => this.#serving.accept(socket, read, peer),
      },
      report: (message) => this.#control.send(message),
    })
    // Half-open: the sides of a WebSocket end separately, and a response may continue after the client's side ended.
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) =>
      this.#addresses.arrive(socket, (rest) => {
        const address = this.#addresses.of(socket)
        this.#serving.accept(socket, rest ?? undefined, { address, proto: 'http' })
        if (rest) socket.resume()
      }),
    )
    this.#tls = this.#tlsListener()
    this.#control = this.#controlServer()
  }

  get host(): string {
    return this.#options.host
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address ? address.port : this.#options.port
  }

  get tlsPort(): number | null {
    return this.#tls?.port ?? null
  }

  async start(): Promise<void> {
    const options = this.#options
    await bindPort(this.#server, options)
    try {
      await this.#workers.start()
      await freeSocketPath(options.socketPath, options)
      await this.#control.listen(options.socketPath)
    } catch (error) {
      this.#server.close()
      await this.#workers.leave(0)
      throw error
    }
    this.#server.on('error', (error) => options.log.error({ err: error }, 'listener failed'))
    this.#serving.startTimers()
    await this.#watchHome()
  }

  shutdown(reason: string): void {
    if (this.#serving.draining) return
    this.#options.log.info({ reason }, 'the gateway exits when its requests are done')
    const drainMs = (this.#options.drainSeconds ?? 30) * 1000
    // Close the control socket first, which removes its file, then the port: a successor that gets the port then
    // finds no old socket file and creates its own.
    this.#control.stopListening()
    this.#tls?.close()
    const accepted = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#serving.drain(drainMs)
    this.#workers.drain()
    void this.#end(accepted, drainMs)
  }

  async #end(accepted: Promise<void>, drainMs: number): Promise<void> {
    await accepted
    await this.#serving.emptied()
    await this.#workers.leave(drainMs)
    // A worker may have passed its last connections back.
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
      log.warn('the data directory is gone')
      this.shutdown('data directory gone')
    }
    this.#timers.push(every(clock, homeCheckMs, look))
  }

  #tlsListener(): TlsListener | null {
    const { tlsPort: port, ...options } = this.#options
    if (port === undefined || port === null) return null
    const accept = (client: Socket, connection: TLSSocket) => {
      const address = this.#addresses.of(connection)
      this.#serving.accept(client, undefined, { address, proto: 'https' })
    }
    return new TlsListener({ ...options, port, accept, addresses: this.#addresses })
  }

  #controlServer(): ControlServer {
    const { build, log } = this.#options
    const events = {
      hello: () => this.#hello(),
      greeted: (theirs: string) => {
        this.#workers.setLinked(true)
        if (theirs !== build) this.shutdown('control plane of another build')
      },
      message: (message: ToGateway) => this.#take(message),
      left: () => {
        this.#workers.setLinked(false)
        log.info('control plane disconnected; still serving')
      },
    }
    return new ControlServer(events, log)
  }

  #hello(): FromGateway {
    const { build, clockScale, processes = 1, requestLog = 'off' } = this.#options
    const { trustedProxies = [], proxyProtocol = false, tlsPort = null } = this.#options
    const { host, port } = this
    return {
      type: 'hello',
      build,
      pid: process.pid,
      host,
      port,
      clockScale,
      processes,
      requestLog,
      trustedProxies,
      proxyProtocol,
      tlsPort,
    }
  }

  #take(message: ToGateway): void {
    if (message.type === 'shutdown') this.shutdown('requested by the control plane')
    else if (message.type === 'certificates') void this.#tls?.setCertificates(message.certificates)
    else if (message.type !== 'hello') {
      if (message.type === 'challenges') void this.#tls?.setChallenges(message.challenges)
      this.#workers.take(message)
    }
  }
}

/** Distinguishes a folder from a later one with the same path; null if it does not exist. */
async function identityOf(folder: string): Promise<string | null> {
  try {
    const { dev, ino } = await stat(folder)
    return `${dev}:${ino}`
  } catch {
    return null
  }
}
