import { EngineFailure } from '../engines/engine.ts'
import { type EntryKind, type LinkCopy, linkCopies, targetOf } from './link-copies.ts'

export type { EntryKind } from './link-copies.ts'

/** Limits of an unpacked archive. */
export interface ArchiveLimits {
  /** Bytes after decompression. */
  maxBytes: number
  /** Entries, including folders that entries imply. */
  maxEntries: number
  /** Decompressed bytes per uploaded byte. */
  maxRatio: number
  /** The ratio applies only beyond this much output, so that a tiny file of zeros is accepted. */
  ratioFloorBytes: number
  /** Bytes of a tar stream outside file contents: headers, padding, extended names. */
  maxOverheadBytes: number
}

export const archiveLimits: ArchiveLimits = {
  maxBytes: 1024 ** 3,
  maxEntries: 20_000,
  maxRatio: 200,
  ratioFloorBytes: 1024 ** 2,
  maxOverheadBytes: 128 * 1024 ** 2,
}

export interface PlacedEntry {
  /** Relative to the target folder, separated by `/`, without `.` and `..`. */
  path: string
  /** Folders to create first, outermost first. */
  newDirectories: string[]
}

const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/
/** Characters that make a name display as another one. */
const directionCharacter = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
/**
 * Zero-width, tag and other characters that cannot be seen: two names look the same, or a name carries hidden text.
 * An emoji's own selectors may stay.
 */
const invisibleClass = String.raw`(?![\ufe0e\ufe0f])[\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]`
const invisibleCharacter = new RegExp(invisibleClass, 'u')
const escapedInMessages = new RegExp(String.raw`[\u007f-\u009f]|${invisibleClass}`, 'gu')
const maxNameBytes = 255
const maxPathBytes = 2_048
const maxDepth = 100

/**
 * Tracks the paths and output of one archive while it is unpacked. All rules about names and sizes are here, shared
 * by tar and zip. Violations throw `EngineFailure('bad archive')`.
 */
export class ArchiveLedger {
  readonly #limits: ArchiveLimits
  readonly #compressedBytes: number
  readonly #paths = new Map<string, EntryKind>()
  readonly #sizes = new Map<string, number>()
  readonly #links = new Map<string, string>()
  #headers = 0
  #outputBytes = 0
  files = 0
  /** Bytes of file content, as declared by the entries. */
  fileBytes = 0

  constructor(limits: ArchiveLimits, compressedBytes: number) {
    this.#limits = limits
    this.#compressedBytes = compressedBytes
  }

  /** Entries seen so far. */
  get entries(): number {
    return this.#headers
  }

