import type { Readable } from 'node:stream'
import { EngineFailure } from './engine.ts'

/** One thing of a Redis dump. `value`: its type and the bytes of its value, as they stand in the file. */
export type RdbItem =
  | { kind: 'key'; db: number; key: Buffer; expiresAtMs: number | null; value: Buffer; version: number }
  | { kind: 'function'; code: Buffer }

const opcode = {
  slotInfo: 244,
  function: 245,
  idle: 248,
  frequency: 249,
  aux: 250,
  resize: 251,
  expiryMs: 252,
  expirySeconds: 253,
  selectDb: 254,
  end: 255,
  moduleAux: 247,
} as const

/** Reads a dump (RDB, versions 9 to 12) from its first byte to its end, one key in memory at a time. */
export async function* readRdb(source: Readable): AsyncGenerator<RdbItem> {
  const bytes = new RdbBytes(source)
  const magic = (await bytes.take(9)).toString('latin1')
  const version = Number(/^REDIS(\d{4})$/.exec(magic)?.[1])
  if (!version) throw new EngineFailure('database', 'The copy is no dump of Redis.')
  let db = 0
  let expiresAtMs: number | null = null
  for (;;) {
    const type = await bytes.byte()
    switch (type) {
      case opcode.end:
        return
      case opcode.aux:
        await bytes.string()
        await bytes.string()
        break
      case opcode.resize:
        await bytes.length()
        await bytes.length()
        break
      case opcode.slotInfo:
        for (let field = 0; field < 3; field++) await bytes.length()
        break
      case opcode.selectDb:
        db = await bytes.length()
        break
      case opcode.idle:
        await bytes.length()
        break
      case opcode.frequency:
        await bytes.byte()
        break
      case opcode.expirySeconds:
        expiresAtMs = (await bytes.take(4)).readUInt32LE(0) * 1_000
        break
      case opcode.expiryMs:
        expiresAtMs = Number((await bytes.take(8)).readBigInt64LE(0))
        break
      case opcode.function:
        yield { kind: 'function', code: await bytes.string() }
        break
      case opcode.moduleAux:
        await bytes.length()
        await skipModule(bytes)
        break
      default: {
        const key = await bytes.string()
        bytes.beginRecord(type)
        await skipValue(bytes, type)
        yield { kind: 'key', db, key, expiresAtMs, value: bytes.endRecord(), version }
        expiresAtMs = null
      }
    }
  }
}

/** Types whose value is a count and then that many strings, times the number. */
const stringsPerEntry: Partial<Record<number, number>> = { 1: 1, 2: 1, 4: 2, 14: 1 }
/** Types whose value is one string, however it is encoded within. */
const oneString = new Set([0, 9, 10, 11, 12, 13, 16, 17, 20])

async function skipValue(bytes: RdbBytes, type: number): Promise<void> {
  const each = stringsPerEntry[type]
  if (oneString.has(type)) await bytes.string()
  else if (each !== undefined) {
    for (let left = (await bytes.length()) * each; left > 0; left--) await bytes.string()
  } else if (type === 3 || type === 5) await skipSortedSet(bytes, type)
  else if (type === 18) await skipQuicklist(bytes)
  else if (type === 15 || type === 19 || type === 21) await skipStream(bytes, type)
  else if (type === 7) await skipModule(bytes)
  else if (type === 24) await skipHashWithExpiry(bytes)
  else if (type === 25) {
    await bytes.take(8)
    await bytes.string()
  } else throw new EngineFailure('database', `The dump holds a value of the unknown type ${type}.`)
}

async function skipSortedSet(bytes: RdbBytes, type: number): Promise<void> {
  for (let left = await bytes.length(); left > 0; left--) {
    await bytes.string()
    if (type === 5) await bytes.take(8)
    else {
      const digits = await bytes.byte()
      // Above 252: infinities and not a number, without digits.
      if (digits < 253) await bytes.take(digits)
    }
  }
}

async function skipQuicklist(bytes: RdbBytes): Promise<void> {
  for (let left = await bytes.length(); left > 0; left--) {
    await bytes.length()
    await bytes.string()
  }
}

/** Fields with a time of their own (Redis 7.4): the earliest of them, then each with its field and value. */
async function skipHashWithExpiry(bytes: RdbBytes): Promise<void> {
  await bytes.take(8)
  for (let left = await bytes.length(); left > 0; left--) {
    await bytes.length()
    await bytes.string()
    await bytes.string()
  }
}

