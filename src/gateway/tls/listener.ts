import { constants, randomBytes } from 'node:crypto'
import { createServer as createPlainServer, type Server as PlainServer, type Socket } from 'node:net'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import { type Clock, every } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { mostClients } from '../../open-files.ts'
import type { Certificate, Challenge } from '../control/protocol.ts'
import type { ClientAddresses } from '../http/proxy-protocol.ts'
import { Http2Sessions } from '../http2/sessions.ts'
import { bindPort } from '../workers/bind-port.ts'
import { Certificates } from './certificates.ts'
import { asksForChallenge, readHello } from './client-hello.ts'

interface TlsListenerOptions {
  host: string
  /** 0 picks a free one. */
  port: number
  clock: Clock
  log: Log
  portPatienceMs?: number
  /** Serves a connection whose handshake is done, or a stream of one with HTTP/2. */
  accept(client: Socket, connection: TLSSocket): void
  addresses: ClientAddresses
}

const handshakeMs = 10_000
/** Tickets of the key before do not resume: their clients make a full handshake. */
const ticketKeyMs = 12 * 3_600_000
const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')
const common = {
  ciphers,
  minVersion: 'TLSv1.2',
  honorCipherOrder: true,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  handshakeTimeout: handshakeMs,
  // Half-open, as on the other port.
  allowHalfOpen: true,
} as const

/** The TLS port: opens with the first certificate, and chooses the certificate by the name in the handshake. */
export class TlsListener {
  readonly #options: TlsListenerOptions
  readonly #certificates: Certificates
  /** Those of TLS-ALPN-01, which only certificate authorities ask for. */
  readonly #challenges: Certificates
  readonly #clients: Server
  readonly #authorities: Server
  readonly #sessions: Http2Sessions
  #port: PlainServer | null = null
  #opening: Promise<void> | null = null
  #cancelRotation = () => {}
  #closed = false

  constructor(options: TlsListenerOptions) {
    this.#options = options
    const report = ({ names, problem }: { names: readonly string[]; problem: string }) =>
      options.log.error({ names, problem }, 'a certificate cannot be used; keeping the one before')
    this.#certificates = new Certificates(report)
    this.#challenges = new Certificates(report)
    this.#clients = tlsServer(this.#certificates, ['h2', 'http/1.1'])
    this.#sessions = new Http2Sessions(options.clock, options.accept)
    this.#clients.on('secureConnection', (socket) => {
      if (socket.alpnProtocol === 'h2') this.#sessions.accept(socket)
      else options.accept(socket, socket)
    })
    this.#authorities = tlsServer(this.#challenges, ['acme-tls/1'])
    this.#authorities.on('secureConnection', (socket) => socket.end())
  }

  /** The port; null while it is closed. */
  get port(): number | null {
    const address = this.#port?.listening ? this.#port.address() : null
    return typeof address === 'object' && address ? address.port : null
  }

  /** New connections get these certificates; open ones go on. */
  setCertificates(certificates: readonly Certificate[]): Promise<void> {
    this.#certificates.replaceAll(certificates)
    return this.#openOnce()
  }

  setChallenges(challenges: readonly Challenge[]): Promise<void> {
    this.#challenges.replaceAll(
      challenges.flatMap((one) => (one.type === 'tls-alpn-01' ? [{ ...one, names: [one.domain] }] : [])),
    )
    return this.#openOnce()
  }

  /** Stops accepting. */
  close(): void {
    this.#closed = true
    this.#cancelRotation()
    this.#port?.close()
    this.#sessions.drain()
  }

  async #openOnce(): Promise<void> {
    if ((this.#certificates.isEmpty && this.#challenges.isEmpty) || this.#closed) return
    this.#opening ??= this.#open().catch((error) => {
      this.#opening = null
      this.#options.log.error(
        { err: error },
        'the TLS port cannot be opened; retrying with the next certificates',
      )
    })
    await this.#opening
  }

  async #open(): Promise<void> {
    const { clock, log } = this.#options
    const port = createPlainServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      this.#options.addresses.arrive(socket, (rest) => {
        if (rest && rest.length > 0) socket.unshift(rest)
        this.#accept(socket)
      }),
    )
    port.maxConnections = mostClients()
    port.on('error', (error) => log.error({ err: error }, 'TLS listener failed'))
    this.#port = port
    await bindPort(port, this.#options)
    this.#cancelRotation = every(clock, ticketKeyMs, () => this.#clients.setTicketKeys(randomBytes(48)))
    if (this.#closed) this.close()
  }

  #accept(socket: Socket): void {
    if (this.#challenges.isEmpty) {
      this.#clients.emit('connection', socket)
      return
    }
    readHello(socket, this.#options.clock, (hello) => {
      const server = asksForChallenge(hello) ? this.#authorities : this.#clients
      server.emit('connection', socket)
    })
  }
}

function tlsServer(certificates: Certificates, protocols: string[]): Server {
  const server = createServer({
    ...common,
    ALPNProtocols: protocols,
    SNICallback: (name, done) => {
      const context = certificates.find(name.toLowerCase())
      if (context) done(null, context)
      else done(new Error('there is no certificate for this name'))
    },
  })
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  return server
}
