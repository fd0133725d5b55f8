import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { ArchiveLedger, type ArchiveLimits, archiveLimits, badArchive } from './archive-ledger.ts'
import { createSourceWriter, type SourceWriter } from './source-writer.ts'
import { unpackTar } from './unpack-tar.ts'
import { unpackZip } from './unpack-zip.ts'

export type ArchiveExtension = '.tgz' | '.tar.gz' | '.zip'

export interface UnpackOptions {
  /** The uploaded file. */
  file: string
  extension: ArchiveExtension
  /** A folder that does not exist yet; removed again if the archive is rejected. */
  into: string
  /** Path of the Dockerfile relative to the source; null if the source needs none. */
  dockerfile?: string | null
  /** Other files that identify the source folder if there is no Dockerfile. */
  landmarks?: readonly string[]
  limits?: Partial<ArchiveLimits>
  signal: AbortSignal
}

interface Unpacked {
  /** Entries of the archive, folders included. */
  entries: number
  files: number
  /** Bytes of all files. */
  bytes: number
  /** `into`, or its only folder if the Dockerfile is in that folder. */
  sourceDir: string
  /** Absent if there is nothing to say. */
  found?: SourceWriter['found']
}

/**
 * Unpacks an uploaded archive: no devices, no paths outside, copies in place of links. All names and sizes are checked before
 * the first file is written. Throws `EngineFailure('bad archive')`, the signal's reason when aborted, or
 * `AppError('unavailable')` if the disk is full.
 */
export async function unpackArchive(options: UnpackOptions): Promise<Unpacked> {
  const { file, extension, into, signal } = options
  signal.throwIfAborted()
  const compressedBytes = (await stat(file)).size
  await refuseOtherType(file, extension)
  const ledger = new ArchiveLedger({ ...archiveLimits, ...options.limits }, compressedBytes)
  await mkdir(path.dirname(into), { recursive: true })
  await mkdir(into)
  try {
    const unpack = extension === '.zip' ? unpackZip : unpackTar
    const writer = createSourceWriter(into)
    await unpack(file, ledger, writer, signal)
    signal.throwIfAborted()
    if (ledger.files === 0) throw badArchive('The archive holds no files.')
    const dockerfile = options.dockerfile === undefined ? 'Dockerfile' : options.dockerfile
    const sourceDir =
      dockerfile === null ? into : await sourceRoot(into, [dockerfile, ...(options.landmarks ?? [])])
    return {
      entries: ledger.entries,
      files: ledger.files,
      bytes: ledger.fileBytes,
      sourceDir,
      ...(hasNotes(writer) && { found: writer.found }),
    }
  } catch (error) {
    await rm(into, { recursive: true, force: true })
    throw signal.aborted ? signal.reason : error
  }
}

const looksLike: readonly { magic: number[]; what: string; kind: 'gzip' | 'zip' | null }[] = [
  { magic: [0x1f, 0x8b], what: 'gzip', kind: 'gzip' },
  { magic: [0x50, 0x4b], what: 'zip', kind: 'zip' },
  { magic: [0x42, 0x5a, 0x68], what: 'bzip2', kind: null },
  { magic: [0xfd, 0x37, 0x7a, 0x58], what: 'xz', kind: null },
  { magic: [0x28, 0xb5, 0x2f, 0xfd], what: 'zstd', kind: null },
]

/** A wrong extension is the most common mistake: report the file's type instead of a parser error. */
async function refuseOtherType(file: string, extension: ArchiveExtension): Promise<void> {
  const wanted = extension === '.zip' ? 'zip' : 'gzip'
  const handle = await open(file, 'r')
  const head = Buffer.alloc(4)
  const { bytesRead } = await handle.read(head, 0, 4, 0).finally(() => handle.close())
  if (bytesRead === 0) throw badArchive('The archive is empty. Upload it again.')
  const found = looksLike.find(({ magic }) => magic.every((byte, index) => head[index] === byte))
  if (found?.kind === wanted) return
  const claimed = wanted === 'zip' ? 'a zip archive' : 'a gzip-compressed tar archive'
  const remedy =
    found?.kind === 'zip'
      ? 'It is a zip: ask for a storage key with fileExtension .zip.'
      : found?.kind === 'gzip'
        ? 'It is gzip data: ask for a storage key with fileExtension .tgz.'
        : `${found ? `It is ${found.what} data. ` : ''}Pack it with ${wanted === 'zip' ? 'zip -r' : 'tar -czf'}.`
  throw badArchive(`The upload is not ${claimed}. ${remedy}`)
}

/**
 * Archives from Git hosts contain one folder with everything in it. It becomes the source only if it contains the
 * Dockerfile and is the only entry; any other archive is used unchanged.
 */
async function sourceRoot(into: string, landmarks: readonly string[]): Promise<string> {
  const holdsOne = async (folder: string) =>
    (await Promise.all(landmarks.map((name) => isFile(path.join(folder, name))))).includes(true)
  if (await holdsOne(into)) return into
  const all = await readdir(into, { withFileTypes: true })
  const top = all.filter(({ name }) => !isClutter(name))
  const only = top[0]
  if (top.length !== 1 || !only?.isDirectory()) return into
  const inner = path.join(into, only.name)
  return (await holdsOne(inner)) ? inner : into
}

function hasNotes({ found }: SourceWriter): boolean {
  return found.lfsPointers.length + found.linksLeftOut.length > 0
}

/** What macOS puts beside a folder. */
function isClutter(name: string): boolean {
  return name === '.DS_Store' || name === '__MACOSX' || name.startsWith('._')
}

async function isFile(file: string): Promise<boolean> {
  return await stat(file).then(
    (found) => found.isFile(),
    () => false,
  )
}
