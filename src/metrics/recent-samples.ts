import { recordLength, recordTime } from './sample-record.ts'

/** Records of one environment in order of arrival, in chunks that are dropped as they age. */
export class RecentSamples {
  readonly #chunks: Chunk[] = []
  /** Whether records have been dropped. */
  hasDropped = false

  get isEmpty(): boolean {
    return this.#chunks.length === 0
  }

  /** Time of the oldest record; infinity if empty. */
  get firstMs(): number {
    return this.#chunks.reduce((first, chunk) => Math.min(first, chunk.minMs), Number.POSITIVE_INFINITY)
  }

  get bytes(): number {
    return this.#chunks.reduce((sum, chunk) => sum + chunk.capacity, 0)
  }

  add(record: Uint8Array): void {
    let chunk = this.#chunks.at(-1)
    if (!chunk || chunk.count === chunkRecords) {
      chunk?.close()
      chunk = new Chunk()
      this.#chunks.push(chunk)
    }
    chunk.add(record)
  }

  /** Drops records that ended before `ms`, a whole chunk at a time. */
  dropBefore(ms: number): void {
    while (this.#chunks[0] && this.#chunks[0].maxMs < ms) {
      this.#chunks.shift()
      this.hasDropped = true
    }
  }

  /** Calls back for each record with `fromMs` < t <= `toMs`. */
  visit(fromMs: number, toMs: number, use: (view: DataView, at: number, t: number) => void): void {
    for (const chunk of this.#chunks) {
      if (chunk.maxMs > fromMs && chunk.minMs <= toMs) chunk.visit(fromMs, toMs, use)
    }
  }
}

const chunkRecords = 60

class Chunk {
  count = 0
  minMs = Number.POSITIVE_INFINITY
  maxMs = Number.NEGATIVE_INFINITY
  #bytes = new Uint8Array(256)
  #view = new DataView(this.#bytes.buffer)
  #used = 0

  get capacity(): number {
    return this.#bytes.length
  }

  add(record: Uint8Array): void {
    const needed = this.#used + record.length
    if (needed > this.#bytes.length) this.#resize(Math.max(needed, Math.ceil(this.#bytes.length * 1.5)))
    this.#bytes.set(record, this.#used)
    const t = recordTime(this.#view, this.#used)
    this.#used = needed
    this.count += 1
    this.minMs = Math.min(this.minMs, t)
    this.maxMs = Math.max(this.maxMs, t)
  }

  close(): void {
    this.#resize(this.#used)
  }

  visit(fromMs: number, toMs: number, use: (view: DataView, at: number, t: number) => void): void {
    for (let at = 0; at < this.#used; at += recordLength(this.#view, at)) {
      const t = recordTime(this.#view, at)
      if (t > fromMs && t <= toMs) use(this.#view, at, t)
    }
  }

  #resize(length: number): void {
    const bytes = new Uint8Array(length)
    bytes.set(this.#bytes.subarray(0, this.#used))
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer)
  }
}
