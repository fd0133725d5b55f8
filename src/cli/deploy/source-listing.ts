import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import path from 'node:path'
import ignore, { type Ignore } from 'ignore'
import { AppError } from '../../errors.ts'

/** One file that will be packed. */
export interface SourceFile {
  /** Relative to the source folder, `/`-separated. */
  path: string
  bytes: number
  executable: boolean
  /** A symbolic link: its target, which is inside the source. */
  link?: string
}

export interface SourceListing {
  /** Absolute path of the source folder. */
  root: string
  /** In a stable order. */
  files: SourceFile[]
  bytes: number
  /** The ignore file in use; null if there is none. */
  ignoreFile: '.longshoreignore' | '.gitignore' | null
  /** Files that are excluded because the platform would reject them, with the reason. */
  skipped: { path: string; why: string }[]
  /** True when an ignore rule excludes this existing path. */
  ignores(path: string): boolean
}

/** Always excluded: history, and the keys of an installation in the folder. */
const neverPacked = new Set(['.git', '.longshore'])

/** Excluded unless an ignore file re-includes it (`!node_modules`). */
const leftOutByDefault = ['node_modules', '.hg', '.svn', '.DS_Store'] as const

/** One ignore file and the folder that it applies to. */
interface Rules {
  base: string
  matcher: Ignore
}

/**
 * Lists the files that a deploy from this folder uploads. `.longshoreignore` excludes files; without one, every
 * `.gitignore` of the tree does. Special files, and links that lead out, are skipped: the platform rejects them.
 */
export async function listSource(dir: string): Promise<SourceListing> {
  const root = path.resolve(dir)
  await requireFolder(dir, root)
  const own = await readRules(path.join(root, '.longshoreignore'))
  const git = own === null ? await readRules(path.join(root, '.gitignore')) : null
  const rootRules = ignore().add([...leftOutByDefault])
  rootRules.add(own ?? git ?? '')
  const walk = new Walk(root, own === null)
  await walk.folder('', [{ base: '', matcher: rootRules }])
  const files = walk.files.sort((a, b) => (a.path < b.path ? -1 : 1))
  const ignoreFile = own !== null ? '.longshoreignore' : walk.foundGitignore ? '.gitignore' : null
  if (files.length === 0) throw nothingToDeploy(dir, ignoreFile)
  return {
    root,
    files,
    bytes: files.reduce((total, file) => total + file.bytes, 0),
    ignoreFile,
    skipped: walk.skipped,
    ignores: (file) => walk.ignored.some((left) => file === left || file.startsWith(`${left}/`)),
  }
}

class Walk {
  readonly #root: string
  readonly #gitignores: boolean
  readonly files: SourceFile[] = []
  readonly skipped: { path: string; why: string }[] = []
  readonly ignored: string[] = []
  foundGitignore = false

  constructor(root: string, gitignores: boolean) {
    this.#root = root
    this.#gitignores = gitignores
  }

  async folder(below: string, outer: readonly Rules[]): Promise<void> {
    const entries = await readdir(path.join(this.#root, below), { withFileTypes: true })
    const rules = await this.#rulesFor(below, entries, outer)
    for (const entry of entries) {
      const relative = path.posix.join(below, entry.name)
      if (neverPacked.has(entry.name)) continue
      if (isIgnored(relative, entry.isDirectory(), rules)) {
        this.ignored.push(relative)
      } else if (entry.isDirectory()) {
        await this.folder(relative, rules)
      } else {
        await this.#take(relative)
      }
    }
  }

  async #rulesFor(
    below: string,
    entries: { name: string }[],
    outer: readonly Rules[],
  ): Promise<readonly Rules[]> {
    if (!this.#gitignores || !entries.some((entry) => entry.name === '.gitignore')) return outer
    this.foundGitignore = true
    if (below === '') return outer
    const text = await readRules(path.join(this.#root, below, '.gitignore'))
    return text === null ? outer : [...outer, { base: `${below}/`, matcher: ignore().add(text) }]
  }

  async #take(relative: string): Promise<void> {
    const found = await lstat(path.join(this.#root, relative))
    const link = found.isSymbolicLink() ? await readlink(path.join(this.#root, relative)) : undefined
    const why =
      link !== undefined
        ? whyNotLink(relative, link)
        : !found.isFile()
          ? 'is not a regular file'
          : /[\u0000-\u001f\u007f-\u009f\\]/.test(relative)
            ? 'has a control character or backslash in its name; rename it if the build needs it'
            : null
    if (why) this.skipped.push({ path: relative, why })
    else if (link !== undefined) this.files.push({ path: relative, bytes: 0, executable: false, link })
    else this.files.push({ path: relative, bytes: found.size, executable: (found.mode & 0o111) !== 0 })
  }
}

/** The platform puts a copy in place of a link, so it must lead to something else in the source. */
function whyNotLink(relative: string, target: string): string | null {
  const leadsTo = path.posix.join(path.posix.dirname(relative), target)
  const isOut = path.isAbsolute(target) || target.includes('\\') || `${leadsTo}/`.startsWith('../')
  if (isOut)
    return 'is a symbolic link that leads out of the source; replace it with a copy if the build needs it'
  const isAround = leadsTo === '.' || `${relative}/`.startsWith(`${leadsTo}/`)
  return isAround ? 'is a symbolic link to a folder around it' : null
}

/** Same as Git: of the ignore files with a matching rule, the nearest one wins. */
function isIgnored(relative: string, isFolder: boolean, rules: readonly Rules[]): boolean {
  for (const { base, matcher } of [...rules].reverse()) {
    const verdict = matcher.test(relative.slice(base.length) + (isFolder ? '/' : ''))
    if (verdict.ignored) return true
    if (verdict.unignored) return false
  }
  return false
}

async function readRules(file: string): Promise<string | null> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'EISDIR') return null
    throw error
  })
}

async function requireFolder(given: string, root: string): Promise<void> {
  const found = await lstat(`${root}/.`).catch(() => null)
  if (found?.isDirectory()) return
  throw new AppError('invalid', `${JSON.stringify(given)} is not a folder`, {
    details: 'Set --dir to the folder with your source and its Dockerfile.',
  })
}

function nothingToDeploy(dir: string, ignoreFile: string | null): AppError {
  return new AppError('invalid', `There are no files to deploy in ${JSON.stringify(dir)}`, {
    details: ignoreFile
      ? `${ignoreFile} excludes every file in it.`
      : 'The folder is empty. Set --dir to the folder with your source and its Dockerfile.',
  })
}
