import { isUtf8 } from 'node:buffer'
import { isRpcMessage, type RequestId, type RpcMessage } from './json-rpc.ts'

/** The JSON-RPC error for input that is not a message, with its id if it has one. */
interface LineRefusal {
  jsonrpc: '2.0'
  id: RequestId | null
  error: { code: number; message: string }
}

interface MessageLinesOptions {
  accept(message: RpcMessage): void
  refuse(refusal: LineRefusal): void
  /** Whether the revision in use has batches. */
  takesBatches(): boolean
  /** Longer lines are skipped without being buffered. */
  longestBytes: number
}

/** Splits a stream of bytes into lines and messages. Splits batches, which old clients send. */
export class MessageLines {
  readonly #options: MessageLinesOptions
  #chunks: Buffer[] = []
  #size = 0

  constructor(options: MessageLinesOptions) {
    this.#options = options
  }

  push(chunk: Buffer): void {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      this.#keep(chunk.subarray(start, end))
      this.#endLine()
      start = end + 1
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start))
  }

  #keep(part: Buffer): void {
    this.#size += part.length
    if (this.#size > this.#options.longestBytes) this.#chunks = []
    else this.#chunks.push(part)
  }

  #endLine(): void {
    const isTooLong = this.#size > this.#options.longestBytes
    const bytes = Buffer.concat(this.#chunks)
    const line = bytes.toString('utf8').trim()
    this.#chunks = []
    this.#size = 0
    if (isTooLong) this.#refuse(-32600, `the line has more than ${this.#options.longestBytes} bytes`)
    else if (!isUtf8(bytes)) this.#refuse(-32700, 'the line is not UTF-8 text')
    else if (line !== '') this.#takeLine(line)
  }

  #takeLine(line: string): void {
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      this.#refuse(-32700, 'the line is not JSON')
      return
    }
    if (Array.isArray(value) && !this.#options.takesBatches()) {
      this.#refuse(-32600, 'this revision has no batches')
      return
    }
    const values = Array.isArray(value) && value.length > 0 ? (value as unknown[]) : [value]
    for (const one of values) {
      if (isRpcMessage(one)) this.#options.accept(one)
      else this.#refuse(-32600, 'the line is not a JSON-RPC 2.0 message', idOf(one))
    }
  }

  #refuse(code: number, message: string, id: RequestId | null = null): void {
    this.#options.refuse({ jsonrpc: '2.0', id, error: { code, message: `Invalid message: ${message}` } })
  }
}

/** Id of a malformed request, so that its caller does not wait forever. */
function idOf(value: unknown): RequestId | null {
  const { id } = (typeof value === 'object' && value !== null ? value : {}) as { id?: unknown }
  return typeof id === 'string' || typeof id === 'number' ? id : null
}
