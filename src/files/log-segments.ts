import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { appendFile, readFile, rm, stat, truncate } from 'node:fs/promises'
import path from 'node:path'
import { type LogArchive, segmentName } from './log-archive.ts'

const keptSegments = 16
/** Number of segments that stay on this machine besides the newest one, if an archive has copies. */
const keptBesideCopies = 4
const flushAfterMs = 100
/** After a write that failed, such as on a full disk. */
const tryAgainMs = 1_000
/** Characters that wait for the next try; older ones are dropped. */
const mostWaiting = 256 * 1024

interface LogSegmentsOptions {
  archive: LogArchive | null
  /** A segment that has more is followed by a new one. */
  segmentBytes: number
  /** New lines go to segments from this number on; others may have written those before. */
  firstSegment: number
}

/** The files of one log. The older ones may be in the archive only, and the newest one is always here. */
export class LogSegments {
  readonly #name: string
  readonly #dir: string
  readonly #archive: LogArchive | null
  readonly #segmentBytes: number
  /** All of the log, oldest first; never empty. */
  #numbers: number[]
  readonly #here: Set<number>
  #newestBytes: number
  #pending: string[] = []
  #flushing: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | null = null

  constructor(root: string, name: string, { archive, segmentBytes, firstSegment }: LogSegmentsOptions) {
    this.#name = name
    this.#segmentBytes = segmentBytes
    this.#dir = path.join(root, name)
    this.#archive = archive
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    this.#here = new Set(
      readdirSync(this.#dir)
        .map((file) => Number.parseInt(file, 10))
        .filter(Number.isInteger),
    )
    this.#numbers = [...new Set([...this.#here, ...(archive?.numbers(name) ?? [])])].sort((a, b) => a - b)
    // A copy is not continued: on the disk of a new machine the next segment begins.
    if (!this.#here.has(this.#newest) || this.#newest < firstSegment) this.#begin(firstSegment)
    this.#newestBytes = statSync(this.#file(this.#newest), { throwIfNoEntry: false })?.size ?? 0
  }

  /** Newest first. */
  get numbers(): number[] {
    return [...this.#numbers].reverse()
  }

  /** Numbers of the segments on this machine, newest first. */
  get numbersHere(): number[] {
    return this.numbers.filter((number) => this.#here.has(number))
  }

  append(lines: string): void {
    this.#pending.push(lines)
    this.#flushWithin(flushAfterMs)
  }

  #flushWithin(delayMs: number): void {
    this.#timer ??= setTimeout(() => void this.flush(), delayMs)
  }

  flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#flushing = this.#flushing.then(() => this.#write()).catch(() => {})
    return this.#flushing
  }

  /** Text of a segment, empty if it was dropped. Throws `AppError` if only the archive has it and does not answer. */
  async text(number: number): Promise<string> {
    const here = await readFile(this.#file(number), 'utf8').catch(() => null)
    if (here !== null || this.#here.has(number)) return here ?? ''
    return this.#numbers.includes(number) ? ((await this.#archive?.text(this.#name, number)) ?? '') : ''
  }

  /** Brings the archive up to date, and then drops older segments on this machine. */
  async copy(): Promise<void> {
    const archive = this.#archive
    if (!archive) return
    for (const number of archive.numbers(this.#name))
      if (!this.#numbers.includes(number)) await archive.remove(this.#name, number)
    for (const number of [...this.#here].sort((a, b) => a - b)) {
      const size = await this.#sizeOf(number)
      if (size > 0 && archive.bytes(this.#name, number) !== size)
        await archive.keep(this.#name, number, this.#file(number), size)
    }
    for (const number of this.numbersHere.slice(1 + keptBesideCopies)) {
      if (archive.bytes(this.#name, number) === (await this.#sizeOf(number))) await this.#dropHere(number)
    }
  }

  /** Drops segments written before `sinceMs`, except for the newest one. */
  async sweep(sinceMs: number): Promise<void> {
    for (const number of this.numbersHere.slice(1)) {
      const info = await stat(this.#file(number)).catch(() => null)
      if (!info || info.mtimeMs < sinceMs) await this.#drop(number)
    }
    const copied = this.#archive?.numbers(this.#name) ?? []
    this.#numbers = this.#numbers.filter((number) => this.#here.has(number) || copied.includes(number))
  }

  /** Stops writing; the caller removes the files. */
  async abandon(): Promise<void> {
    this.#forgetPending()
    await this.#flushing
    // A failed write queues its lines again, so they are dropped once more.
    this.#forgetPending()
  }

  #forgetPending(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#pending = []
  }

  get #newest(): number {
    return this.#numbers.at(-1) ?? 0
  }

  #begin(fewest = 0): void {
    const next = Math.max(this.#newest + 1, fewest)
    this.#numbers.push(next)
    this.#here.add(next)
    this.#newestBytes = 0
  }

  async #write(): Promise<void> {
    if (this.#pending.length === 0) return
    const text = this.#pending.join('')
    this.#pending = []
    try {
      if (this.#newestBytes > this.#segmentBytes) {
        this.#begin()
        while (this.#numbers.length > keptSegments) await this.#drop(this.#numbers[0] as number)
      }
      await appendFile(this.#file(this.#newest), text, { mode: 0o600 })
      this.#newestBytes += Buffer.byteLength(text)
    } catch (error) {
      // A part may have been written.
      await truncate(this.#file(this.#newest), this.#newestBytes).catch(() => {})
      this.#keep(text)
      throw error
    }
  }

  /** For the next try, the newest lines first if they are too many. */
  #keep(text: string): void {
    const from = text.length <= mostWaiting ? 0 : text.indexOf('\n', text.length - mostWaiting) + 1
    this.#pending.unshift(text.slice(from))
    this.#flushWithin(tryAgainMs)
    this.#timer?.unref()
  }

  /** Its copy goes with the next comparison, so that a slow archive delays no line. */
  async #drop(number: number): Promise<void> {
    this.#numbers = this.#numbers.filter((kept) => kept !== number)
    await this.#dropHere(number)
  }

  async #dropHere(number: number): Promise<void> {
    this.#here.delete(number)
    await rm(this.#file(number), { force: true })
  }

  async #sizeOf(number: number): Promise<number> {
    return (await stat(this.#file(number)).catch(() => null))?.size ?? 0
  }

  #file(number: number): string {
    return path.join(this.#dir, segmentName(number))
  }
}
