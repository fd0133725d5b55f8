import type { Readable } from 'node:stream'
import { Pacer } from '../../pacer.ts'
import { EngineFailure } from '../engine.ts'

/** One item of a Redis dump. `value`: its type and the bytes of its value, as in the file. */
type RdbItem =
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

/** Reads a dump (RDB, versions 9 to 12) with one key in memory at a time. */
export async function* readRdb(source: Readable): AsyncGenerator<RdbItem> {
  const bytes = new RdbBytes(source)
  const magic = (await bytes.take(9)).toString('latin1')
  const version = Number(/^REDIS(\d{4})$/.exec(magic)?.[1])
  if (!version) throw new EngineFailure('database', 'The copy is not a Redis dump.')
  let db = 0
  let expiresAtMs: number | null = null
  for (;;) {
    const type = await bytes.byte()
    switch (type) {
      case opcode.end:
        return
      case opcode.aux:
        await bytes.skipString()
        await bytes.skipString()
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

/** Types whose value is a count followed by that many entries of this many strings. */
const stringsPerEntry: Partial<Record<number, number>> = { 1: 1, 2: 1, 4: 2, 14: 1 }
/** Types whose value is one string, whatever its internal encoding. */
const oneString = new Set([0, 9, 10, 11, 12, 13, 16, 17, 20])

async function skipValue(bytes: RdbBytes, type: number): Promise<void> {
  const each = stringsPerEntry[type]
  if (oneString.has(type)) await bytes.skipString()
  else if (each !== undefined) {
    for (let left = (await bytes.length()) * each; left > 0; left--) await bytes.skipString()
  } else if (type === 3 || type === 5) await skipSortedSet(bytes, type)
  else if (type === 18) await skipQuicklist(bytes)
  else if (type === 15 || type === 19 || type === 21) await skipStream(bytes, type)
  else if (type === 7) await skipModule(bytes)
  else if (type === 24) await skipHashWithExpiry(bytes)
  else if (type === 25) {
    await bytes.take(8)
    await bytes.skipString()
  } else throw new EngineFailure('database', `The dump holds a value of the unknown type ${type}.`)
}

async function skipSortedSet(bytes: RdbBytes, type: number): Promise<void> {
  for (let left = await bytes.length(); left > 0; left--) {
    await bytes.skipString()
    if (type === 5) await bytes.take(8)
    else {
      const digits = await bytes.byte()
      // Values from 253 are infinities and NaN, without digits.
      if (digits < 253) await bytes.take(digits)
    }
  }
}

async function skipQuicklist(bytes: RdbBytes): Promise<void> {
  for (let left = await bytes.length(); left > 0; left--) {
    await bytes.length()
    await bytes.skipString()
  }
}

/** Hash with field expiry (Redis 7.4): the earliest expiry, then each expiry with its field and value. */
async function skipHashWithExpiry(bytes: RdbBytes): Promise<void> {
  await bytes.take(8)
  for (let left = await bytes.length(); left > 0; left--) {
    await bytes.length()
    await bytes.skipString()
    await bytes.skipString()
  }
}

async function skipStream(bytes: RdbBytes, type: number): Promise<void> {
  for (let left = (await bytes.length()) * 2; left > 0; left--) await bytes.skipString()
  // Entries and last id; from the second format on also first id, greatest deleted id and entries added.
  for (let left = type === 15 ? 3 : 8; left > 0; left--) await bytes.length()
  for (let groups = await bytes.length(); groups > 0; groups--) {
    await bytes.skipString()
    for (let left = type === 15 ? 2 : 3; left > 0; left--) await bytes.length()
    for (let pending = await bytes.length(); pending > 0; pending--) {
      await bytes.take(24)
      await bytes.length()
    }
    for (let consumers = await bytes.length(); consumers > 0; consumers--) {
      await bytes.skipString()
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
    else await bytes.skipString()
  }
}

/** Reads the bytes of a dump in order; while a record is open, also keeps the bytes read for it. */
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
    if (encoded) throw new EngineFailure('database', 'The dump is damaged: a length is not a number.')
    return value
  }

  /** The stored form: a compressed string stays compressed. */
  async string(): Promise<Buffer> {
    const { value, encoded } = await this.#length()
    if (!encoded) return await this.take(value)
    if (value === 3) {
      const compressed = await this.length()
      const plain = await this.length()
      if (plain > longestKey)
        throw new EngineFailure('database', 'The dump has a key or function of more than 64 MB.')
      return decompress(await this.take(compressed), plain)
    }
    const size = sizeOfInteger(value)
    return Buffer.from(String((await this.take(size)).readIntLE(0, size)))
  }

  /** Passes over a string in its stored form: a few bytes may stand for half a gigabyte. */
  async skipString(): Promise<void> {
    const { value, encoded } = await this.#length()
    if (!encoded) await this.take(value)
    else if (value === 3) {
      const compressed = await this.length()
      await this.length()
      await this.take(compressed)
    } else await this.take(sizeOfInteger(value))
  }

  /** Two bits give the size of the length field, or mark a specially encoded string. */
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
    const buffers = [this.#buffer]
    for (let length = this.#buffer.length; length < count; ) {
      const next = await this.#chunks.next()
      if (next.done) throw new EngineFailure('database', 'The dump ends too early.')
      buffers.push(next.value)
      length += next.value.length
    }
    this.#buffer = Buffer.concat(buffers)
  }
}

const mostInATurn = 1024 ** 2

/** Limit for keys and functions, which are needed uncompressed. */
const longestKey = 64 * 1024 ** 2

function sizeOfInteger(encoding: number): number {
  const size = [1, 2, 4][encoding]
  if (size === undefined)
    throw new EngineFailure('database', 'The dump is damaged: a string of unknown encoding.')
  return size
}

/** LZF: literal runs, and references to earlier output. */
async function decompress(input: Buffer, length: number): Promise<Buffer> {
  const output = Buffer.alloc(length)
  const pacer = new Pacer()
  let at = 0
  let paced = 0
  for (let next = 0; next < input.length; ) {
    if (at - paced > mostInATurn) {
      await pacer.after(at - paced)
      paced = at
    }
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
    // Byte by byte, because the reference may overlap its own output.
    for (let step = 0; step < count; step++) output[at++] = output[from + step]!
  }
  return output
}
