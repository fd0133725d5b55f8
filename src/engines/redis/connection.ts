import net from 'node:net'
import type { Writable } from 'node:stream'
import { type DatabaseSpec, EngineFailure } from '../engine.ts'

/** No server is silent for this long: while it prepares a dump it sends an empty line every ten seconds. */
const silenceMs = 120_000

/** One connection to a Redis server on 127.0.0.1, in Redis' own protocol. */
export class RedisConnection {
  readonly #socket: net.Socket
  readonly #chunks: AsyncIterator<Buffer>
  #buffer: Buffer = Buffer.alloc(0)

  private constructor(socket: net.Socket) {
    this.#socket = socket
    this.#chunks = socket[Symbol.asyncIterator]()
  }

  /** Connected and authenticated. */
  static async open(database: DatabaseSpec, signal: AbortSignal): Promise<RedisConnection> {
    const port = database.ports[0]!.hostPort
    signal.throwIfAborted()
    const socket = net.connect({ host: '127.0.0.1', port, signal })
    // The next read or write reports it.
    socket.on('error', () => {})
    socket.setTimeout(silenceMs, () => socket.destroy(new Error('the server stopped responding')))
    const connection = new RedisConnection(socket)
    await connection.ask('AUTH', database.password)
    return connection
  }

  close(): void {
    this.#socket.destroy()
  }

  async ask(...words: (string | Buffer)[]): Promise<string> {
    await this.send(words)
    return this.answer()
  }

  /** Waits while the server is slow to read. */
  async send(words: readonly (string | Buffer)[]): Promise<void> {
    const chunks: Buffer[] = [Buffer.from(`*${words.length}\r\n`)]
    for (const word of words) {
      const bytes = typeof word === 'string' ? Buffer.from(word) : word
      chunks.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'))
    }
    if (this.#socket.write(Buffer.concat(chunks))) return
    await drained(this.#socket).catch((cause) => {
      throw ended(cause)
    })
  }

  /** The next reply; for a multi-line reply only its length. Throws the server's errors. */
  async answer(): Promise<string> {
    let line = ''
    // Empty lines only mean that the server is alive.
    while (line === '') line = await this.#line()
    if (line.startsWith('-')) throw new EngineFailure('database', `Redis answered: ${line.slice(1, 300)}`)
    return line
  }

  /** Copies the next `length` bytes into `sink` with back-pressure. */
  async copy(length: number, sink: Writable): Promise<void> {
    let left = length
    while (left > 0) {
      if (this.#buffer.length === 0) await this.#more()
      const part = this.#buffer.subarray(0, left)
      this.#buffer = this.#buffer.subarray(part.length)
      left -= part.length
      if (!sink.write(part)) await drained(sink)
    }
  }

  async #line(): Promise<string> {
    for (;;) {
      const end = this.#buffer.indexOf('\n')
      if (end >= 0) {
        const line = this.#buffer.toString('latin1', 0, end).replace(/\r$/, '')
        this.#buffer = this.#buffer.subarray(end + 1)
        return line
      }
      await this.#more()
    }
  }

  async #more(): Promise<void> {
    let next: IteratorResult<Buffer>
    try {
      next = await this.#chunks.next()
    } catch (cause) {
      throw ended(cause)
    }
    if (next.done) throw ended()
    this.#buffer = this.#buffer.length === 0 ? next.value : Buffer.concat([this.#buffer, next.value])
  }
}

function ended(cause?: unknown): EngineFailure {
  return new EngineFailure('database', 'The connection to Redis ended too early.', { cause })
}

/** Resolves when `sink` accepts more data; rejects if it never will. */
export function drained(sink: Writable): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = () => {
      sink.off('close', lost)
      resolve()
    }
    const lost = () => {
      sink.off('drain', done)
      reject(sink.errored ?? new Error('the copy was closed'))
    }
    if (sink.destroyed) return lost()
    sink.once('drain', done)
    sink.once('close', lost)
  })
}
