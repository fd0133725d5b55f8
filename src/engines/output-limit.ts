/** The cost of a line in addition to its characters: each is stored with its time and origin. */
const perLine = 100
const lastLines = 200

export interface OutputLine {
  stream: 'stdout' | 'stderr'
  message: string
}

/** Characters of one step of a build. */
export const mostOfStep = 2 * 1024 * 1024

/**
 * Passes on the output of a build up to a limit, and at the end the last lines of the rest, so that a program that never
 * stops printing costs no more than one that prints a long log.
 */
export class OutputLimit {
  readonly #emit: (line: OutputLine) => void
  #left: number
  #last: OutputLine[] = []

  constructor(most: number, emit: (line: OutputLine) => void) {
    this.#left = most
    this.#emit = emit
  }

  get isReached(): boolean {
    return this.#left <= 0
  }

  add(line: OutputLine): void {
    if (this.isReached) {
      this.#last.push(line)
      if (this.#last.length > 2 * lastLines) this.#last = lastOf(this.#last)
      return
    }
    this.#left -= line.message.length + perLine
    this.#emit(line)
    if (this.isReached) this.#emit({ stream: 'stdout', message: leftOut })
  }

  /** Emits the last lines; add no more lines after it. */
  end(): void {
    for (const line of lastOf(this.#last)) this.#emit(line)
    this.#last = []
  }
}

const leftOut = `The output is too long: more of it is left out, except for the last ${lastLines} lines.`

/** The lines after the limit that may still be shown. */
export function lastOf<T>(lines: T[]): T[] {
  return lines.slice(-lastLines)
}

/** The same of a chunk of bytes, from a line feed on. */
export function lastBytesOf(chunk: Buffer): Buffer {
  let from = chunk.length
  for (let lines = 0; lines <= lastLines && from > 0; lines += 1) from = chunk.lastIndexOf(10, from - 1)
  return from > 0 ? chunk.subarray(from) : chunk
}
