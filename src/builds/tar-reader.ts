import { badArchive, quoted } from './archive-ledger.ts'

/** One entry of a tar, with its extended headers applied. */
export interface TarHeader {
  name: string
  /** The POSIX type flag: `0` file, `1` hard link, `2` symbolic link, `5` folder, … */
  type: string
  /** Bytes of content; never negative. */
  size: number
  mode: number
  /** Target of a link. */
  link: string
  isSparse: boolean
}

export interface TarEntry {
  header: TarHeader
  /** Content that the caller does not read is skipped. */
  content: AsyncIterable<Buffer>
}

const blockBytes = 512
/** Limit of one extended header; decoding blocks the event loop. The longest allowed path has 2 kB. */
const mostExtendedBytes = 64 * 1024
const mostRecords = 256
/** Headers that extend one entry: a long name, a long link and records, and those of the archive. */
const mostExtending = 8
const zeros = Buffer.alloc(blockBytes)

/**
 * Reads the entries of an uncompressed tar (POSIX ustar and pax, GNU long names) in constant memory. Sizes are whole
 * numbers from 0. Throws `EngineFailure('bad archive')`.
 */
export async function* readTar(source: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  const bytes = new ByteReader(source)
  let longName: string | null = null
  let longLink: string | null = null
  let records: ReadonlyMap<string, string> = new Map()
  let extending = 0
  for (let block = await bytes.block(); block !== null; block = await bytes.block()) {
    // Zero blocks mark the end, but also separate concatenated archives.
    if (block.equals(zeros)) continue
    const header = decodeHeader(block)
    if ('xgLK'.includes(header.type)) {
      extending += 1
      // They do not count as entries, but each takes as long as one.
      if (extending > mostExtending)
        throw badArchive(`An entry of the archive has more than ${mostExtending} extended headers.`)
      const text = await extendedHeader(bytes, header)
      if (header.type === 'L') longName = text.toString().replace(/\0.*$/s, '')
      if (header.type === 'K') longLink = text.toString().replace(/\0.*$/s, '')
      if (header.type === 'x') records = decodeRecords(text)
      if (header.type === 'g') refuseGlobal(decodeRecords(text))
      continue
    }
    applyExtended(header, { name: longName, link: longLink }, records)
    longName = null
    longLink = null
    records = new Map()
    extending = 0
    // A folder has no content, whatever size its header gives (POSIX).
    const size = header.type === '5' ? 0 : header.size
    const content = bytes.take(size)
    yield { header, content }
    for await (const _ of content);
    await bytes.skip((blockBytes - (size % blockBytes)) % blockBytes)
  }
}

function applyExtended(
  header: TarHeader,
  long: { name: string | null; link: string | null },
  records: ReadonlyMap<string, string>,
): void {
  header.name = records.get('path') ?? long.name ?? header.name
  header.link = records.get('linkpath') ?? long.link ?? header.link
  header.isSparse = [...records.keys()].some((key) => key.startsWith('GNU.sparse.'))
  const size = records.get('size')
  if (size === undefined) return
  if (!/^\d{1,15}$/.test(size)) throw invalidSize(header.name)
  header.size = Number(size)
}

async function extendedHeader(bytes: ByteReader, { size, name }: TarHeader): Promise<Buffer> {
  if (size > mostExtendedBytes)
    throw badArchive(`An extended header of the archive (${quoted(name)}) is longer than 64 KiB.`)
  const chunks: Buffer[] = []
  for await (const chunk of bytes.take(size)) chunks.push(chunk)
  await bytes.skip((blockBytes - (size % blockBytes)) % blockBytes)
  return Buffer.concat(chunks)
}

/** Readers disagree on how a global header applies to entries, so it may contain only comments. */
function refuseGlobal(records: ReadonlyMap<string, string>): void {
  for (const key of ['path', 'size', 'linkpath'])
    if (records.has(key)) throw badArchive(`A global header of the archive sets the ${key} of all entries.`)
}

/**
 * Records of the form `length key=value
 * `; the length includes itself.
 */
