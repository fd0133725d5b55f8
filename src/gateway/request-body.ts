import { ChunkScanner } from './chunk-scanner.ts'
import type { RequestHead } from './request-head.ts'

/** Where the body of a request goes. */
export interface BodySink {
  requestPiece(piece: Buffer): void
  requestChunk(data: Buffer): void
}

/** A body that nobody waits for is read to its end when no more than this is left. */
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

  /** Its end is known and near. */
  get endsSoon(): boolean {
    return !this.#scanner && this.#left <= maxDiscardBytes
  }

  /** Takes what belongs to the body; returns where the rest begins. Throws `BadChunk`. */
  read(data: Buffer, sink: BodySink): number {
    if (this.#scanner)
      return this.#scanner.scan(data, 0, (from, to) => sink.requestChunk(data.subarray(from, to)))
    const end = Math.min(this.#left, data.length)
    this.#left -= end
    sink.requestPiece(end === data.length ? data : data.subarray(0, end))
    return end
  }
}

/** Takes what nobody wants any more. */
export const nowhere: BodySink = { requestPiece() {}, requestChunk() {} }
