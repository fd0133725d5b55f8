import { constants, copyFile, mkdir, open } from 'node:fs/promises'
import path from 'node:path'
import { diskFull } from '../files/disk-full.ts'
import { type ArchiveLedger, badArchive, type PlacedEntry, quoted } from './archive-ledger.ts'

/** Writes the entries that the ledger accepted into a new folder. Never opens an existing file. */
export interface SourceWriter {
  directory(entry: PlacedEntry): Promise<void>
  /** `executable` is the only mode bit that is kept; set-id and sticky bits are dropped. */
  file(entry: PlacedEntry, executable: boolean, content: AsyncIterable<Uint8Array>): Promise<void>
  /** After all files: copies in place of links. */
  links(links: ReturnType<ArchiveLedger['copyLinks']>, signal: AbortSignal): Promise<void>
  /** What a person should know about the source. */
  readonly found: {
    /** Files that only stand for content kept elsewhere (Git LFS). */
    lfsPointers: string[]
    /** Links that lead nowhere, or to a folder around them. */
    linksLeftOut: string[]
  }
}

/** The beginning of every file that stands for one of Git LFS; such a file has less than a kilobyte. */
const lfsMark = Buffer.from('version https://git-lfs.github.com/spec/')
const mostPointerBytes = 1024

export function createSourceWriter(into: string): SourceWriter {
  const directory = async (entry: PlacedEntry) => {
    for (const folder of entry.newDirectories) {
      await translated(folder, () => mkdir(path.join(into, folder), { mode: 0o755 }))
    }
  }
  const found: SourceWriter['found'] = { lfsPointers: [], linksLeftOut: [] }
  return {
    directory,
    found,
    async file(entry, executable, content) {
      await directory(entry)
      const mode = executable ? 0o755 : 0o644
      // 'wx' is O_EXCL: it follows no link and overwrites nothing, even if names differ only by case.
      const file = await translated(entry.path, () => open(path.join(into, entry.path), 'wx', mode))
      try {
        let bytes = 0
        let isPointer = false
        for await (const chunk of content) {
          if (bytes === 0) isPointer = lfsMark.equals(chunk.subarray(0, lfsMark.length))
          bytes += chunk.length
          await translated(entry.path, () => file.writeFile(chunk))
        }
        if (isPointer && bytes <= mostPointerBytes) found.lfsPointers.push(entry.path)
        await file.chmod(mode)
      } finally {
        await file.close()
      }
    },
    async links({ copies, leftOut }, signal) {
      found.linksLeftOut.push(...leftOut)
      for (const { from, kind, placed } of copies) {
        signal.throwIfAborted()
        await directory(placed)
        const mode = constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL
        if (kind === 'file')
          await translated(placed.path, () =>
            copyFile(path.join(into, from), path.join(into, placed.path), mode),
          )
      }
    },
  }
}

async function translated<T>(name: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOSPC' || code === 'EDQUOT') throw diskFull(error)
    if (code === 'EEXIST' || code === 'ENOTDIR' || code === 'EISDIR') {
      throw badArchive(
        `The archive holds ${quoted(name)} twice, or with names that differ only by case.`,
        error,
      )
    }
    if (code === 'ENAMETOOLONG' || code === 'EILSEQ' || code === 'EINVAL') {
      throw badArchive(`The name ${quoted(name)} cannot be used for a file here. Rename it.`, error)
    }
    throw error
  }
}
