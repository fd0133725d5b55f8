import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { SourceListing } from './source-listing.ts'

const mostPointerBytes = 1024

/** What is missing in a folder of Git although it looks complete. The build log names the same. */
export async function sourceWarnings({ root, files }: SourceListing): Promise<string[]> {
  const read = (name: string) => readFile(path.join(root, name), 'utf8').catch(() => '')
  const usesLfs = /\bfilter=lfs\b/.test(await read('.gitattributes'))
  const small = usesLfs ? files.filter(({ bytes }) => bytes > 0 && bytes <= mostPointerBytes) : []
  const pointers: string[] = []
  for (const file of small) {
    if ((await read(file.path)).startsWith('version https://git-lfs.github.com/spec/'))
      pointers.push(file.path)
  }
  const modules = [...(await read('.gitmodules')).matchAll(/^\s*path\s*=\s*(\S.*?)\s*$/gm)].map(
    ([, name]) => name!,
  )
  const empty = modules.filter((name) => !files.some((file) => file.path.startsWith(`${name}/`)))
  return [
    ...(pointers.length > 0
      ? [`Pointers of Git LFS, not the files: ${named(pointers)}. git lfs pull fetches them.`]
      : []),
    ...(empty.length > 0
      ? [`Submodules without files: ${named(empty)}. git submodule update --init fetches them.`]
      : []),
  ]
}

function named(names: readonly string[]): string {
  return `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`
}
