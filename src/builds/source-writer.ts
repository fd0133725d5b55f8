import { mkdir, open } from 'node:fs/promises'
import path from 'node:path'
import { diskFull } from '../files/disk-full.ts'
import { badArchive, type PlacedEntry, quoted } from './archive-ledger.ts'

/** Writes the entries that the ledger accepted into a new folder. Never opens an existing file. */
export interface SourceWriter {
  directory(entry: PlacedEntry): Promise<void>
  /** `executable` is the only mode bit that is kept; set-id and sticky bits are dropped. */
  file(entry: PlacedEntry, executable: boolean, content: AsyncIterable<Uint8Array>): Promise<void>
}

export function createSourceWriter(into: string): SourceWriter {
  const directory = async (entry: PlacedEntry) => {
    for (const folder of entry.newDirectories) {
      await translated(folder, () => mkdir(path.join(into, folder), { mode: 0o755 }))
    }
  }
  return {
    directory,
    async file(entry, executable, content) {
      await directory(entry)
      const mode = executable ? 0o755 : 0o644
      // 'wx' is O_EXCL: it follows no link and overwrites nothing, even if names differ only by case.
      const file = await translated(entry.path, () => open(path.join(into, entry.path), 'wx', mode))
      try {
        for await (const chunk of content) await translated(entry.path, () => file.writeFile(chunk))
        await file.chmod(mode)
      } finally {
        await file.close()
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
