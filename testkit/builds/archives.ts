// Builds archives byte by byte, because ordinary packers cannot create the hostile ones these tests need.
import zlib from 'node:zlib'

export interface TarEntry {
  name: string
  content?: string | Buffer
  /** POSIX type flag: 0 file, 1 hard link, 2 symbolic link, 3 and 4 devices, 5 folder, 6 fifo, x pax. */
  type?: string
  mode?: number
  link?: string
  /** The size in the header; by default the content's length. */
  size?: number
}

export function tarBytes(entries: TarEntry[], { end = true } = {}): Buffer {
  const blocks = entries.flatMap((entry) => {
    const content = Buffer.from(entry.content ?? '')
    const padding = Buffer.alloc((512 - (content.length % 512)) % 512)
    return [tarHeader(entry, entry.size ?? content.length), content, padding]
  })
  return Buffer.concat(end ? [...blocks, Buffer.alloc(1024)] : blocks)
}

export function tgz(entries: TarEntry[], options?: { end?: boolean }): Buffer {
  return zlib.gzipSync(tarBytes(entries, options), { level: 1 })
}

/** A pax extended header with these records, to be put before the entry it describes. */
export function pax(records: Record<string, string>): TarEntry {
  const lines = Object.entries(records).map(([key, value]) => {
    const body = ` ${key}=${value}\n`
    let length = Buffer.byteLength(body) + 1
    while (Buffer.byteLength(`${length}${body}`) !== length) length += 1
    return `${length}${body}`
  })
  return { name: 'PaxHeader/x', type: 'x', content: lines.join('') }
}

/** The way GNU tar writes a name longer than its header holds. */
export function gnuLongName(name: string): TarEntry {
  return { name: '././@LongLink', type: 'L', content: `${name}\0` }
}

function tarHeader(entry: TarEntry, size: number): Buffer {
  const header = Buffer.alloc(512)
  header.write(entry.name, 0, 100, 'utf8')
  header.write(`${(entry.mode ?? 0o644).toString(8).padStart(7, '0')}\0`, 100)
  header.write('0000000\u00000000000\0', 108)
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write('        ', 148)
  header.write(entry.type ?? '0', 156)
  if (entry.link !== undefined) header.write(entry.link, 157, 100)
  header.write('ustar\u000000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

export interface ZipEntry {
  /** Bytes of extra fields in the central directory. */
  extraBytes?: number
  name: string | Buffer
  content?: string | Buffer
  /** Unix mode with the file type bits; 0 for archives made on other systems. */
  mode?: number
  stored?: boolean
  flags?: number
  method?: number
  /** Values of the local header that differ from the central directory. */
  local?: { name?: string; size?: number; crc?: number; method?: number; flags?: number }
  /** The unpacked size in both headers. */
  claimedSize?: number
  claimedCrc?: number
  /** Points the central directory at the local header of an earlier entry. */
  sameDataAs?: number
  /** Points the central directory at this byte: a local header inside other data. */
  headerAt?: number
  /** Writes sizes and offset into a zip64 field. */
  zip64?: boolean
}

export function zip(entries: ZipEntry[], options: { claimedCount?: number } = {}): Buffer {
  const chunks: Buffer[] = []
  const central: Buffer[] = []
  const offsets: number[] = []
  let offset = 0
  for (const entry of entries) {
    const content = Buffer.from(entry.content ?? '')
    const method = entry.method ?? (entry.stored ? 0 : 8)
    const data = method === 8 ? zlib.deflateRawSync(content) : content
    const facts = {
      name: Buffer.from(entry.name as string),
      method,
      flags: entry.flags ?? 0x800,
      crc: entry.claimedCrc ?? zlib.crc32(content),
      packed: data.length,
      size: entry.claimedSize ?? content.length,
      extra: entry.extraBytes ?? 0,
    }
    const shared = entry.headerAt ?? (entry.sameDataAs === undefined ? undefined : offsets[entry.sameDataAs])
    const start = shared ?? offset
    offsets.push(start)
    if (shared === undefined) {
      const local = { ...facts, ...entry.local, name: Buffer.from(entry.local?.name ?? facts.name) }
      const bytes = Buffer.concat([zipHeader(local, false, 0, 0, false), data])
      chunks.push(bytes)
      offset += bytes.length
    }
    central.push(zipHeader(facts, true, entry.mode ?? 0o100644, start, entry.zip64 ?? false))
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(options.claimedCount ?? entries.length, 8)
  end.writeUInt16LE(options.claimedCount ?? entries.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...chunks, directory, end])
}

function zipHeader(
  facts: {
    name: Buffer
    method: number
    flags: number
    crc: number
    packed: number
    size: number
    extra: number
  },
  isCentral: boolean,
  mode: number,
  start: number,
  zip64: boolean,
): Buffer {
  const header = Buffer.alloc(isCentral ? 46 : 30)
  const shift = isCentral ? 2 : 0
  header.writeUInt32LE(isCentral ? 0x02014b50 : 0x04034b50, 0)
  if (isCentral) header.writeUInt16LE((3 << 8) | 20, 4)
  header.writeUInt16LE(20, 4 + shift)
  header.writeUInt16LE(facts.flags, 6 + shift)
  header.writeUInt16LE(facts.method, 8 + shift)
  header.writeUInt32LE(facts.crc, 14 + shift)
  header.writeUInt32LE(zip64 ? 0xffffffff : facts.packed, 18 + shift)
  header.writeUInt32LE(zip64 ? 0xffffffff : facts.size, 22 + shift)
  header.writeUInt16LE(facts.name.length, 26 + shift)
  const extra = zip64 ? zip64Field(facts.size, facts.packed) : Buffer.alloc(isCentral ? facts.extra : 0)
  header.writeUInt16LE(extra.length, 28 + shift)
  if (isCentral) {
    header.writeUInt32LE((mode << 16) >>> 0, 38)
    header.writeUInt32LE(start, 42)
  }
  return Buffer.concat([header, facts.name, extra])
}

function zip64Field(size: number, packed: number): Buffer {
  const field = Buffer.alloc(20)
  field.writeUInt16LE(1, 0)
  field.writeUInt16LE(16, 2)
  field.writeBigUInt64LE(BigInt(size), 4)
  field.writeBigUInt64LE(BigInt(packed), 12)
  return field
}
