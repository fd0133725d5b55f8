import { chmod } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { JsonLines, jsonLine } from '../../json-lines.ts'
import type { Log } from '../../log.ts'
import type { FromGateway, ToGateway } from './protocol.ts'

/** A control plane that does not read is disconnected when this much data is waiting. */
const maxWaitingBytes = 64 * 1024 * 1024

interface ControlEvents {
  /** Identification of this gateway. */
  hello(): FromGateway
  /** A control plane has completed the handshake; `build` is its build. */
  greeted(build: string): void
  message(message: ToGateway): void
  left(): void
}

/** The gateway's end of the link: one control plane at a time; a new one replaces the old one. */
export class ControlServer {
  readonly #server: Server
  readonly #events: ControlEvents
  readonly #log: Log
  readonly #sockets = new Set<Socket>()
  /** The connection of the latest handshake. */
  #current: Socket | null = null

  constructor(events: ControlEvents, log: Log) {
    this.#events = events
    this.#log = log
    this.#server = createServer((socket) => this.#accept(socket))
  }

  /** Whether a control plane is connected. */
  get linked(): boolean {
    return this.#current !== null
  }

  /** Only the owner of the installation may connect: the socket file gets mode 0600. */
  async listen(socketPath: string): Promise<void> {
    // The umask makes it private from the start; chmod alone would leave a gap.
    const before = process.umask(0o177)
    try {
      await new Promise<void>((resolve, reject) => {
        this.#server.once('error', reject)
        this.#server.listen(socketPath, () => resolve())
      })
    } finally {
      process.umask(before)
    }
    this.#server.on('error', (error) => this.#log.error({ err: error }, 'control socket failed'))
    await chmod(socketPath, 0o600)
  }

  send(message: FromGateway): void {
    const socket = this.#current
    if (!socket) return
    socket.write(jsonLine(message))
    if (socket.writableLength > maxWaitingBytes) socket.destroy()
  }

  /** Stops listening and removes the socket file; the current link stays. */
  stopListening(): void {
    this.#server.close()
  }

  close(): void {
    this.stopListening()
    for (const socket of this.#sockets) socket.destroySoon()
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket)
    const lines = new JsonLines<ToGateway>()
    socket.on('error', () => {})
    socket.on('data', (piece) => {
      try {
        for (const message of lines.read(piece)) this.#take(socket, message)
      } catch (error) {
        this.#log.error({ err: error }, 'invalid message from the control plane; closing the link')
        socket.destroy()
      }
    })
    socket.on('end', () => socket.destroySoon())
    socket.on('close', () => {
      this.#sockets.delete(socket)
      if (this.#current !== socket) return
      this.#current = null
      this.#events.left()
    })
  }

  /** Only a handshake makes a connection the control plane's; a probe has no effect. */
  #take(socket: Socket, message: ToGateway): void {
    if (message.type === 'hello') {
      socket.write(jsonLine(this.#events.hello()))
      if (message.probe) return
      const old = this.#current
      this.#current = socket
      if (old !== socket) old?.destroy()
      this.#events.greeted(message.build)
    } else if (this.#current === socket || message.type === 'shutdown') {
      this.#events.message(message)
    }
  }
}
