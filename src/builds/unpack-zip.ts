import type { Readable } from 'node:stream'
import zlib from 'node:zlib'
import yauzl, { type Entry, type LocalFileHeader, type ZipFile } from 'yauzl'
import { EngineFailure } from '../engines/engine.ts'
import { AppError } from '../errors.ts'
import { type ArchiveLedger, badArchive, type EntryKind, type PlacedEntry, quoted } from './archive-ledger.ts'
import type { SourceWriter } from './source-writer.ts'

/** The part of an entry that is kept between the two passes: small, whatever the central directory contains. */
interface ZipItem {
  name: string
  placed: PlacedEntry
  isFile: boolean
  executable: boolean
  deflated: boolean
  crc32: number
  compressedSize: number
  uncompressedSize: number
  /** Offset of its content in the file. */
  dataStart: number
  headerStart: number
}

type Unplaced = Omit<ZipItem, 'placed'>

const encryptedFlag = 0x1
const sizesFollowFlag = 0x8
const zip64Marker = 0xffffffff
/** Bytes of the extra fields of an entry: times, owners and a name of up to 2 KiB. The library makes an object of each. */
const mostExtra = 4 * 1024
/** As the longest path in Linux. */
const mostLinkBytes = 4 * 1024

/**
 * Unpacks a zip in two passes: the first checks every entry (names, types, both headers, overlaps), the second writes
 * the contents. A bad directory writes nothing.
 */
export async function unpackZip(
  file: string,
  ledger: ArchiveLedger,
  writer: SourceWriter,
  signal: AbortSignal,
): Promise<void> {
  try {
    const zip = await yauzl.openPromise(file, {
      autoClose: false,
      decodeStrings: false,
      strictFileNames: true,
      validateEntrySizes: true,
    })
    try {
      const items = await readDirectory(zip, ledger, signal)
      const links = ledger.copyLinks()
      for (const item of items) {
        signal.throwIfAborted()
        await writeItem(zip, item, ledger, writer)
      }
      await writer.links(links, signal)
    } finally {
      zip.close()
    }
  } catch (error) {
    throw readable(error, signal)
  }
}

async function readDirectory(zip: ZipFile, ledger: ArchiveLedger, signal: AbortSignal): Promise<ZipItem[]> {
  // An archive may claim any count, so check it before reading.
  ledger.refuseEntryCount(zip.entryCount)
  const directoryStart = zip.readEntryCursor as unknown as number
  const items: ZipItem[] = []
  const spans: { start: number; end: number; name: string }[] = []
  for await (const entry of zip.eachEntry()) {
    signal.throwIfAborted()
    const item = await checkEntry(zip, entry, ledger)
    if (!item) continue
    items.push(item)
    spans.push({ start: item.headerStart, end: item.dataStart + item.compressedSize, name: item.name })
  }
  refuseOverlaps(spans, directoryStart)
  return items
}

async function checkEntry(zip: ZipFile, entry: Entry, ledger: ArchiveLedger): Promise<ZipItem | null> {
  const raw = entry.fileNameRaw
  // Code page 437 decodes control bytes to printable characters, so check the raw bytes too.
  if (raw.some((byte) => byte < 0x20 || byte === 0x7f)) {
    throw badArchive(`The entry ${quoted(raw.toString('latin1'))} has a control character in its name.`)
  }
  const name = yauzl.getFileNameLowLevel(entry.generalPurposeBitFlag, raw, entry.extraFields, true)
  const kind = kindOf(entry, name)
  const isFile = kind === 'file'
  if (entry.extraFieldLength > mostExtra)
    throw badArchive(`${quoted(name)} has more than 4 KiB of extra fields. Pack the source again.`)
  if (entry.isEncrypted()) {
    throw badArchive(`${quoted(name)} is encrypted. Pack the source without a password.`)
  }
  if (entry.compressionMethod !== 0 && entry.compressionMethod !== 8) {
    throw badArchive(`${quoted(name)} has an unknown compression method (${entry.compressionMethod}).`)
  }
  const local = await zip.readLocalFileHeaderPromise(entry)
  if (contradicts(entry, local)) {
    throw badArchive(`The two headers of ${quoted(name)} contradict each other. Pack the source again.`)
  }
  const item = itemOf(entry, local, name, isFile)
  const placed =
    kind === 'link'
      ? ledger.placeLink(name, await linkTarget(zip, item, ledger))
      : ledger.place(name, kind, entry.uncompressedSize)
  return placed && { ...item, placed }
}

