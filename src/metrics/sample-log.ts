import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { crc32 } from 'node:zlib'

/** One sample of all environments in the log. */
interface LoggedSample {
  t: number
  records: { appEnvId: string; record: Uint8Array }[]
  /** State the sampler needs to continue exactly where it stopped; small, as JSON. */
  state: unknown
}

const samplesPerFile = 60
const headBytes = 8

/**
 * The latest samples of all environments in files, appended by one write per sample. An entry that a crash left
 * incomplete is skipped, because its length or checksum does not match.
 */
export class SampleLog {
  readonly #dir: string
  readonly #keptMs: number
  /** Time of the last sample in each file. */
  readonly #ends = new Map<number, number>()
  #number = 0
  #samples = samplesPerFile

  /** A file is removed when all of its samples are older than `keptMs`. */
  constructor(dir: string, keptMs: number) {
    this.#dir = dir
    this.#keptMs = keptMs
  }

  /** True if the next sample starts a file: its `state` must be complete, because earlier files may be gone. */
  get beginsFile(): boolean {
    return this.#samples >= samplesPerFile
  }

  /** Reads every complete sample, oldest first. */
  async load(use: (sample: LoggedSample) => void): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    for (const number of await this.#numbers()) {
      this.#number = number
      this.#ends.set(number, 0)
      const bytes = await readFile(this.#file(number))
      for (let at = 0; at + headBytes <= bytes.length; ) {
        const length = bytes.readUInt32LE(at)
        const payload = bytes.subarray(at + headBytes, at + headBytes + length)
        if (payload.length !== length || crc32(payload) !== bytes.readUInt32LE(at + 4)) break
        const sample = decodeEntry(payload)
        use(sample)
        this.#ends.set(number, sample.t)
        at += headBytes + length
      }
    }
  }

  async append(sample: LoggedSample): Promise<void> {
    if (this.beginsFile) await this.#nextFile(sample.t)
    const payload = encodeEntry(sample)
    const head = Buffer.alloc(headBytes)
    head.writeUInt32LE(payload.length, 0)
    head.writeUInt32LE(crc32(payload), 4)
    const file = await open(this.#file(this.#number), 'a', 0o600)
    try {
      await file.appendFile(Buffer.concat([head, payload]))
      this.#samples += 1
      this.#ends.set(this.#number, sample.t)
    } catch (error) {
      // A partial write would hide the samples after it, so continue in another file.
      this.#samples = samplesPerFile
      throw error
    } finally {
      await file.close()
    }
  }

  async #nextFile(nowMs: number): Promise<void> {
    this.#number += 1
    this.#samples = 0
    for (const [number, endMs] of this.#ends) {
      if (endMs >= nowMs - this.#keptMs) continue
      await rm(this.#file(number), { force: true })
      this.#ends.delete(number)
    }
  }

  async #numbers(): Promise<number[]> {
    const names = await readdir(this.#dir)
    return names
      .map((name) => Number(/^recent-(\d+)$/.exec(name)?.[1] ?? Number.NaN))
      .filter(Number.isInteger)
      .sort((a, b) => a - b)
  }

  #file(number: number): string {
    return path.join(this.#dir, `recent-${String(number).padStart(8, '0')}`)
  }
}

function encodeEntry({ t, records, state }: LoggedSample): Buffer {
  const head = Buffer.alloc(12)
  const json = Buffer.from(JSON.stringify(state))
  head.writeDoubleLE(t, 0)
  head.writeUInt32LE(json.length, 8)
  const chunks: Uint8Array[] = [head, json]
  for (const { appEnvId, record } of records) {
    const id = Buffer.from(appEnvId)
    chunks.push(Buffer.of(id.length), id, record)
  }
  return Buffer.concat(chunks)
}

function decodeEntry(payload: Buffer): LoggedSample {
  const jsonEnd = 12 + payload.readUInt32LE(8)
  const records: LoggedSample['records'] = []
  for (let at = jsonEnd; at < payload.length; ) {
    const idEnd = at + 1 + payload[at]!
    const end = idEnd + payload.readUInt16LE(idEnd)
    records.push({
      appEnvId: payload.toString('utf8', at + 1, idEnd),
      record: Uint8Array.prototype.slice.call(payload, idEnd, end),
    })
    at = end
  }
  return { t: payload.readDoubleLE(0), records, state: JSON.parse(payload.toString('utf8', 12, jsonEnd)) }
}
