import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { appendFile, readFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import type { LogLine, LogType } from '../contract/app-env-reads.ts'
import type { LogQuery } from '../domain/environments/log-query.ts'
import { cutMark } from '../domain/environments/secret-masker.ts'
import { AppError } from '../errors.ts'
import { yieldAlone } from '../pacer.ts'
import { type KeptLine, matcher } from './log-filter.ts'

const segmentBytes = 4 * 1024 * 1024
const keptSegments = 16
const keptDays = 7
const flushAfterMs = 100
const longestLine = 8 * 1024

interface Segments {
  dir: string
  numbers: number[]
  newestBytes: number
  pending: string[]
  flushing: Promise<void>
  timer: NodeJS.Timeout | null
}

interface LogPage {
  logs: LogLine[]
  cursor: string | null
  truncated: boolean
}

/** Maximum number of waiting reads of one environment. */
const mostReaders = 32
/** Lines are in order but for output that was read late: after so many too old ones in a row, all are. */
const mostTooOld = 10_000
/** How long a search may block the event loop. */
const longestSliceMs = 5

/**
 * Log lines of environments in files of JSON lines, newest segment last: 7 days or 64 MiB per environment
 * (docs/interface.md#logs), kept after the container is gone. Requests have 64 MiB of their own, so that traffic does
 * not push out what programs write.
 */
export class LogStore {
  readonly #dir: string
  /** By folder. */
  readonly #logs = new Map<string, Segments>()
  readonly #readers = new Map<string, { waiting: number; last: Promise<void> }>()

  constructor(dir: string) {
    this.#dir = dir
    mkdirSync(dir, { recursive: true, mode: 0o700 })
  }

  append(appEnvId: string, lines: readonly KeptLine[]): void {
    for (const line of lines) {
      const segments = this.#open(appEnvId, line.type)
      segments.pending.push(`${JSON.stringify({ ...line, message: cut(line.message) })}\n`)
      segments.timer ??= setTimeout(() => void this.#flush(segments), flushAfterMs)
    }
  }

  /**
   * A page of matching lines, newest first; `cursor` leads to the page of older ones. Reads of one environment run
   * one at a time, and yield: a search may scan all 64 MiB without a match.
   */
  async read(appEnvId: string, filter: LogQuery): Promise<LogPage> {
    const queue = this.#readers.get(appEnvId) ?? { waiting: 0, last: Promise.resolve() }
    if (queue.waiting >= mostReaders) throw tooManyReaders()
    this.#readers.set(appEnvId, queue)
    queue.waiting += 1
    const page = queue.last.then(() => this.#page(appEnvId, filter))
    queue.last = page.then(
      () => {},
      () => {},
    )
    try {
      return await page
    } finally {
      queue.waiting -= 1
      if (queue.waiting === 0) this.#readers.delete(appEnvId)
    }
  }

  async #page(appEnvId: string, filter: LogQuery): Promise<LogPage> {
    const segments = this.#open(appEnvId, filter.type)
    await this.#flush(segments)
    const start = parseCursor(filter.cursor)
    const matches = matcher(filter)
    const found: { line: LogLine; position: string }[] = []
    const fromMs = filter.from === undefined ? null : Date.parse(filter.from)
    let tooOld = 0
    let sliceMs = performance.now()
    for (const number of [...segments.numbers].reverse()) {
      if (start && number > start.segment) continue
      const text = await readFile(segmentFile(segments.dir, number), 'utf8').catch(() => '')
      const end = start && number === start.segment ? start.offset : text.length
      for (const { line, offset } of linesBackwards(text, end)) {
        if (performance.now() - sliceMs > longestSliceMs) {
          await yieldAlone()
          sliceMs = performance.now()
        }
        const kept = parseLine(line)
        if (kept) tooOld = fromMs !== null && Date.parse(kept.at) < fromMs ? tooOld + 1 : 0
        if (tooOld > mostTooOld) return { logs: inOrder(found), cursor: null, truncated: false }
        if (!kept || !matches(kept)) continue
        if (found.length === filter.size) {
          return { logs: inOrder(found), cursor: found.at(-1)?.position ?? null, truncated: true }
        }
        found.push({ line: shown(kept), position: `${number}.${offset}` })
      }
    }
    return { logs: inOrder(found), cursor: null, truncated: false }
  }

  /** The full timestamp of the last stored line of a pod, from which following continues after a restart. */
  async lastAt(appEnvId: string, podName: string): Promise<string | null> {
    const segments = this.#open(appEnvId, 'RUNTIME')
    await this.#flush(segments)
    for (const number of [...segments.numbers].reverse()) {
      const text = await readFile(segmentFile(segments.dir, number), 'utf8').catch(() => '')
      for (const { line } of linesBackwards(text, text.length)) {
        const kept = parseLine(line)
        if (kept?.podName === podName && kept.type !== 'BUILD') return kept.at
      }
    }
    return null
  }

  async forget(appEnvId: string): Promise<void> {
    for (const key of [appEnvId, requestsOf(appEnvId)]) {
      const segments = this.#logs.get(key)
      if (segments?.timer) clearTimeout(segments.timer)
      await segments?.flushing
      this.#logs.delete(key)
    }
    await rm(path.join(this.#dir, appEnvId), { recursive: true, force: true })
  }

  /** Removes segments that are older than seven days. */
  async sweep(nowMs: number): Promise<void> {
    for (const segments of this.#logs.values()) {
      for (const number of segments.numbers.slice(0, -1)) {
        const file = segmentFile(segments.dir, number)
        const info = await stat(file).catch(() => null)
        if (!info || nowMs - info.mtimeMs > keptDays * 86_400_000) await this.#drop(segments, number)
      }
    }
  }

  async close(): Promise<void> {
    for (const segments of this.#logs.values()) await this.#flush(segments)
  }

  #open(appEnvId: string, type: LogType): Segments {
    const key = type === 'REQUEST' ? requestsOf(appEnvId) : appEnvId
    const known = this.#logs.get(key)
    if (known) return known
    const dir = path.join(this.#dir, key)
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const numbers = readdirSync(dir)
      .map((name) => Number.parseInt(name, 10))
      .filter(Number.isInteger)
      .sort((a, b) => a - b)
    const newest = numbers.at(-1)
    const newestBytes = newest === undefined ? 0 : readFileSync(segmentFile(dir, newest)).length
    const segments: Segments = {
      dir,
      numbers: numbers.length > 0 ? numbers : [1],
      newestBytes,
      pending: [],
      flushing: Promise.resolve(),
      timer: null,
    }
    this.#logs.set(key, segments)
    return segments
  }

  #flush(segments: Segments): Promise<void> {
    if (segments.timer) clearTimeout(segments.timer)
    segments.timer = null
    segments.flushing = segments.flushing.then(() => this.#write(segments)).catch(() => {})
    return segments.flushing
  }

  async #write(segments: Segments): Promise<void> {
    if (segments.pending.length === 0) return
    const text = segments.pending.join('')
    segments.pending = []
    if (segments.newestBytes > segmentBytes) {
      segments.numbers.push((segments.numbers.at(-1) as number) + 1)
      segments.newestBytes = 0
      while (segments.numbers.length > keptSegments) await this.#drop(segments, segments.numbers[0] as number)
    }
    await appendFile(segmentFile(segments.dir, segments.numbers.at(-1) as number), text, { mode: 0o600 })
    segments.newestBytes += Buffer.byteLength(text)
  }

  async #drop(segments: Segments, number: number): Promise<void> {
    await rm(segmentFile(segments.dir, number), { force: true })
    segments.numbers = segments.numbers.filter((kept) => kept !== number)
  }
}

function tooManyReaders(): AppError {
  return new AppError('rate-limited', 'Too many log reads at once', {
    details: `${mostReaders} reads of this environment are waiting. Narrow them with from and to, and read one after the other.`,
    retryAfterSeconds: 2,
  })
}

/** The folder of an environment's request log, inside that of its other logs. */
function requestsOf(appEnvId: string): string {
  return path.join(appEnvId, 'requests')
}

function segmentFile(dir: string, number: number): string {
  return path.join(dir, `${String(number).padStart(8, '0')}.jsonl`)
}

/** Lines longer than 8 KiB are cut and marked (docs/interface.md#logs). */
function cut(message: string): string {
  if (message.length <= longestLine) return message
  return `${message.slice(0, longestLine - cutMark.length)}${cutMark}`
}

function* linesBackwards(text: string, end: number): Generator<{ line: string; offset: number }> {
  let stop = end
  while (stop > 0) {
    const from = text.lastIndexOf('\n', stop - 2) + 1
    yield { line: text.slice(from, stop - 1), offset: from }
    stop = from
  }
}

function parseLine(line: string): KeptLine | null {
  try {
    return JSON.parse(line)
  } catch {
    return null // The last line may be incomplete after a crash.
  }
}

function parseCursor(cursor: string | undefined): { segment: number; offset: number } | null {
  const match = /^(\d{1,9})\.(\d{1,9})$/.exec(cursor ?? '')
  return match ? { segment: Number(match[1]), offset: Number(match[2]) } : null
}

function shown(line: KeptLine): LogLine {
  const { at, stream, type, podName, contentId, message, request } = line
  const timestamp = new Date(at).toISOString()
  return { timestamp, stream, type, podName, contentId, message, ...(request && { request }) }
}

function inOrder(found: { line: LogLine }[]): LogLine[] {
  return found.map(({ line }) => line).reverse()
}
