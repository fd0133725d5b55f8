/** 1012, Service Restart: clients reconnect. */
export const restartFrame = Buffer.from([0x88, 0x02, 0x03, 0xf4])

const closeOpcode = 8
/** Two bytes, a length of up to eight, a mask of four. */
const longestHeader = 14

/** Follows the frames that one side of a WebSocket sends, because only between two of them another frame may follow. */
export class WebSocketFrames {
  readonly #header = Buffer.alloc(longestHeader)
  #headerBytes = 0
  #payloadLeft = 0
  /** The side sent its close frame. */
  closed = false

  /** The next byte begins a frame. */
  get isBetweenFrames(): boolean {
    return this.#headerBytes === 0 && this.#payloadLeft === 0
  }

  scan(piece: Buffer): void {
    let position = 0
    while (position < piece.length) {
      if (this.#payloadLeft > 0) {
        const taken = Math.min(this.#payloadLeft, piece.length - position)
        this.#payloadLeft -= taken
        position += taken
      } else {
        this.#header[this.#headerBytes++] = piece[position++]!
        if (this.#headerBytes >= 2 && this.#headerBytes === this.#headerLength) this.#begin()
      }
    }
  }

  get #headerLength(): number {
    const length = this.#header[1]! & 0x7f
    const mask = this.#header[1]! & 0x80 ? 4 : 0
    return 2 + mask + (length === 126 ? 2 : length === 127 ? 8 : 0)
  }

  #begin(): void {
    const length = this.#header[1]! & 0x7f
    this.#payloadLeft =
      length === 126
        ? this.#header.readUInt16BE(2)
        : length === 127
          ? Number(this.#header.readBigUInt64BE(2))
          : length
    if ((this.#header[0]! & 0x0f) === closeOpcode) this.closed = true
    this.#headerBytes = 0
  }
}
