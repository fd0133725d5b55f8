import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import type { LogLine, LogType } from '../contract/app-env-reads.ts'
import { cutLine } from '../domain/environments/log-lines.ts'
import type { LogQuery } from '../domain/environments/log-query.ts'
import { AppError } from '../errors.ts'
import { jsonOrNull } from '../json-or-null.ts'
import { yieldAlone } from '../pacer.ts'
import type { FindKnown, LogArchive } from './log-archive.ts'
import { type KeptLine, matcher } from './log-filter.ts'
import { LogSegments } from './log-segments.ts'

const segmentSize = 4 * 1024 * 1024
const keptDays = 7
/** Number of copies that are searched for the last line of a pod that another control plane followed before. */
const mostCopiesRead = 4

interface LogStoreOptions {
  archive?: LogArchive | null
  segmentBytes?: number
  /**
   * If another control plane wrote before: a number that was never used, such as the time in seconds. Lines of the others
   * are then only in the archive, and their pods may still run.
   */
  firstSegment?: number
}

interface LogPage {
  logs: LogLine[]
  cursor: string | null
  truncated: boolean
}

/** Maximum number of waiting reads of one environment. */
const mostReaders = 32
/** Lines are in order except for output that was read late: after this many too old lines in a row, all are too old. */
const mostTooOld = 10_000
/** How long reading lines may block the event loop. */
const longestSliceMs = 5

/** Yields to the event loop while lines are read: they add up to 64 MiB. */
class TimeSlice {
  readonly #onBehalfOf: string
  #sinceMs = performance.now()

  constructor(onBehalfOf: string) {
    this.#onBehalfOf = onBehalfOf
  }

  get isOver(): boolean {
    return performance.now() - this.#sinceMs > longestSliceMs
  }

  async next(): Promise<void> {
    await yieldAlone(this.#onBehalfOf)
    this.#sinceMs = performance.now()
  }
}

/**
 * Log lines of environments in files of JSON lines, newest segment last: 7 days or 64 MiB per environment
 * (docs/interface.md#logs), kept after the container is gone. Requests have 64 MiB of their own, so that traffic does
 * not push out output of programs. An archive, if there is one, has copies of all segments, and the older ones alone.
 */
export class LogStore {
  readonly #dir: string
  readonly #options: { archive: LogArchive | null; segmentBytes: number; firstSegment: number }
  /** By folder. */
  readonly #logs = new Map<string, LogSegments>()
  readonly #readers = new Map<string, { waiting: number; last: Promise<void> }>()

  /** Without an archive, the data directory is the only place of the lines. */
  constructor(
    dir: string,
    { archive = null, segmentBytes = segmentSize, firstSegment = 0 }: LogStoreOptions = {},
  ) {
    this.#dir = dir
    this.#options = { archive, segmentBytes, firstSegment }
    mkdirSync(dir, { recursive: true, mode: 0o700 })
  }

  append(appEnvId: string, lines: readonly KeptLine[]): void {
    for (const line of lines)
      this.#open(appEnvId, line.type).append(
        `${JSON.stringify({ ...line, message: cutLine(line.message) })}\n`,
      )
  }

  /**
   * A page of matching lines, newest first; `cursor` leads to the page of older ones. Reads of one environment run
   * one at a time, and yield: a search may scan all 64 MiB without a match.
   */
  async read(appEnvId: string, filter: LogQuery, onBehalfOf = appEnvId): Promise<LogPage> {
    const queue = this.#readers.get(appEnvId) ?? { waiting: 0, last: Promise.resolve() }
    if (queue.waiting >= mostReaders) throw tooManyReaders()
    this.#readers.set(appEnvId, queue)
    queue.waiting += 1
    const page = queue.last.then(() => this.#page(appEnvId, filter, onBehalfOf))
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

  async #page(appEnvId: string, filter: LogQuery, onBehalfOf: string): Promise<LogPage> {
    const segments = this.#open(appEnvId, filter.type)
    await segments.flush()
    const start = parseCursor(filter.cursor)
    const matches = matcher(filter)
    const found: { line: LogLine; position: string }[] = []
    const fromMs = filter.from === undefined ? null : Date.parse(filter.from)
    let tooOld = 0
    const slice = new TimeSlice(onBehalfOf)
    const isRepeated = this.#repetitions()
    for (const number of segments.numbers) {
      if (start && number > start.segment) continue
      const text = await segments.text(number)
      const end = start && number === start.segment ? start.offset : text.length
      for (const { line, offset } of linesBackwards(text, end)) {
        if (slice.isOver) await slice.next()
        const kept = parseLine(line)
        if (kept) tooOld = fromMs !== null && Date.parse(kept.at) < fromMs ? tooOld + 1 : 0
        if (tooOld > mostTooOld) return { logs: inOrder(found), cursor: null, truncated: false }
        if (!kept || !matches(kept) || isRepeated(kept)) continue
        if (found.length === filter.size) {
          return { logs: inOrder(found), cursor: found.at(-1)?.position ?? null, truncated: true }
        }
        found.push({ line: shown(kept), position: `${number}.${offset}` })
      }
    }
    return { logs: inOrder(found), cursor: null, truncated: false }
  }

  /** A control plane that was killed may have kept lines that the next one read again from the container. */
  #repetitions(): (line: KeptLine) => boolean {
    if (!this.#isShared) return () => false
    const seen = new Set<string>()
    return ({ at, podName, message }) => {
      const { size } = seen
      return seen.add(`${at} ${podName} ${message}`).size === size
    }
  }

  get #isShared(): boolean {
    return this.#options.firstSegment > 0
  }

