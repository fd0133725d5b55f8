import { isRpcMessage, type RequestId, type RpcMessage } from './json-rpc.ts'

/** An answer to something that is no message: as JSON-RPC has it, with the id when one can be read. */
export interface LineRefusal {
  jsonrpc: '2.0'
  id: RequestId | null
  error: { code: number; message: string }
}

export interface MessageLinesOptions {
  accept(message: RpcMessage): void
  refuse(refusal: LineRefusal): void
  /** A line beyond this is no message of a host; it is passed over without being kept. */
  longestBytes: number
}

/** Cuts a stream of bytes into lines and these into messages; a batch, as old clients send it, is taken apart. */
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
    const line = Buffer.concat(this.#chunks).toString('utf8').trim()
    this.#chunks = []
    this.#size = 0
    if (isTooLong) this.#refuse(-32600, `a line has more than ${this.#options.longestBytes} bytes`)
    else if (line !== '') this.#takeLine(line)
  }

  #takeLine(line: string): void {
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      this.#refuse(-32700, 'a line is not JSON')
      return
    }
    const values = Array.isArray(value) && value.length > 0 ? (value as unknown[]) : [value]
    for (const one of values) {
      if (isRpcMessage(one)) this.#options.accept(one)
      else this.#refuse(-32600, 'a line is not a JSON-RPC 2.0 message', idOf(one))
    }
  }

  #refuse(code: number, message: string, id: RequestId | null = null): void {
    this.#options.refuse({ jsonrpc: '2.0', id, error: { code, message: `Not understood: ${message}` } })
  }
}

/** Id of a request that is malformed otherwise, so that its caller does not wait for ever. */
function idOf(value: unknown): RequestId | null {
  const { id } = (typeof value === 'object' && value !== null ? value : {}) as { id?: unknown }
  return typeof id === 'string' || typeof id === 'number' ? id : null
}
