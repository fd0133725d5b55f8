/** Limit of buffered bytes (body before a container is assigned, pipelined requests) before reading pauses. */
const maxBytes = 64 * 1024

/** Data that has been read from a connection and is not used yet. */
export class ReadAhead {
  #pieces: Buffer[] = []
  bytes = 0

  /** Whether reading must pause. */
  get isFull(): boolean {
    return this.bytes >= maxBytes
  }

  keep(piece: Buffer): void {
    this.#pieces.push(piece)
    this.bytes += piece.length
  }

  /** Discards the buffer and stores `piece`, if there is one. */
  replace(piece: Buffer | null): void {
    this.#pieces = piece ? [piece] : []
    this.bytes = piece ? piece.length : 0
  }

  /** The buffer followed by `piece`; the buffer is kept. */
  followedBy(piece: Buffer): Buffer {
    return this.bytes > 0 ? Buffer.concat([...this.#pieces, piece]) : piece
  }

  /** The whole buffer in order; it is empty afterwards. */
  take(): Buffer {
    const data = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces)
    this.replace(null)
    return data
  }
}