  /**
   * The full timestamp of the last stored line of a pod, from which following continues after a restart. If the segments
   * that are read have no line of the pod, the timestamp of their first line: its lines were stored before that.
   */
  async lastAt(appEnvId: string, podName: string): Promise<string | null> {
    const segments = this.#open(appEnvId, 'RUNTIME')
    await segments.flush()
    const searched = this.#isShared ? segments.numbers.slice(0, 1 + mostCopiesRead) : segments.numbersHere
    let oldest: string | null = null
    const slice = new TimeSlice(appEnvId)
    for (const number of searched) {
      const text = await segments.text(number)
      for (const { line } of linesBackwards(text, text.length)) {
        if (slice.isOver) await slice.next()
        const kept = parseLine(line)
        if (kept?.podName === podName && kept.type !== 'BUILD') return kept.at
        oldest = kept?.at ?? oldest
      }
    }
    return searched.length < segments.numbers.length ? oldest : null
  }

  async forget(appEnvId: string): Promise<void> {
    for (const key of [appEnvId, requestsOf(appEnvId)]) {
      await this.#logs.get(key)?.abandon()
      this.#logs.delete(key)
    }
    await rm(path.join(this.#dir, appEnvId), { recursive: true, force: true })
    // If the archive does not answer, `sweep` removes the copies later.
    await this.#options.archive?.forget(appEnvId).catch(() => {})
  }

  /** Brings the archive up to date. Throws `AppError` of kind `unavailable` while it is away; the next call goes on. */
  async copy(): Promise<void> {
    if (!this.#options.archive) return
    this.#openAll()
    for (const segments of [...this.#logs.values()]) {
      await segments.flush()
      await segments.copy()
    }
  }

  /** Removes segments that are older than seven days, and copies of environments that do not exist. */
  async sweep(nowMs: number, findKnown: FindKnown): Promise<void> {
    const sinceMs = nowMs - keptDays * 86_400_000
    this.#openAll()
    for (const segments of [...this.#logs.values()]) await segments.sweep(sinceMs)
    await this.#options.archive?.sweep(sinceMs, findKnown)
  }

  /** Stores the last lines, and spends at most `copyMs` on copies; those that are left are made after the next start. */
  async close(copyMs = 0): Promise<void> {
    for (const segments of this.#logs.values()) await segments.flush()
    if (!this.#options.archive || copyMs === 0) return
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, copyMs)
    })
    await Promise.race([this.copy().catch(() => {}), limit])
    clearTimeout(timer)
  }

  #open(appEnvId: string, type: LogType): LogSegments {
    return this.#named(type === 'REQUEST' ? requestsOf(appEnvId) : appEnvId)
  }

  #named(name: string): LogSegments {
    const segments = this.#logs.get(name) ?? new LogSegments(this.#dir, name, this.#options)
    this.#logs.set(name, segments)
    return segments
  }

  /** Also those that were neither written nor read since the start. */
  #openAll(): void {
    for (const appEnvId of readdirSync(this.#dir)) {
      this.#named(appEnvId)
      const requests = requestsOf(appEnvId)
      if (existsSync(path.join(this.#dir, requests))) this.#named(requests)
    }
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

function* linesBackwards(text: string, end: number): Generator<{ line: string; offset: number }> {
  let stop = end
  while (stop > 0) {
    const from = text.lastIndexOf('\n', stop - 2) + 1
    yield { line: text.slice(from, stop - 1), offset: from }
    stop = from
  }
}

/** Null: the last line may be incomplete after a crash. */
const parseLine = (line: string) => jsonOrNull(line) as KeptLine | null

function parseCursor(cursor: string | undefined): { segment: number; offset: number } | null {
  const match = /^(\d{1,9})\.(\d{1,9})$/.exec(cursor ?? '')
  return match ? { segment: Number(match[1]), offset: Number(match[2]) } : null
}

function shown(line: KeptLine): LogLine {
  const { at, stream, type, podName, contentId, message, request } = line
  const timestamp = new Date(at).toISOString()
  return { timestamp, stream, type, podName, contentId, message, ...(request && { request }) }
}

/** Newest last. The output of several containers arrives in the order in which it is read. */
function inOrder(found: { line: LogLine }[]): LogLine[] {
  const lines = found.map(({ line }) => line).reverse()
  return lines.sort((a, b) => (a.timestamp < b.timestamp ? -1 : Number(a.timestamp > b.timestamp)))
}
