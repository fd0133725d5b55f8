import { createReadStream } from 'node:fs'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract as createExtract, type Header } from 'tar-stream'
import { type ArchiveLedger, badArchive, type EntryKind, quoted } from './archive-ledger.ts'
import type { SourceWriter } from './source-writer.ts'

/** What tar-stream hands out; its own types lean on a package without any. */
type EntryContent = AsyncIterable<Uint8Array> & { resume(): unknown }

/** Unpacks a gzip-compressed tar in one pass; memory does not grow with the archive. */
export async function unpackTar(
  file: string,
  ledger: ArchiveLedger,
  writer: SourceWriter,
  signal: AbortSignal,
): Promise<void> {
  const extract = createExtract()
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        ledger.countOutput(chunk.length)
        done(null, chunk)
      } catch (error) {
        done(error as Error)
      }
    },
  })
  const feeding = pipeline(createReadStream(file), createGunzip(), counter, extract, { signal })
  const fed = feeding.then(
    () => undefined,
    (reason: unknown) => reason ?? new Error('The pipeline failed without a reason'),
  )
  let refusal: unknown
  try {
    for await (const entry of extract) {
      try {
        await takeEntry(entry as unknown as EntryContent, entry.header, ledger, writer)
      } catch (error) {
        // The stream's own failure arrives through the pipeline; what is thrown here is the cause of it all.
        refusal = error
        throw error
      }
    }
    await feeding
  } catch (error) {
    extract.destroy()
    throw readable(mostTelling(refusal, await fed, error))
  }
}

async function takeEntry(
  content: EntryContent,
  header: Header,
  ledger: ArchiveLedger,
  writer: SourceWriter,
): Promise<void> {
  const size = header.size
  const kind = kindOf(header, size)
  const placed = ledger.place(header.name, kind, size)
  if (kind === 'file' && placed) {
    await writer.file(placed, (header.mode & 0o111) !== 0, content)
    return
  }
  if (placed) await writer.directory(placed)
  content.resume()
}

function kindOf(header: Header, size: number): EntryKind {
  const name = quoted(header.name)
  const pax = (header.pax ?? {}) as Record<string, string>
  if (Object.keys(pax).some((key) => key.startsWith('GNU.sparse.'))) {
    throw badArchive(`${name} is packed as a sparse file. Pack without --sparse.`)
  }
  switch (header.type) {
    case 'directory':
      return 'directory'
    case 'file':
    case 'contiguous-file':
      // Old tars mark a folder by the slash at the end of its name.
      if (!header.name.endsWith('/')) return 'file'
      if (size > 0) throw badArchive(`${name} is both a file and a folder.`)
      return 'directory'
    case 'symlink':
      throw badArchive(`${name} is a symbolic link. Links are refused: pack what it points to (tar -h).`)
    case 'link':
      throw badArchive(`${name} is a hard link. Links are refused: pack a copy (tar --hard-dereference).`)
    case 'fifo':
    case 'character-device':
    case 'block-device':
      throw badArchive(
        `${name} is a ${header.type.replace('-', ' ')}. Only files and folders can be uploaded.`,
      )
    default:
      throw badArchive(`${name} is of a kind that is not known. Only files and folders can be uploaded.`)
  }
}

/** One failure shows up at both ends of the pipeline, at one of them as a mere consequence. */
function mostTelling(refusal: unknown, fed: unknown, seen: unknown): unknown {
  const consequence = (error: unknown) => {
    const code = (error as { code?: string } | undefined)?.code
    return error === undefined || code === 'ERR_STREAM_PREMATURE_CLOSE' || isStreamDestroyed(error)
  }
  for (const error of [fed, refusal, seen]) if (!consequence(error)) return error
  return refusal ?? fed ?? seen
}

function isStreamDestroyed(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(?:Stream was destroyed|Premature close|Writable stream closed)/i.test(error.message)
  )
}

function readable(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'Z_BUF_ERROR' || error.message === 'Unexpected end of data') {
    return badArchive('The archive ends too early. Upload it again as a whole.', error)
  }
  if (code?.startsWith('Z_')) {
    return badArchive('The archive is not valid gzip data. Pack it with tar -czf and upload it again.', error)
  }
  if (/^(?:Invalid (?:tar )?header|Header exceeds)/.test(error.message)) {
    return badArchive('The archive is not a valid tar. Pack it with tar -czf and upload it again.', error)
  }
  return error
}
