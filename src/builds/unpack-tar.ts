import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { type ArchiveLedger, badArchive, type EntryKind, type PlacedEntry, quoted } from './archive-ledger.ts'
import type { SourceWriter } from './source-writer.ts'
import { endsEarly, readTar, type TarEntry, type TarHeader } from './tar-reader.ts'

/** The part of an entry that is kept between the two passes. */
interface TarItem {
  /** Null for the root itself. */
  placed: PlacedEntry | null
  kind: EntryKind
}

/**
 * Unpacks a gzip-compressed tar in two passes: the first checks every header and counts every byte, the second writes
 * the contents. A rejected archive writes nothing. Memory grows with the number of entries only.
 */
export async function unpackTar(
  file: string,
  ledger: ArchiveLedger,
  writer: SourceWriter,
  signal: AbortSignal,
): Promise<void> {
  // Opened once: a file that replaces this one between the passes is not read.
  const handle = await open(file)
  try {
    await unpackOpened(handle, ledger, writer, signal)
  } finally {
    await handle.close()
  }
}

async function unpackOpened(
  file: FileHandle,
  ledger: ArchiveLedger,
  writer: SourceWriter,
  signal: AbortSignal,
): Promise<void> {
  const items: TarItem[] = []
  await eachEntry(
    file,
    async ({ header }) => {
      const kind = kindOf(header)
      const placed =
        kind === 'link'
          ? ledger.placeLink(header.name, header.link)
          : ledger.place(header.name, kind, header.size)
      items.push({ kind, placed })
    },
    { signal, onOutput: (bytes) => ledger.countOutput(bytes) },
  )
  const links = ledger.copyLinks()
  const toWrite = items.values()
  await eachEntry(
    file,
    async ({ header, content }) => {
      const { placed, kind } = toWrite.next().value as TarItem
      if (placed && kind === 'file') await writer.file(placed, (header.mode & 0o111) !== 0, content)
      else if (placed) await writer.directory(placed)
    },
    { signal, onOutput: () => {} },
  )
  await writer.links(links, signal)
}

async function eachEntry(
  file: FileHandle,
  visit: (entry: TarEntry) => Promise<void>,
  { signal, onOutput }: { signal: AbortSignal; onOutput: (bytes: number) => void },
): Promise<void> {
  const input = Readable.from(bytesOf(file, signal))
  const unzipped = createGunzip()
  input.once('error', (error) => unzipped.destroy(error)).pipe(unzipped)
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of unzipped as AsyncIterable<Buffer>) {
      onOutput(chunk.length)
      yield chunk
    }
  }
  try {
    for await (const entry of readTar(counted())) await visit(entry)
  } catch (error) {
    throw readable(error)
  } finally {
    input.destroy()
    unzipped.destroy()
  }
}

const mostAtOnce = 64 * 1024

/** From the beginning; a stream of the file would close it. */
async function* bytesOf(file: FileHandle, signal: AbortSignal): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    signal.throwIfAborted()
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.allocUnsafe(mostAtOnce), position })
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
    position += bytesRead
  }
}

function kindOf(header: TarHeader): EntryKind {
  const name = quoted(header.name)
  if (header.isSparse) throw badArchive(`${name} is packed as a sparse file. Pack without --sparse.`)
  switch (header.type) {
    case '5':
      return 'directory'
    case '0':
    case '7':
      // Old tars mark a folder by a slash at the end of its name.
      if (!header.name.endsWith('/')) return 'file'
      if (header.size > 0) throw badArchive(`${name} is both a file and a folder.`)
      return 'directory'
    case '2':
      return 'link'
    case '1':
      throw badArchive(`${name} is a hard link. Links are refused: pack a copy (tar --hard-dereference).`)
    case '3':
    case '4':
    case '6':
      throw badArchive(`${name} is a ${special[header.type]}. Only files and folders can be uploaded.`)
    default:
      throw badArchive(`${name} is of an unknown type. Only files and folders can be uploaded.`)
  }
}

const special = { 3: 'character device', 4: 'block device', 6: 'fifo' } as const

function readable(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException | null)?.code
  if (code === 'Z_BUF_ERROR') return endsEarly(error)
  if (code?.startsWith('Z_')) {
    return badArchive('The archive is not valid gzip data. Pack it with tar -czf and upload it again.', error)
  }
  return error
}
