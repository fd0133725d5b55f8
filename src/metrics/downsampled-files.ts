import { appendFile, mkdir, readdir, readFile, rm, truncate } from 'node:fs/promises'
import path from 'node:path'
import { recordLength, recordTime } from './sample-record.ts'

/** Resolution of downsampled records: one per `stepMs`, kept for at least `keptSteps` steps. */
export interface Tier {
  name: string
  stepMs: number
  keptSteps: number
}

const filesPerTier = 4
const headBytes = 12

/**
 * Downsampled records of one environment and tier in a few files; the oldest file is removed as a whole. A record
 * that a crash left incomplete is cut off at first access.
 */
export class DownsampledFiles {
  readonly #dir: string
  readonly #tier: Tier
  readonly #fileMs: number
  #untilMs: number | null = null

  constructor(dir: string, tier: Tier) {
    this.#dir = dir
    this.#tier = tier
    this.#fileMs = Math.ceil(tier.keptSteps / filesPerTier) * tier.stepMs
  }

  /** The files cover everything up to this time; minus infinity if empty. */
  async untilMs(): Promise<number> {
    this.#untilMs ??= await this.#repair()
    return this.#untilMs
  }

  /** Appends records in order of time, and remembers that everything up to `untilMs` is stored. */
  async append(records: readonly Uint8Array[], untilMs: number): Promise<void> {
    await this.untilMs()
    const byFile = new Map<number, Uint8Array[]>()
    for (const record of records) {
      const number = this.#numberOf(recordTime(viewOf(record), 0))
      byFile.set(number, [...(byFile.get(number) ?? []), record])
    }
    for (const [number, some] of byFile) await this.#appendTo(number, some)
    this.#untilMs = untilMs
  }

  /** Calls back for each record with `fromMs` < t <= `toMs`. */
  async visit(
    fromMs: number,
    toMs: number,
    use: (view: DataView, at: number, t: number) => void,
  ): Promise<void> {
    for (const number of await this.#numbers()) {
      if ((number + 1) * this.#fileMs <= fromMs || number * this.#fileMs >= toMs) continue
      const bytes = await readFile(this.#file(number)).catch(() => Buffer.alloc(0))
      const view = viewOf(bytes)
      for (let at = 0; at < wholeBytes(view, at); at += recordLength(view, at)) {
        const t = recordTime(view, at)
        if (t > fromMs && t <= toMs) use(view, at, t)
      }
    }
  }

  async #appendTo(number: number, records: readonly Uint8Array[]): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    await appendFile(this.#file(number), Buffer.concat(records), { mode: 0o600 })
    for (const old of await this.#numbers()) {
      if (old < number - filesPerTier) await rm(this.#file(old), { force: true })
    }
  }

  async #repair(): Promise<number> {
    let untilMs = Number.NEGATIVE_INFINITY
    const newest = (await this.#numbers()).at(-1)
    if (newest === undefined) return untilMs
    const bytes = await readFile(this.#file(newest))
    const view = viewOf(bytes)
    let at = 0
    while (at < wholeBytes(view, at)) {
      untilMs = Math.max(untilMs, recordTime(view, at))
      at += recordLength(view, at)
    }
    if (at < bytes.length) await truncate(this.#file(newest), at)
    return untilMs
  }

  async #numbers(): Promise<number[]> {
    const names = await readdir(this.#dir).catch(() => [])
    return names
      .filter((name) => name.startsWith(`${this.#tier.name}-`))
      .map((name) => Number(name.slice(this.#tier.name.length + 1)))
      .filter(Number.isInteger)
      .sort((a, b) => a - b)
  }

  /** A record that ends at t covers the time before it. */
  #numberOf(t: number): number {
    return Math.ceil(t / this.#fileMs) - 1
  }

  #file(number: number): string {
    return path.join(this.#dir, `${this.#tier.name}-${number}`)
  }
}

/** The end offset of a whole record at `at`, otherwise 0. */
function wholeBytes(view: DataView, at: number): number {
  if (at + headBytes > view.byteLength) return 0
  const length = recordLength(view, at)
  return length >= headBytes && at + length <= view.byteLength ? view.byteLength : 0
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
