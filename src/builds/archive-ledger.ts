import { EngineFailure } from '../engines/engine.ts'

/** What an archive may become once it is unpacked (goals.md, Uploads). */
export interface ArchiveLimits {
  /** Bytes after decompression. */
  maxBytes: number
  /** Entries, and folders that entries imply. */
  maxEntries: number
  /** Bytes after decompression for each byte of the upload. */
  maxRatio: number
  /** The ratio counts only beyond this much output, so that a tiny file of zeros is fine. */
  ratioFloorBytes: number
  /** Bytes of a tar stream that belong to no file: headers, padding, extended names. */
  maxOverheadBytes: number
}

export const archiveLimits: ArchiveLimits = {
  maxBytes: 1024 ** 3,
  maxEntries: 20_000,
  maxRatio: 200,
  ratioFloorBytes: 1024 ** 2,
  maxOverheadBytes: 128 * 1024 ** 2,
}

export type EntryKind = 'file' | 'directory'

export interface PlacedEntry {
  /** Relative to the target folder, `/`-separated, free of `.` and `..`. */
  path: string
  /** Folders to make before it, outermost first. */
  newDirectories: string[]
}

const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/
const maxNameBytes = 255
const maxPathBytes = 2_048
const maxDepth = 100

/**
 * Keeps the account of one archive while it is unpacked: which paths are taken, how much came out. Every rule
 * about names and amounts is here, the same for tar and zip. Refusals are `EngineFailure('bad archive')`.
 */
export class ArchiveLedger {
  readonly #limits: ArchiveLimits
  readonly #compressedBytes: number
  readonly #paths = new Map<string, EntryKind>()
  #headers = 0
  #outputBytes = 0
  files = 0
  /** Bytes of file content, as the entries declare them. */
  fileBytes = 0

  constructor(limits: ArchiveLimits, compressedBytes: number) {
    this.#limits = limits
    this.#compressedBytes = compressedBytes
  }

  /** Entries seen so far. */
  get entries(): number {
    return this.#headers
  }

  /** Takes the next entry; null for the root itself (`./`). */
  place(name: string, kind: EntryKind, size: number): PlacedEntry | null {
    this.#headers += 1
    this.refuseEntryCount(this.#headers)
    const parts = safeParts(name)
    if (kind === 'file') {
      this.files += 1
      this.fileBytes += size
      this.#refuseBytes(this.fileBytes)
    }
    if (parts.length === 0) {
      if (kind === 'file') throw badArchive(`The entry ${quoted(name)} has no file name.`)
      return null
    }
    const newDirectories = this.#takeDirectories(name, kind === 'file' ? parts.slice(0, -1) : parts)
    const path = parts.join('/')
    if (kind === 'file') this.#takeFile(name, path)
    this.refuseEntryCount(this.#paths.size)
    return { path, newDirectories }
  }

  /** Refuses more entries than allowed; also for a count that an archive declares up front. */
  refuseEntryCount(count: number): void {
    if (count <= this.#limits.maxEntries) return
    const most = this.#limits.maxEntries.toLocaleString('en-US')
    throw badArchive(
      `The archive has more than ${most} entries. Leave out what the build does not need, such as node_modules.`,
    )
  }

  /** Counts decompressed bytes as they come out, so that a bomb is stopped while it unfolds. */
  countOutput(bytes: number): void {
    this.#outputBytes += bytes
    this.#refuseBytes(this.#outputBytes)
    const { maxRatio, ratioFloorBytes, maxOverheadBytes } = this.#limits
    if (this.#outputBytes > ratioFloorBytes && this.#outputBytes > maxRatio * this.#compressedBytes) {
      throw badArchive(
        `The archive unpacks to more than ${maxRatio} times its size, which looks like an archive bomb. Leave out files of repeated bytes.`,
      )
    }
    if (this.#outputBytes - this.fileBytes > maxOverheadBytes) {
      throw badArchive('The archive is made almost only of headers. Pack it again with tar or zip.')
    }
  }

  #refuseBytes(bytes: number): void {
    if (bytes <= this.#limits.maxBytes) return
    throw badArchive(
      `The archive unpacks to more than ${Math.floor(this.#limits.maxBytes / 1024 ** 2)} MiB. Leave out what the build does not need.`,
    )
  }

  #takeDirectories(name: string, parts: string[]): string[] {
    const made: string[] = []
    for (let length = 1; length <= parts.length; length += 1) {
      const path = parts.slice(0, length).join('/')
      const taken = this.#paths.get(path)
      if (taken === 'file') throw badArchive(`${quoted(name)} uses the file ${quoted(path)} as a folder.`)
      if (taken === undefined) {
        this.#paths.set(path, 'directory')
        made.push(path)
      }
    }
    return made
  }

  #takeFile(name: string, path: string): void {
    const taken = this.#paths.get(path)
    if (taken === 'directory') throw badArchive(`${quoted(name)} is both a file and a folder.`)
    if (taken === 'file') throw badArchive(`The archive holds ${quoted(name)} twice. Pack each file once.`)
    this.#paths.set(path, 'file')
  }
}

/** The parts of an entry's name, or a refusal: nothing that could point outside or be read in two ways. */
function safeParts(name: string): string[] {
  const refuse = (why: string) => badArchive(`The entry ${quoted(name)} ${why}`)
  if (name === '') throw badArchive('The archive holds an entry without a name.')
  if (controlCharacter.test(name)) throw refuse('has a control character in its name. Rename the file.')
  if (name.includes('\ufffd')) throw refuse('has a name that is not UTF-8. Rename the file.')
  if (name.includes('\\')) throw refuse('has a backslash in its name. Use / between folders.')
  if (name.startsWith('/')) throw refuse('has an absolute path. Pack relative paths only.')
  if (/^(?:\.\/)*[A-Za-z]:/.test(name)) throw refuse('begins with a drive letter. Pack relative paths only.')
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw refuse('leaves its folder with "..". Pack from inside the source folder.')
  if (Buffer.byteLength(name) > maxPathBytes || parts.length > maxDepth) throw refuse('has too long a path.')
  if (parts.some((part) => Buffer.byteLength(part) > maxNameBytes)) throw refuse('has too long a name.')
  return parts
}

export function badArchive(message: string, cause?: unknown): EngineFailure {
  return new EngineFailure('bad archive', message, cause === undefined ? undefined : { cause })
}

/** A name as it may be shown: short, on one line, nothing invisible. */
export function quoted(name: string): string {
  const short = name.length > 120 ? `${name.slice(0, 120)}…` : name
  return JSON.stringify(short).replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
