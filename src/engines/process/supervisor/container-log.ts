import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import path from 'node:path'
import { jsonOrNull } from '../../../json-or-null.ts'
import type { EngineLogLine } from '../../engine.ts'

/** A file of this size is rotated and replaces the previously rotated one, so at most twice this size is kept. */
const fileBytes = 16 * 1024 * 1024

const current = 'log.jsonl'
const older = 'log.1.jsonl'

/** Writes a container's lines as JSON lines. Timestamps have microseconds and never repeat, so `since` is exact. */
export class ContainerLogWriter {
  readonly #dir: string
  /** Negative: not open. */
  #fd = -1
  #bytes = 0
  #isClosed = false
  #lastMicros = 0

  constructor(dir: string) {
    this.#dir = dir
    this.#open()
  }

  /** One write per batch, without sync: the last lines may be lost with the machine, but not with the supervisor. */
  write(stream: 'stdout' | 'stderr', messages: readonly string[]): void {
    if (messages.length === 0 || this.#isClosed) return
    const text = messages
      .map((message) => `${JSON.stringify({ timestamp: this.#stamp(), stream, message })}\n`)
      .join('')
    try {
      if (this.#fd < 0) this.#open()
      this.#bytes += writeSync(this.#fd, text)
      if (this.#bytes > fileBytes) this.#rotate()
    } catch {
      // Disk full or folder gone: the container continues, its lines are lost.
    }
  }

  close(): void {
    this.#isClosed = true
    this.#leave()
  }

  #open(): void {
    this.#fd = openSync(path.join(this.#dir, current), 'a', 0o600)
    this.#bytes = fstatSync(this.#fd).size
  }

  /** Forgotten before it is closed: its number may soon be that of another container's file. */
  #leave(): void {
    const fd = this.#fd
    this.#fd = -1
    if (fd >= 0) closeSync(fd)
  }

  #stamp(): string {
    this.#lastMicros = Math.max(Date.now() * 1000, this.#lastMicros + 1)
    const millis = Math.floor(this.#lastMicros / 1000)
    const micros = String(this.#lastMicros % 1000).padStart(3, '0')
    return `${new Date(millis).toISOString().slice(0, -1)}${micros}Z`
  }

  #rotate(): void {
    this.#leave()
    renameSync(path.join(this.#dir, current), path.join(this.#dir, older))
    this.#open()
  }
}

/** Continues reading where it stopped, across one rotation between two reads. */
export class ContainerLogReader {
  readonly #dir: string
  readonly #since: string
  #file: FileHandle | null = null
  #position = 0
  #rest = Buffer.alloc(0)
  #readOlder = false

  constructor(dir: string, since: string | null) {
    this.#dir = dir
    this.#since = since === null ? '' : comparable(since)
  }

  /** The lines written since the last call, in chunks of about 64 KiB. */
  async *read(): AsyncGenerator<EngineLogLine> {
    if (!this.#readOlder) {
      this.#readOlder = true
      this.#file = await openOrNull(path.join(this.#dir, older))
      if (this.#file) yield* this.#drain()
      await this.close()
    }
    this.#file ??= await openOrNull(path.join(this.#dir, current))
    if (!this.#file) return
    yield* this.#drain()
    if (!(await this.#isCurrent())) {
      // Rotated since it was opened: read its last lines, then the new file.
      yield* this.#drain()
      await this.close()
      this.#file = await openOrNull(path.join(this.#dir, current))
      if (this.#file) yield* this.#drain()
    }
  }

  async close(): Promise<void> {
    await this.#file?.close()
    this.#file = null
    this.#position = 0
    this.#rest = Buffer.alloc(0)
  }

  async *#drain(): AsyncGenerator<EngineLogLine> {
    const piece = Buffer.allocUnsafe(65_536)
    for (;;) {
      const { bytesRead } = await this.#file!.read(piece, 0, piece.length, this.#position)
      if (bytesRead === 0) return
      this.#position += bytesRead
      const data = Buffer.concat([this.#rest, piece.subarray(0, bytesRead)])
      const end = data.lastIndexOf(10)
      this.#rest = data.subarray(end + 1)
      if (end < 0) continue
      for (const text of data.toString('utf8', 0, end).split('\n')) {
        const line = jsonOrNull(text) as EngineLogLine | null
        if (line && comparable(line.timestamp) > this.#since) yield line
      }
    }
  }

  async #isCurrent(): Promise<boolean> {
    const now = await openOrNull(path.join(this.#dir, current))
    if (!now) return true
    try {
      return (await now.stat()).ino === (await this.#file!.stat()).ino
    } finally {
      await now.close()
    }
  }
}

/** ISO times of any precision in a form that compares as text. */
function comparable(isoTime: string): string {
  const [whole, fraction = ''] = isoTime.replace(/Z$/, '').split('.')
  return `${whole}.${fraction.padEnd(9, '0')}`
}

async function openOrNull(file: string): Promise<FileHandle | null> {
  try {
    return await open(file, 'r')
  } catch {
    return null
  }
}
