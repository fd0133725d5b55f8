import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { crc32 } from 'node:zlib'

/** One turn of the sampler as it is written down. */
export interface LoggedTurn {
  t: number
  records: { appEnvId: string; record: Uint8Array }[]
  /** What the sampler needs to go on exactly where it was; small, as JSON. */
  state: unknown
}

const turnsPerFile = 60
const headBytes = 8

/**
 * The latest samples of all environments as files of turns, appended to by one write a turn. A turn that a crash
 * left half written is not read: its length or its checksum does not fit.
 */
export class SampleLog {
  readonly #dir: string
  readonly #keptMs: number
  /** Time of the last turn of each file. */
  readonly #ends = new Map<number, number>()
  #number = 0
  #turns = turnsPerFile

  /** Files are removed when all of their turns are older than `keptMs`. */
  constructor(dir: string, keptMs: number) {
    this.#dir = dir
    this.#keptMs = keptMs
  }

  /** True when the next turn begins a file: its `state` must be whole, as the earlier ones may be gone. */
  get beginsFile(): boolean {
    return this.#turns >= turnsPerFile
  }

  /** Reads every whole turn, oldest first. */
  async load(use: (turn: LoggedTurn) => void): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    for (const number of await this.#numbers()) {
      this.#number = number
      this.#ends.set(number, 0)
      const bytes = await readFile(this.#file(number))
      for (let at = 0; at + headBytes <= bytes.length; ) {
        const length = bytes.readUInt32LE(at)
        const payload = bytes.subarray(at + headBytes, at + headBytes + length)
        if (payload.length !== length || crc32(payload) !== bytes.readUInt32LE(at + 4)) break
        const turn = decodeTurn(payload)
        use(turn)
        this.#ends.set(number, turn.t)
        at += headBytes + length
      }
    }
  }

  async append(turn: LoggedTurn): Promise<void> {
    if (this.beginsFile) await this.#nextFile(turn.t)
    const payload = encodeTurn(turn)
    const head = Buffer.alloc(headBytes)
    head.writeUInt32LE(payload.length, 0)
    head.writeUInt32LE(crc32(payload), 4)
    const file = await open(this.#file(this.#number), 'a', 0o600)
    try {
      await file.appendFile(Buffer.concat([head, payload]))
      this.#turns += 1
      this.#ends.set(this.#number, turn.t)
    } catch (error) {
      // Whatever was written of it would hide the turns behind it: go on in another file.
      this.#turns = turnsPerFile
      throw error
    } finally {
      await file.close()
    }
  }

  async #nextFile(nowMs: number): Promise<void> {
    this.#number += 1
    this.#turns = 0
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

function encodeTurn({ t, records, state }: LoggedTurn): Buffer {
  const head = Buffer.alloc(12)
  const json = Buffer.from(JSON.stringify(state))
  head.writeDoubleLE(t, 0)
  head.writeUInt32LE(json.length, 8)
  const parts: Uint8Array[] = [head, json]
  for (const { appEnvId, record } of records) {
    const id = Buffer.from(appEnvId)
    parts.push(Buffer.of(id.length), id, record)
  }
  return Buffer.concat(parts)
}

function decodeTurn(payload: Buffer): LoggedTurn {
  const jsonEnd = 12 + payload.readUInt32LE(8)
  const records: LoggedTurn['records'] = []
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
