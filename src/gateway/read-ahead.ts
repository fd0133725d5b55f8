/** Bytes read ahead of their use (body before a container is assigned, pipelined requests) before reading pauses. */
const maxBytes = 64 * 1024

/** What has been read of a connection and is not used yet. */
export class ReadAhead {
  #pieces: Buffer[] = []
  bytes = 0

  /** Enough: no more should be read. */
  get isFull(): boolean {
    return this.bytes >= maxBytes
  }

  keep(piece: Buffer): void {
    this.#pieces.push(piece)
    this.bytes += piece.length
  }

  /** Forgets what was kept, and keeps `piece` if there is one. */
  replace(piece: Buffer | null): void {
    this.#pieces = piece ? [piece] : []
    this.bytes = piece ? piece.length : 0
  }

  /** All of it and `piece`; it stays kept. */
  followedBy(piece: Buffer): Buffer {
    return this.bytes > 0 ? Buffer.concat([...this.#pieces, piece]) : piece
  }

  /** All of it, in order; nothing is left. */
  take(): Buffer {
    const data = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces)
    this.replace(null)
    return data
  }
}