async function skipStream(bytes: RdbBytes, type: number): Promise<void> {
  for (let left = (await bytes.length()) * 2; left > 0; left--) await bytes.string()
  // Entries and the last id; from the second format on also first id, greatest deleted id, entries added.
  for (let left = type === 15 ? 3 : 8; left > 0; left--) await bytes.length()
  for (let groups = await bytes.length(); groups > 0; groups--) {
    await bytes.string()
    for (let left = type === 15 ? 2 : 3; left > 0; left--) await bytes.length()
    for (let pending = await bytes.length(); pending > 0; pending--) {
      await bytes.take(24)
      await bytes.length()
    }
    for (let consumers = await bytes.length(); consumers > 0; consumers--) {
      await bytes.string()
      await bytes.take(type === 21 ? 16 : 8)
      for (let pending = await bytes.length(); pending > 0; pending--) await bytes.take(16)
    }
  }
}

async function skipModule(bytes: RdbBytes): Promise<void> {
  await bytes.length()
  for (;;) {
    const part = await bytes.length()
    if (part === 0) return
    if (part === 1 || part === 2) await bytes.length()
    else if (part === 3) await bytes.take(4)
    else if (part === 4) await bytes.take(8)
    else await bytes.string()
  }
}

/** The bytes of a dump in order; while a record is open, all that is taken is kept for it too. */
class RdbBytes {
  readonly #chunks: AsyncIterator<Buffer>
  #buffer: Buffer = Buffer.alloc(0)
  #record: Buffer[] | null = null

  constructor(source: Readable) {
    this.#chunks = source[Symbol.asyncIterator]()
  }

  beginRecord(type: number): void {
    this.#record = [Buffer.from([type])]
  }

  endRecord(): Buffer {
    const record = Buffer.concat(this.#record ?? [])
    this.#record = null
    return record
  }

  async take(count: number): Promise<Buffer> {
    if (this.#buffer.length < count) await this.#fill(count)
    const part = this.#buffer.subarray(0, count)
    this.#buffer = this.#buffer.subarray(count)
    this.#record?.push(part)
    return part
  }

  async byte(): Promise<number> {
    return (await this.take(1))[0] as number
  }

  async length(): Promise<number> {
    const { value, encoded } = await this.#length()
    if (encoded) throw new EngineFailure('database', 'The dump is damaged: a length is no number.')
    return value
  }

  /** As it is stored: a compressed one stays compressed. */
  async string(): Promise<Buffer> {
    const { value, encoded } = await this.#length()
    if (!encoded) return await this.take(value)
    if (value === 3) {
      const compressed = await this.length()
      const plain = await this.length()
      return decompress(await this.take(compressed), plain)
    }
    const size = [1, 2, 4][value]
    if (size === undefined)
      throw new EngineFailure('database', 'The dump is damaged: a text of unknown kind.')
    return Buffer.from(String((await this.take(size)).readIntLE(0, size)))
  }

  /** Two bits say how long the length itself is, or that a text is encoded in a special way. */
  async #length(): Promise<{ value: number; encoded: boolean }> {
    const first = await this.byte()
    const kind = first >> 6
    if (kind === 3) return { value: first & 63, encoded: true }
    if (kind === 0) return { value: first & 63, encoded: false }
    if (kind === 1) return { value: ((first & 63) << 8) | (await this.byte()), encoded: false }
    if (first === 0x81) return { value: Number((await this.take(8)).readBigUInt64BE(0)), encoded: false }
    return { value: (await this.take(4)).readUInt32BE(0), encoded: false }
  }

  async #fill(count: number): Promise<void> {
    const parts = [this.#buffer]
    for (let length = this.#buffer.length; length < count; ) {
      const next = await this.#chunks.next()
      if (next.done) throw new EngineFailure('database', 'The dump ends too early.')
      parts.push(next.value)
      length += next.value.length
    }
    this.#buffer = Buffer.concat(parts)
  }
}

/** LZF: literal runs, and references to what was written before. */
function decompress(input: Buffer, length: number): Buffer {
  const output = Buffer.alloc(length)
  let at = 0
  for (let next = 0; next < input.length; ) {
    const control = input[next++]!
    if (control < 32) {
      input.copy(output, at, next, next + control + 1)
      next += control + 1
      at += control + 1
      continue
    }
    const more = control >> 5 === 7 ? input[next++]! : 0
    const count = (control >> 5) + more + 2
    const from = at - ((control & 31) << 8) - input[next++]! - 1
    // Byte by byte: the reference may reach into what it writes.
    for (let step = 0; step < count; step++) output[at++] = output[from + step]!
  }
  return output
}
