import type { EngineLogLine } from '../engine.ts'

/** Longer lines are cut and marked (docs/interface.md#logs). */
const maxLineBytes = 8192
const cutNote = ' … [line cut at 8 KiB]'

const newline = 0x0a
const headerBytes = 8

/**
 * Decodes frames of 8 bytes of header (stream, length) and a message that begins with a timestamp. The engine
 * splits lines over 16 KiB, with the newline in the last message only; they are joined here. Lines keep the
 * nanoseconds, so that continuing after a line neither loses nor repeats one.
 */
export async function* readLogLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<EngineLogLine> {
  const lines = { stdout: new LineAssembler('stdout'), stderr: new LineAssembler('stderr') }
  for await (const { stream, payload } of readFrames(chunks)) yield* lines[stream].take(payload)
  yield* lines.stdout.end()
  yield* lines.stderr.end()
}

interface Frame {
  stream: 'stdout' | 'stderr'
  payload: Buffer
}

/** The messages of both streams in the engine's frames. */
export async function* readFrames(chunks: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  let pending: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    let offset = 0
    while (pending.length - offset >= headerBytes) {
      const length = pending.readUInt32BE(offset + 4)
      if (pending.length - offset - headerBytes < length) break
      const start = offset + headerBytes
      const stream = pending[offset] === 2 ? 'stderr' : 'stdout'
      yield { stream, payload: pending.subarray(start, start + length) }
      offset = start + length
    }
    pending = pending.subarray(offset)
  }
}

/** Joins the messages of one stream to lines; buffers at most one line of the maximum length. */
class LineAssembler {
  readonly #stream: 'stdout' | 'stderr'
  #timestamp: string | null = null
  #chunks: Buffer[] = []
  #bytes = 0

  constructor(stream: 'stdout' | 'stderr') {
    this.#stream = stream
  }

  *take(message: Buffer): Generator<EngineLogLine> {
    let rest = this.#withoutTimestamp(message)
    for (;;) {
      const end = rest.indexOf(newline)
      this.#append(end < 0 ? rest : rest.subarray(0, end))
      if (end < 0) return
      yield* this.#flush()
      rest = rest.subarray(end + 1)
      if (rest.length === 0) {
        this.#timestamp = null
        return
      }
    }
  }

  *end(): Generator<EngineLogLine> {
    if (this.#bytes > 0) yield* this.#flush()
  }

  /** The first message's timestamp is the line's; those of continuations are dropped. */
  #withoutTimestamp(message: Buffer): Buffer {
    const space = message.subarray(0, 48).indexOf(0x20)
    const text = space > 0 ? message.toString('latin1', 0, space) : ''
    if (!/^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(text)) return message
    this.#timestamp ??= text
    return message.subarray(space + 1)
  }

  #append(part: Buffer): void {
    // Keep one byte more than fits, to detect that the line was longer.
    const room = maxLineBytes + 2 - this.#bytes
    if (room > 0 && part.length > 0) this.#chunks.push(Buffer.from(part.subarray(0, room)))
    this.#bytes += Math.min(part.length, Math.max(0, room))
  }

  *#flush(): Generator<EngineLogLine> {
    let text: Buffer = Buffer.concat(this.#chunks)
    this.#chunks = []
    this.#bytes = 0
    if (text.at(-1) === 0x0d) text = text.subarray(0, -1)
    if (this.#timestamp === null) return
    yield { timestamp: this.#timestamp, stream: this.#stream, message: cutLine(text) }
  }
}

function cutLine(text: Buffer): string {
  if (text.length <= maxLineBytes) return text.toString('utf8')
  let end = maxLineBytes - Buffer.byteLength(cutNote)
  // Not in the middle of a character: bytes 10xxxxxx continue one.
  while (end > 0 && (text[end]! & 0xc0) === 0x80) end--
  return text.toString('utf8', 0, end) + cutNote
}

/** Nanoseconds since the epoch of an ISO time with up to nine fractional digits. */
function nanoseconds(isoTime: string): bigint {
  const fraction = /\.(\d+)/.exec(isoTime)?.[1] ?? ''
  const wholeMs = Date.parse(isoTime.replace(/\.\d+/, ''))
  if (Number.isNaN(wholeMs)) throw new RangeError('not an ISO time')
  return BigInt(wholeMs) * 1_000_000n + BigInt(fraction.padEnd(9, '0').slice(0, 9))
}

/** The engine's time format: seconds since the epoch with nine fractional digits. */
export function engineTime(isoTime: string): string {
  const ns = nanoseconds(isoTime)
  return `${ns / 1_000_000_000n}.${String(ns % 1_000_000_000n).padStart(9, '0')}`
}

/** Drops lines up to and including `since`: the engine's own filter is inclusive. */
export async function* linesAfter(
  lines: AsyncIterable<EngineLogLine>,
  since: string | null,
): AsyncGenerator<EngineLogLine> {
  const after = since === null ? null : nanoseconds(since)
  for await (const line of lines) {
    if (after === null || nanoseconds(line.timestamp) > after) yield line
  }
}