function decodeRecords(text: Buffer): Map<string, string> {
  const records = new Map<string, string>()
  for (let at = 0, count = 0; at < text.length && text[at] !== 0; count += 1) {
    const length = /^(\d{1,6}) /.exec(text.toString('latin1', at, at + 8))?.[1]
    const end = at + Number(length)
    const record = text.toString('utf8', at + (length?.length ?? 0) + 1, end - 1)
    const equals = record.indexOf('=')
    if (
      length === undefined ||
      end > text.length ||
      equals < 1 ||
      text[end - 1] !== 10 ||
      count >= mostRecords
    )
      throw invalidTar()
    records.set(record.slice(0, equals), record.slice(equals + 1))
    at = end
  }
  return records
}

function decodeHeader(block: Buffer): TarHeader {
  // The checksum counts its own eight bytes as spaces.
  let sum = 8 * 32
  for (let at = 0; at < blockBytes; at += 1) if (at < 148 || at >= 156) sum += block[at]!
  const magic = block.toString('latin1', 257, 263)
  const isPosix = magic === 'ustar\0'
  if (octal(block, 148, 8) !== sum || (!isPosix && magic !== 'ustar ')) throw invalidTar()
  const prefix = isPosix ? textAt(block, 345, 155) : ''
  const name = textAt(block, 0, 100)
  const size = block[124]! & 0x80 ? base256(block.subarray(124, 136)) : octal(block, 124, 12)
  if (size === null) throw invalidSize(name)
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    type: block[156] === 0 ? '0' : String.fromCharCode(block[156]!),
    size,
    mode: octal(block, 100, 8) ?? 0o644,
    link: textAt(block, 157, 100),
    isSparse: false,
  }
}

function textAt(block: Buffer, start: number, length: number): string {
  const field = block.subarray(start, start + length)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end < 0 ? length : end)
}

/** Null if it contains anything but octal digits, such as a minus sign. */
function octal(block: Buffer, start: number, length: number): number | null {
  const digits = block.toString('latin1', start, start + length).replace(/^[ \0]+|[ \0].*$/gs, '')
  return /^[0-7]*$/.test(digits) ? Number.parseInt(digits || '0', 8) : null
}

/** GNU tar's format for sizes from 8 GiB; null if negative or beyond all limits. */
function base256(field: Buffer): number | null {
  const isSmall = field[0] === 0x80 && field.subarray(1, -6).every((byte) => byte === 0)
  return isSmall ? field.readUIntBE(field.length - 6, 6) : null
}

function invalidTar() {
  return badArchive('The archive is not a valid tar. Pack it with tar -czf and upload it again.')
}

function invalidSize(name: string) {
  return badArchive(`${quoted(name)} has an invalid size. Pack it again with tar -czf.`)
}

/** Chunks as a source of exact amounts of bytes. */
class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>
  #held: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>) {
    this.#chunks = source[Symbol.asyncIterator]()
  }

  /** The next header block; null at the end. */
  async block(): Promise<Buffer | null> {
    if (this.#held.length >= blockBytes) return this.#cut(blockBytes)
    const chunks: Buffer[] = []
    let missing = blockBytes
    while (missing > 0 && (await this.#fill())) {
      const part = this.#cut(missing)
      chunks.push(part)
      missing -= part.length
    }
    if (chunks.length === 0) return null
    if (missing > 0) throw endsEarly()
    return Buffer.concat(chunks)
  }

  async *take(count: number): AsyncGenerator<Buffer> {
    for (let missing = count; missing > 0; ) {
      if (!(await this.#fill())) throw endsEarly()
      const part = this.#cut(missing)
      missing -= part.length
      yield part
    }
  }

  async skip(count: number): Promise<void> {
    for await (const _ of this.take(count));
  }

  #cut(most: number): Buffer {
    const part = this.#held.subarray(0, most)
    this.#held = this.#held.subarray(part.length)
    return part
  }

  /** False when there is no more. */
  async #fill(): Promise<boolean> {
    while (this.#held.length === 0) {
      const next = await this.#chunks.next()
      if (next.done) return false
      this.#held = next.value
    }
    return true
  }
}

export function endsEarly(cause?: unknown) {
  return badArchive('The archive ends too early. Upload it again as a whole.', cause)
}