  /** Registers the next entry; null for the root itself (`./`). */
  place(name: string, kind: EntryKind, size: number): PlacedEntry | null {
    this.#headers += 1
    this.refuseEntryCount(this.#headers)
    const segments = pathSegments(name)
    if (kind === 'file') {
      this.files += 1
      this.fileBytes += size
      this.#refuseOutput(this.fileBytes)
    }
    if (segments.length === 0) {
      if (kind !== 'directory') throw badArchive(`The entry ${quoted(name)} has no file name.`)
      return null
    }
    const newDirectories = this.#takeDirectories(
      name,
      kind === 'directory' ? segments : segments.slice(0, -1),
    )
    const path = segments.join('/')
    if (kind !== 'directory') this.#takeFile(name, path, kind)
    if (kind === 'file') this.#sizes.set(path, size)
    this.refuseEntryCount(this.#paths.size)
    return { path, newDirectories }
  }

  /** Registers a symbolic link, whose target must lie in the archive. Copies take its place; its folder is new now. */
  placeLink(name: string, target: string): PlacedEntry {
    const placed = this.place(name, 'link', 0)
    if (
      !placed ||
      controlCharacter.test(target) ||
      target.includes('\\') ||
      targetOf(placed.path, target) === null
    )
      throw badArchive(
        `${quoted(name)} is a symbolic link that leads out of the source. Remove it, or pack what it points to.`,
      )
    this.#links.set(placed.path, target)
    return placed
  }

  /** Copies that take the place of the links; called once, when every entry is registered. */
  copyLinks(): { copies: { from: string; kind: EntryKind; placed: PlacedEntry }[]; leftOut: string[] } {
    const copies: { from: string; kind: EntryKind; placed: PlacedEntry }[] = []
    const leftOut: string[] = []
    for (const { to, from, kind } of [...this.#countedLinks()]) {
      if (this.#paths.get(to) === 'link') this.#paths.delete(to)
      const placed = from === null ? null : this.place(to, kind, this.#sizes.get(from) ?? 0)
      if (placed && from !== null) copies.push({ from, kind, placed })
      else leftOut.push(to)
    }
    return { copies, leftOut }
  }

  /** Folders that link to each other can stand for any number of files. */
  *#countedLinks(): Generator<LinkCopy> {
    let count = this.#headers
    for (const copy of linkCopies(this.#paths, this.#links)) {
      this.refuseEntryCount(++count)
      yield copy
    }
  }

  /** Checks the number of entries, also for a count that an archive declares up front. */
  refuseEntryCount(count: number): void {
    if (count <= this.#limits.maxEntries) return
    const most = this.#limits.maxEntries.toLocaleString('en-US')
    throw badArchive(
      `The archive has more than ${most} entries. Leave out what the build does not need, such as node_modules.`,
    )
  }

  /** Counts decompressed bytes as they are produced, so that an archive bomb is stopped early. */
  countOutput(bytes: number): void {
    this.#outputBytes += bytes
    this.#refuseOutput(this.#outputBytes)
    if (this.#outputBytes - this.fileBytes > this.#limits.maxOverheadBytes) {
      throw badArchive('The archive consists almost only of headers. Pack it again with tar or zip.')
    }
  }

  #refuseOutput(bytes: number): void {
    const { maxBytes, maxRatio, ratioFloorBytes } = this.#limits
    if (bytes > maxBytes) {
      throw badArchive(
        `The archive unpacks to more than ${Math.floor(maxBytes / 1024 ** 2)} MiB. Leave out what the build does not need.`,
      )
    }
    if (bytes > ratioFloorBytes && bytes > maxRatio * this.#compressedBytes) {
      throw badArchive(
        `The archive unpacks to more than ${maxRatio} times its size, which looks like an archive bomb. Leave out files of repeated bytes.`,
      )
    }
  }

  #takeDirectories(name: string, segments: string[]): string[] {
    const made: string[] = []
    // Most entries are in a known folder; otherwise every folder above must be checked.
    if (this.#paths.get(segments.join('/')) === 'directory') return made
    for (let length = 1; length <= segments.length; length += 1) {
      const path = segments.slice(0, length).join('/')
      const taken = this.#paths.get(path)
      if (taken === 'link') throw badArchive(`${quoted(name)} is below the symbolic link ${quoted(path)}.`)
      if (taken === 'file') throw badArchive(`${quoted(name)} uses the file ${quoted(path)} as a folder.`)
      if (taken === undefined) {
        this.#paths.set(path, 'directory')
        made.push(path)
      }
    }
    return made
  }

  #takeFile(name: string, path: string, kind: EntryKind): void {
    const taken = this.#paths.get(path)
    if (taken === 'directory') throw badArchive(`${quoted(name)} is both a file and a folder.`)
    if (taken !== undefined) throw badArchive(`The archive holds ${quoted(name)} twice. Pack each file once.`)
    this.#paths.set(path, kind)
  }
}

/** Splits an entry's name into segments; rejects names that could leave the folder or are ambiguous. */
function pathSegments(name: string): string[] {
  const refuse = (why: string) => badArchive(`The entry ${quoted(name)} ${why}`)
  if (name === '') throw badArchive('The archive holds an entry without a name.')
  if (controlCharacter.test(name)) throw refuse('has a control character in its name. Rename the file.')
  if (directionCharacter.test(name))
    throw refuse('has a character in its name that turns the direction of text. Rename the file.')
  if (invisibleCharacter.test(name)) throw refuse('has an invisible character in its name. Rename the file.')
  if (name.includes('\ufffd')) throw refuse('has a name that is not UTF-8. Rename the file.')
  if (name.includes('\\')) throw refuse('has a backslash in its name. Use / between folders.')
  if (name.startsWith('/')) throw refuse('has an absolute path. Pack relative paths only.')
  if (/^(?:\.\/)*[A-Za-z]:/.test(name)) throw refuse('begins with a drive letter. Pack relative paths only.')
  const segments = name.split('/').filter((part) => part !== '' && part !== '.')
  if (segments.includes('..'))
    throw refuse('leaves its folder with "..". Pack from inside the source folder.')
  if (Buffer.byteLength(name) > maxPathBytes || segments.length > maxDepth)
    throw refuse('has too long a path.')
  if (segments.some((part) => Buffer.byteLength(part) > maxNameBytes)) throw refuse('has too long a name.')
  return segments
}

export function badArchive(message: string, cause?: unknown): EngineFailure {
  return new EngineFailure('bad archive', message, cause === undefined ? undefined : { cause })
}

/** A name for messages: short, on one line, without invisible characters. */
export function quoted(name: string): string {
  const short = name.length > 120 ? `${name.slice(0, 120)}…` : name
  return JSON.stringify(short).replace(
    escapedInMessages,
    (character) => `\\u{${character.codePointAt(0)!.toString(16).padStart(4, '0')}}`,
  )
}
