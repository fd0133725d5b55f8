import { constants, randomBytes } from 'node:crypto'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import { type Clock, every } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { mostClients } from '../../open-files.ts'
import type { Certificate } from '../control/protocol.ts'
import { bindPort } from '../workers/bind-port.ts'
import { Certificates } from './certificates.ts'

interface TlsListenerOptions {
  host: string
  /** 0 picks a free one. */
  port: number
  clock: Clock
  log: Log
  portPatienceMs?: number
  /** Serves a connection whose handshake is done. */
  accept(socket: TLSSocket): void
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

/** The TLS port: opens with the first certificate, and chooses the certificate by the name in the handshake. */
export class TlsListener {
  readonly #options: TlsListenerOptions
  readonly #certificates = new Certificates()
  #server: Server | null = null
  #opening: Promise<void> | null = null
  #cancelRotation = () => {}
  #closed = false

  constructor(options: TlsListenerOptions) {
    this.#options = options
  }

  /** The port; null while it is closed. */
  get port(): number | null {
    const address = this.#server?.listening ? this.#server.address() : null
    return typeof address === 'object' && address ? address.port : null
  }

  /** New connections get these certificates; open ones go on. */
  async setCertificates(certificates: readonly Certificate[]): Promise<void> {
    for (const { names, problem } of this.#certificates.replaceAll(certificates)) {
      this.#options.log.error({ names, problem }, 'a certificate cannot be used; keeping the one before')
    }
    if (this.#certificates.isEmpty || this.#closed) return
    this.#opening ??= this.#open().catch((error) => {
      this.#opening = null
      this.#options.log.error(
        { err: error },
        'the TLS port cannot be opened; retrying with the next certificates',
      )
    })
    await this.#opening
  }

  /** Stops accepting; resolves when the port is free. */
  close(): void {
    this.#closed = true
    this.#cancelRotation()
    this.#server?.close()
  }

  async #open(): Promise<void> {
    const { clock, log, accept } = this.#options
    const server = createServer({
      ALPNProtocols: ['http/1.1'],
      SNICallback: (name, done) => {
        const context = this.#certificates.find(name.toLowerCase())
        if (context) done(null, context)
        else done(new Error('there is no certificate for this name'))
      },
      ciphers,
      minVersion: 'TLSv1.2',
      honorCipherOrder: true,
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
      handshakeTimeout: handshakeMs,
      noDelay: true,
      // Half-open, as on the other port.
      allowHalfOpen: true,
    })
    server.maxConnections = mostClients()
    server.on('secureConnection', accept)
    server.on('tlsClientError', (_error, socket) => socket.destroy())
    server.on('error', (error) => log.error({ err: error }, 'TLS listener failed'))
    this.#cancelRotation = every(clock, ticketKeyMs, () => server.setTicketKeys(randomBytes(48)))
    this.#server = server
    await bindPort(server, this.#options)
    if (this.#closed) server.close()
  }
}
