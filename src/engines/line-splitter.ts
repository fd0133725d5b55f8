import { cutMark, longestLine } from '../domain/environments/log-lines.ts'

const keptBytes = longestLine - Buffer.byteLength(cutMark)

/** Splits chunks of bytes into lines in bounded memory: only the first 8 KiB of a long line are kept. */
export class LineSplitter {
  readonly #onLine: (line: string) => void
  #held: Buffer[] = []
  #heldBytes = 0
  #cutting = false

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine
  }

  push(chunk: Buffer): void {
    let from = 0
    for (;;) {
      const end = chunk.indexOf(10, from)
      if (end < 0) break
      this.#hold(chunk.subarray(from, end))
      this.#emit()
      from = end + 1
    }
    if (from < chunk.length) this.#hold(chunk.subarray(from))
  }

  /** Emits the last line if it had no line feed. */
  end(): void {
    if (this.#heldBytes > 0 || this.#cutting) this.#emit()
  }

  #hold(part: Buffer): void {
    const room = longestLine - this.#heldBytes
    if (part.length > room) this.#cutting = true
    const kept = part.subarray(0, room)
    if (kept.length === 0) return
    // A copy: a view would keep the whole 64 KiB chunk in memory.
    this.#held.push(Buffer.from(kept))
    this.#heldBytes += kept.length
  }

  #emit(): void {
    const held = Buffer.concat(this.#held)
    let line = (this.#cutting ? held.subarray(0, keptBytes) : held).toString('utf8')
    // A character that was cut in two becomes U+FFFD.
    if (this.#cutting) line = line.replace(/\ufffd+$/, '') + cutMark
    else if (line.endsWith('\r')) line = line.slice(0, -1)
    this.#held = []
    this.#heldBytes = 0
    this.#cutting = false
    this.#onLine(line)
  }
}

/** Lines as long as a log keeps them: a program that writes no line feed fills no memory. */
export async function* linesIn(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const lines: string[] = []
  const splitter = new LineSplitter((line) => lines.push(line))
  for await (const chunk of stream) {
    splitter.push(chunk)
    yield* lines.splice(0)
  }
  splitter.end()
  yield* lines
}
