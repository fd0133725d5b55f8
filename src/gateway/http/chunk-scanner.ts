/** An ambiguous chunked body, which two readers could parse differently. */
export class BadChunk extends Error {}

const maxSizeDigits = 12
const maxExtensionBytes = 1024
const maxTrailerBytes = 8 * 1024
const colon = 0x3a

/** The position of the next byte in the chunked coding. */
enum At {
  Size,
  Extension,
  SizeLf,
  Data,
  DataCr,
  DataLf,
  TrailerStart,
  TrailerName,
  TrailerValue,
  TrailerLf,
  EndLf,
  Done,
}

/**
 * Parses a chunked body from chunks of any size and finds its data and its end. Strict: CRLF only, plain hexadecimal
 * sizes, bounded extensions, bounded trailers of the form `name: value`, no control characters.
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
   * Scans `piece` from `offset` and returns the offset after the last byte of the body. `onData` receives the data
   * ranges of `piece`. Throws `BadChunk`.
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
          if (!isTokenByte(byte)) throw new BadChunk('no trailer name')
          this.#at = At.TrailerName
          this.#extraByte(byte, maxTrailerBytes)
        }
        return
      case At.TrailerName:
        if (byte === colon) this.#at = At.TrailerValue
        else if (!isTokenByte(byte)) throw new BadChunk('no colon in a trailer')
        this.#extraByte(byte, maxTrailerBytes)
        return
      case At.TrailerValue:
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

/** Whether a header name may contain the byte. */
function isTokenByte(byte: number): boolean {
  return /[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(String.fromCharCode(byte))
}