function itemOf(entry: Entry, local: LocalFileHeader, name: string, isFile: boolean): Unplaced {
  return {
    name,
    isFile,
    executable: (unixMode(entry) & 0o111) !== 0,
    deflated: entry.compressionMethod === 8,
    crc32: entry.crc32,
    compressedSize: entry.compressedSize,
    uncompressedSize: entry.uncompressedSize,
    dataStart: local.fileDataStart,
    headerStart: entry.relativeOffsetOfLocalHeader,
  }
}

/** The Unix mode, which Unix-like tools store in the upper half of the external attributes; otherwise 0. */
function unixMode(entry: Entry): number {
  return entry.externalFileAttributes >>> 16
}

function kindOf(entry: Entry, name: string): EntryKind {
  const type = unixMode(entry) & 0o170000
  const isFolderName = name.endsWith('/')
  if (type === 0o120000) {
    if (entry.uncompressedSize > mostLinkBytes)
      throw badArchive(`${quoted(name)} is a link of an invalid size.`)
    return 'link'
  }
  if (type !== 0 && type !== 0o100000 && type !== 0o040000) {
    throw badArchive(`${quoted(name)} is a device, pipe or socket. Only files and folders can be uploaded.`)
  }
  if (type !== 0 && (type === 0o040000) !== isFolderName) {
    throw badArchive(`${quoted(name)} is both a file and a folder.`)
  }
  if (isFolderName && entry.uncompressedSize > 0) {
    throw badArchive(`${quoted(name)} is a folder with content.`)
  }
  return isFolderName ? 'directory' : 'file'
}

/** A reader that trusts the other header would unpack another archive, which would bypass the checks. */
function contradicts(entry: Entry, local: LocalFileHeader): boolean {
  if (!local.fileName.equals(entry.fileNameRaw)) return true
  if (local.compressionMethod !== entry.compressionMethod) return true
  if ((local.generalPurposeBitFlag & encryptedFlag) !== 0) return true
  if ((local.generalPurposeBitFlag & sizesFollowFlag) !== 0) return false
  const differs = (ours: number, theirs: number) => theirs !== zip64Marker && ours !== theirs
  return (
    local.crc32 !== entry.crc32 ||
    differs(entry.compressedSize, local.compressedSize) ||
    differs(entry.uncompressedSize, local.uncompressedSize)
  )
}

/** Overlapping entries would unpack the same bytes many times. */
function refuseOverlaps(spans: { start: number; end: number; name: string }[], directoryStart: number): void {
  spans.sort((a, b) => a.start - b.start)
  let end = 0
  for (const span of spans) {
    if (span.start < end || span.end > directoryStart) {
      throw badArchive(`${quoted(span.name)} overlaps other data in the archive. Pack the source again.`)
    }
    end = span.end
  }
}

async function writeItem(zip: ZipFile, item: ZipItem, ledger: ArchiveLedger, writer: SourceWriter) {
  if (!item.isFile) return writer.directory(item.placed)
  const stream = await openContent(zip, item)
  await writer.file(item.placed, item.executable, checked(stream, item, ledger))
}

/** The content of a link's entry. */
async function linkTarget(zip: ZipFile, item: Unplaced, ledger: ArchiveLedger): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of checked(await openContent(zip, item), item, ledger)) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

function openContent(zip: ZipFile, item: Unplaced): Promise<Readable> {
  return new Promise((resolve, reject) => {
    zip.openReadStreamLowLevel(
      item.dataStart,
      item.compressedSize,
      0,
      item.compressedSize,
      item.deflated,
      item.uncompressedSize,
      (error, stream) => {
        if (error) return reject(error)
        // It runs before it is read: the reader gets an error of that time too, but an event without a listener is fatal.
        stream.on('error', () => {})
        resolve(stream)
      },
    )
  })
}

async function* checked(stream: Readable, item: Unplaced, ledger: ArchiveLedger): AsyncGenerator<Buffer> {
  let crc = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    ledger.countOutput(chunk.length)
    crc = zlib.crc32(chunk, crc)
    yield chunk
  }
  if (crc !== item.crc32) {
    throw badArchive(`The content of ${quoted(item.name)} is damaged (checksum). Upload the archive again.`)
  }
}

function readable(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof EngineFailure || error instanceof AppError || signal.aborted) return error
  if (!(error instanceof Error)) return error
  const code = (error as NodeJS.ErrnoException).code
  if (code?.startsWith('E') && !code.startsWith('ERR_')) return error
  if (/End of central directory/.test(error.message)) {
    return badArchive('The archive is not a zip file, or it ends too early. Pack it with zip -r.', error)
  }
  if (error instanceof TypeError || error instanceof ReferenceError) return error
  return badArchive('The zip archive is damaged. Pack it again with zip -r and upload it.', error)
}
