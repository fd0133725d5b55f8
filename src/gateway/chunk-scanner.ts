/** A chunked body that two readers could read in two ways. */
export class BadChunk extends Error {}

const maxSizeDigits = 12
const maxExtensionBytes = 1024
const maxTrailerBytes = 8 * 1024

/** Where in the coding the next byte is. */
enum At {
  Size,
  Extension,
  SizeLf,
  Data,
  DataCr,
  DataLf,
  TrailerStart,
  TrailerLine,
  TrailerLf,
  EndLf,
  Done,
}

/**
 * Follows a chunked body through pieces of any size: says where its data lies and where it ends. Strict: CRLF
 * only, plain hexadecimal sizes, bounded extensions and trailers, no control characters.
 */
export class ChunkScanner {
  #at: At = At.Size
  #size = 0
  #digits = 0
  #extra = 0

  get done(): boolean {
    return this.#at === At.Done
  }

  /**
   * Reads `piece` from `offset`; returns the offset after the last byte that belongs to the body. `onData` gets
   * the ranges of `piece` that are data. Throws `BadChunk`.
   */
  scan(piece: Buffer, offset: number, onData?: (from: number, to: number) => void): number {
    let position = offset
    while (position < piece.length && this.#at !== At.Done) {
      if (this.#at === At.Data) {
        const end = Math.min(piece.length, position + this.#size)
        onData?.(position, end)
        this.#size -= end - position
        position = end
        if (this.#size === 0) this.#at = At.DataCr
      } else {
        this.#step(piece[position]!)
        position++
      }
    }
    return position
  }

  #step(byte: number): void {
    switch (this.#at) {
      case At.Size:
        this.#sizeByte(byte)
        return
      case At.Extension:
        if (byte === 13) this.#at = At.SizeLf
        else this.#extraByte(byte, maxExtensionBytes)
        return
      case At.SizeLf:
        expect(byte, 10)
        this.#at = this.#size === 0 ? At.TrailerStart : At.Data
        this.#digits = 0
        this.#extra = 0
        return
      case At.DataCr:
        expect(byte, 13)
        this.#at = At.DataLf
        return
      case At.DataLf:
        expect(byte, 10)
        this.#at = At.Size
        return
      default:
        this.#trailerByte(byte)
    }
  }

  #sizeByte(byte: number): void {
    const digit = hexValue(byte)
    if (digit >= 0) {
      if (++this.#digits > maxSizeDigits) throw new BadChunk('chunk size too long')
      this.#size = this.#size * 16 + digit
      return
    }
    if (this.#digits === 0) throw new BadChunk('no chunk size')
    if (byte === 13) this.#at = At.SizeLf
    else if (byte === 0x3b) this.#at = At.Extension
    else throw new BadChunk('bad chunk size')
  }

  #trailerByte(byte: number): void {
    switch (this.#at) {
      case At.TrailerStart:
        if (byte === 13) this.#at = At.EndLf
        else {
          this.#at = At.TrailerLine
          this.#extraByte(byte, maxTrailerBytes)
        }
        return
      case At.TrailerLine:
        if (byte === 13) this.#at = At.TrailerLf
        else this.#extraByte(byte, maxTrailerBytes)
        return
      case At.TrailerLf:
        expect(byte, 10)
        this.#at = At.TrailerStart
        return
      default:
        expect(byte, 10)
        this.#at = At.Done
    }
  }

  #extraByte(byte: number, limit: number): void {
    if (++this.#extra > limit) throw new BadChunk('too long')
    if ((byte < 32 && byte !== 9) || byte === 127) throw new BadChunk('control character')
  }
}

function expect(byte: number, wanted: number): void {
  if (byte !== wanted) throw new BadChunk('line break expected')
}

function hexValue(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  if (byte >= 97 && byte <= 102) return byte - 87
  if (byte >= 65 && byte <= 70) return byte - 55
  return -1
}
