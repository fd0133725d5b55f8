import { pipeline } from 'node:stream/promises'
import { extract, type Header, pack } from 'tar-stream'
import { readableBytes } from '../amounts.ts'
import { Pacer } from '../pacer.ts'
import { EngineFailure } from './engine.ts'

/** One entry of the tar of a volume. */
export interface VolumeEntry extends Omit<Header, 'type'> {
  /** Relative to the volume, without `.` and `..`; empty for the volume itself. */
  name: string
  type: 'file' | 'directory' | 'symlink' | 'link'
}

/** Programs make these again; a copy of one would not be the same thing. */
const leftOut = ['fifo', 'character-device', 'block-device']

export interface Owner {
  uid: number
  gid: number
}

interface TarForm {
  /** The entries are below it: relative, with a slash at its end. */
  folder?: string
  /** Owner of every entry; absent: as in the source. */
  owner?: Owner | undefined
  /** Most bytes of all files, as their headers say: a file with holes is as large as its end. */
  mostBytes?: number
}

/** The same tar, in the platform's own form. Breaks at an entry that could be written outside the volume. */
export async function* checkedTar(
  source: AsyncIterable<Buffer>,
  { folder = './', owner, mostBytes = Number.POSITIVE_INFINITY }: TarForm = {},
): AsyncGenerator<Buffer> {
  const out = pack()
  let left = mostBytes
  const filled = eachEntry(source, async (entry, content) => {
    left -= entry.size ?? 0
    if (left < 0) throw tooLarge(mostBytes)
    const name = `${folder}${entry.name}`
    const linkname = entry.type === 'link' ? `${folder}${entry.linkname}` : entry.linkname
    // Records of the source would win over the name that was checked.
    const pax = attributesOf(entry)
    await pipeline(content, out.entry({ ...entry, ...owner, name, linkname, pax }))
  })
  filled.then(
    () => out.finalize(),
    (error) => out.destroy(error),
  )
  yield* out as AsyncIterable<Buffer>
}

/** Extended attributes, such as capabilities; null if there are none. */
function attributesOf({ pax }: VolumeEntry): Record<string, string> | null {
  const kept = Object.entries(pax ?? {}).filter(([key]) => key.startsWith('SCHILY.xattr.'))
  return kept.length === 0 ? null : Object.fromEntries(kept)
}

/** Calls `take` with each entry, one after the other. Throws at an entry that could be written outside the volume. */
export async function eachEntry(
  source: AsyncIterable<Buffer>,
  take: (entry: VolumeEntry, content: AsyncIterable<Buffer>) => Promise<void>,
): Promise<void> {
  const tar = extract()
  // The first failure ends the other side too, whose own error is less specific.
  let failure: unknown
  const failed = (error: unknown) => {
    failure ??= error
  }
  const fed = pipeline(source, tar).catch(failed)
  const rules = new VolumeRules()
  const pacer = new Pacer()
  try {
    for await (const content of tar) {
      const entry = rules.admit(content.header)
      if (entry) await take(entry, chunksOf(content as AsyncIterable<Buffer>))
      // Skips the content that the entry's consumer did not read.
      content.resume()
      await pacer.after(content.header.name.length)
    }
  } catch (error) {
    failed(error)
  }
  await fed
  if (failure !== undefined) throw failure
}

/** An async iterator reports an end that came before it began; a pipeline of the stream itself would hang. */
async function* chunksOf(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* content
}

/** The longest path that Linux accepts. */
const longestName = 4_096
const deepest = 256
/** All names are in memory while a volume is copied. */
const mostEntries = 1_000_000
const mostCharacters = 128 * 1024 ** 2

/** A link in the volume may lead anywhere, but no entry is written through one. */
class VolumeRules {
  readonly #types = new Map<string, VolumeEntry['type']>()
  #characters = 0

  /** Null for an entry that is left out. */
  admit(found: Header): VolumeEntry | null {
    // Some write the type of the file into its mode too.
    const header = { ...found, mode: found.mode & 0o7777 }
    const type = header.type === 'contiguous-file' ? 'file' : header.type
    if (leftOut.includes(type)) return null
    if (type !== 'file' && type !== 'directory' && type !== 'symlink' && type !== 'link')
      throw refused(header.name, 'is of an unknown type')
    const name = this.#inside(header.name)
    if (name === '') return type === 'directory' ? { ...header, name, type } : null
    const before = this.#types.get(name)
    if (before !== undefined && (before !== 'directory' || type !== 'directory'))
      throw refused(header.name, 'is there twice')
    this.#note(header.name, name, type)
    if (type !== 'link') return { ...header, name, type }
    const linkname = this.#inside(header.linkname)
    if (!['file', 'link'].includes(this.#types.get(linkname) ?? ''))
      throw refused(header.name, 'is a hard link to no file before it')
    return { ...header, name, type, linkname }
  }

  #inside(name: string): string {
    if (name.length > longestName) throw refused(name, `has a name of more than ${longestName} characters`)
    if (name.startsWith('/')) throw refused(name, 'has an absolute path')
    // A replacement character would produce another name in the restored volume.
    if (name.includes('\ufffd')) throw notUtf8(name)
    const parts = name.split('/').filter((part) => part !== '' && part !== '.')
    if (parts.includes('..')) throw refused(name, 'leaves the volume')
    if (parts.length > deepest) throw refused(name, `is more than ${deepest} folders deep`)
    const path = parts.join('/')
    this.#admitFolders(name, path)
    return path
  }

  /** The folders above it, up to the first one that was admitted with all above it. */
  #admitFolders(name: string, path: string): void {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end)
      const known = this.#types.get(folder)
      if (known === 'directory') return
      if (known !== undefined) throw refused(name, 'is below a link or a file')
      this.#note(name, folder, 'directory')
    }
  }

  #note(name: string, path: string, type: VolumeEntry['type']): void {
    this.#types.set(path, type)
    this.#characters += path.length
    if (this.#types.size > mostEntries || this.#characters > mostCharacters)
      throw refused(name, 'is beyond what a copy can hold: 1,000,000 names of 128 MB in all')
  }
}

/** Before any of it is read. */
export function tooLarge(mostBytes: number): EngineFailure {
  return new EngineFailure(
    'interrupted',
    `The data is larger than ${readableBytes(mostBytes)}, the most that a copy may have on this installation. Files count with their whole size, also where they have holes.`,
  )
}

export function notUtf8(name: string): EngineFailure {
  return refused(name, 'has a name that is not UTF-8: rename it')
}

function refused(name: string, why: string): EngineFailure {
  return new EngineFailure(
    'bad archive',
    `The copy of the volume cannot be used: the entry ${JSON.stringify(name.slice(0, 120))} ${why}.`,
  )
}
