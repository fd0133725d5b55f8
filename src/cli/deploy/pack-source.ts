import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { pack as createPack, type Pack } from 'tar-stream'
import { readableBytes } from '../../amounts.ts'
import { AppError } from '../../errors.ts'
import type { SourceFile, SourceListing } from './source-listing.ts'

export { listSource, type SourceFile, type SourceListing } from './source-listing.ts'

/** Upload limits of the platform (docs/interface.md#uploads), checked before uploading. */
const maxFiles = 20_000
const maxBytes = 1024 ** 3
const maxArchiveBytes = 512 * 1024 ** 2

interface PackedSource {
  file: string
  /** Size of the archive. */
  bytes: number
}

/**
 * Packs a listing into a `.tgz` file, one source file at a time, so that memory use stays constant. `onFile` gets the
 * number of packed files.
 */
export async function packSource(
  listing: SourceListing,
  file: string,
  options: { signal: AbortSignal; onFile?: (packed: number) => void },
): Promise<PackedSource> {
  refuseTooMuch(listing)
  const pack = createPack()
  const filling = fill(pack, listing, options)
  // The first failure of either side ends the other; await both, so that no rejection is unhandled.
  filling.catch((error: Error) => (pack as unknown as Readable).destroy(error))
  const writing = pipeline(
    pack as unknown as Readable,
    createGzip({ level: 6 }),
    createWriteStream(file, { mode: 0o600 }),
    { signal: options.signal },
  )
  const [filled, written] = await Promise.allSettled([filling, writing])
  options.signal.throwIfAborted()
  for (const outcome of [filled, written]) if (outcome.status === 'rejected') throw outcome.reason
  const bytes = (await stat(file)).size
  if (bytes <= maxArchiveBytes) return { file, bytes }
  throw new AppError('too-large', `The packed source has ${readableBytes(bytes)}`, {
    details: `An upload may have at most ${readableBytes(maxArchiveBytes)}. ${leaveOut(listing)}`,
  })
}

async function fill(
  pack: Pack,
  listing: SourceListing,
  options: { signal: AbortSignal; onFile?: (packed: number) => void },
): Promise<void> {
  let packed = 0
  for (const source of listing.files) {
    options.signal.throwIfAborted()
    await addFile(pack, listing.root, source)
    packed += 1
    options.onFile?.(packed)
  }
  pack.finalize()
}

async function addFile(pack: Pack, root: string, source: SourceFile): Promise<void> {
  const sink = pack.entry({
    name: source.path,
    size: source.bytes,
    mode: source.executable ? 0o755 : 0o644,
    // The same source gives the same archive; the platform ignores times.
    mtime: new Date(0),
    ...(source.link === undefined ? {} : { type: 'symlink' as const, linkname: source.link }),
  }) as unknown as NodeJS.WritableStream
  if (source.bytes === 0) {
    sink.end()
    return
  }
  try {
    await pipeline(createReadStream(path.join(root, source.path), { end: source.bytes - 1 }), sink)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const unreadable = code === 'EACCES' || code === 'EPERM' || code === 'EISDIR'
    throw new AppError('invalid', `${JSON.stringify(source.path)} cannot be packed`, {
      details: unreadable
        ? `It cannot be read (${code}). Make it readable, or exclude it with .longshoreignore.`
        : 'It changed while it was being packed. Deploy again when no program writes to the folder.',
      cause: error,
    })
  }
}

function refuseTooMuch(listing: SourceListing): void {
  if (listing.files.length > maxFiles) {
    throw new AppError('too-large', `The source has ${listing.files.length.toLocaleString('en-US')} files`, {
      details: `At most ${maxFiles.toLocaleString('en-US')} can be uploaded. ${leaveOut(listing)}`,
    })
  }
  if (listing.bytes > maxBytes) {
    throw new AppError('too-large', `The source has ${readableBytes(listing.bytes)}`, {
      details: `At most ${readableBytes(maxBytes)} can be uploaded. ${leaveOut(listing)}`,
    })
  }
}

/** Names the largest part of the tree, which is nearly always there by mistake. */
function leaveOut(listing: SourceListing): string {
  const weight = new Map<string, { bytes: number; files: number }>()
  for (const file of listing.files) {
    const top = file.path.includes('/') ? `${file.path.slice(0, file.path.indexOf('/'))}/` : file.path
    const known = weight.get(top) ?? { bytes: 0, files: 0 }
    weight.set(top, { bytes: known.bytes + file.bytes, files: known.files + 1 })
  }
  const heavy = [...weight].sort(
    ([, a], [, b]) => b.bytes + b.files * 50_000 - (a.bytes + a.files * 50_000),
  )[0]
  if (!heavy) return ''
  const [name, { bytes, files }] = heavy
  return `Most of it is ${JSON.stringify(name)} (${files} files, ${readableBytes(bytes)}). Exclude files that the build does not need with .longshoreignore.`
}
