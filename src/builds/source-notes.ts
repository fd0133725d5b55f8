import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { SourceWriter } from './source-writer.ts'

const mostNamed = 10

/** What a person should know about a source before they wonder what was built: lines for the build log. */
export async function sourceNotes(sourceDir: string, found?: SourceWriter['found']): Promise<string[]> {
  const note = (files: readonly string[], text: string) => {
    if (files.length === 0) return []
    const more = files.length > mostNamed ? ` and ${files.length - mostNamed} more` : ''
    return [`Warning: ${files.slice(0, mostNamed).join(', ')}${more}: ${text}`]
  }
  return [
    ...note(found?.linksLeftOut ?? [], 'left out, a link that leads nowhere or to a folder around it'),
    ...note(
      found?.lfsPointers ?? [],
      'not the file itself, but a pointer of Git LFS; commit it without LFS, or upload a folder with the files',
    ),
    ...note(
      await emptySubmodules(sourceDir),
      'an empty folder, because submodules are not fetched; commit the files, or upload a folder with them',
    ),
  ]
}

/** Folders of `.gitmodules` without a file. */
async function emptySubmodules(sourceDir: string): Promise<string[]> {
  const text = await readFile(path.join(sourceDir, '.gitmodules'), 'utf8').catch(() => '')
  const folders = [...text.matchAll(/^\s*path\s*=\s*(\S.*?)\s*$/gm)].map(([, folder]) => folder!)
  const inside = folders.filter((folder) => !path.isAbsolute(folder) && !folder.split('/').includes('..'))
  const isEmpty = async (folder: string) =>
    (await readdir(path.join(sourceDir, folder)).catch(() => [])).length === 0
  const empty = await Promise.all(inside.slice(0, 1_000).map(isEmpty))
  return inside.filter((_folder, index) => empty[index])
}
