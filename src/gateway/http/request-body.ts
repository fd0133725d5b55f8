import { ChunkScanner } from './chunk-scanner.ts'
import type { RequestHead } from './request-head.ts'

/** Receiver of a request body. */
interface BodySink {
  requestPiece(piece: Buffer): void
  requestChunk(data: Buffer): void
}

/** An unneeded body is read to its end if at most this much is left. */
const maxDiscardBytes = 1024 * 1024

/** Finds the end of one request's body. */
export class RequestBody {
  readonly #scanner: ChunkScanner | null
  #left: number

  constructor(head: RequestHead) {
    this.#scanner = head.chunked ? new ChunkScanner() : null
    this.#left = head.bodyLength
  }

  get complete(): boolean {
    return this.#scanner ? this.#scanner.done : this.#left <= 0
  }

  /** Whether its end is known and near. */
  get endsSoon(): boolean {
    return !this.#scanner && this.#left <= maxDiscardBytes
  }

  /** Consumes the bytes of the body; returns the offset of the rest. Throws `BadChunk`. */
  read(data: Buffer, sink: BodySink): number {
    if (this.#scanner)
      return this.#scanner.scan(data, 0, (from, to) => sink.requestChunk(data.subarray(from, to)))
    const end = Math.min(this.#left, data.length)
    this.#left -= end
    sink.requestPiece(end === data.length ? data : data.subarray(0, end))
    return end
  }
}

/** Discards a body. */
export const nowhere: BodySink = { requestPiece() {}, requestChunk() {} }
