import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { chmod, copyFile, lstat, mkdir, readdir, readlink, rm, stat, symlink } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { EngineFailure } from '../../engine.ts'
import type { ImagePaths } from '../image-paths.ts'
import { type CopyOrigin, findSources } from './context-files.ts'

const copiesAtOnce = 16
/** This many paths are held before their files are copied. */
const mostHeld = 1_000

interface CopyOrder {
  origin: CopyOrigin
  sources: readonly string[]
  /** Absolute container path; a trailing `/` means a folder. */
  destination: string
  paths: ImagePaths
  /** From `--chmod`. */
  mode: number | null
  /** `Dockerfile line 3: COPY`, for messages. */
  where: string
  signal: AbortSignal
}

/** COPY by Docker's rules: a folder copies its contents, a file goes into a folder or to a name. */
export async function copyIntoImage(order: CopyOrder): Promise<void> {
  const { origin, paths, where } = order
  const found = await findAll(order)
  const isFolder = paths.isFolder(order.destination)
  if (found.size > 1 && !order.destination.endsWith('/') && !isFolder)
    throw new EngineFailure(
      'build step',
      `${where}: several sources need a folder as destination; end it with /.`,
    )
  const copying = new Copying(order)
  for (const relative of found) {
    const from = path.join(origin.dir, relative)
    const isTree = (relative === '' ? await stat(from) : await lstat(from)).isDirectory()
    if (isTree) await copying.folder(relative, order.destination)
    else if (isFolder || order.destination.endsWith('/'))
      await copying.entry(relative, path.posix.join(order.destination, path.basename(relative)))
    else await copying.entry(relative, order.destination)
  }
  await copying.finish()
}

/** The file tree of a stage, with owners, modes, times and the marks of removed files. */
export async function copyTree(from: string, to: string, signal: AbortSignal): Promise<void> {
  await promisify(execFile)('cp', ['-a', '--', `${from}/.`, to], { signal })
}

/** One source after the other and each path once: thousands of sources may match the same thousands of files. */
async function findAll({ origin, sources, where, signal }: CopyOrder): Promise<Set<string>> {
  const found = new Set<string>()
  for (const source of new Set(sources)) {
    signal.throwIfAborted()
    for (const relative of await findSources(origin, source, where)) found.add(relative)
  }
  return found
}

/** Collects the files of one instruction and copies several at once. */
class Copying {
  readonly #order: CopyOrder
  readonly #files: { from: string; to: string }[] = []

  constructor(order: CopyOrder) {
    this.#order = order
  }

  async folder(relative: string, destination: string): Promise<void> {
    const { origin, paths, signal } = this.#order
    signal.throwIfAborted()
    // As in Docker, an ignored folder is created only for a file in it that `!` re-includes.
    if (relative === '' || !(await origin.isIgnored(relative)))
      await mkdir(paths.forWriting(destination), { recursive: true })
    for (const item of await readdir(path.join(origin.dir, relative))) {
      const child = relative === '' ? item : `${relative}/${item}`
      const target = path.posix.join(destination, item)
      const isFolder = (await lstat(path.join(origin.dir, child))).isDirectory()
      const isIgnored = await origin.isIgnored(child)
      if (isIgnored && (!isFolder || origin.prunes)) continue
      if (isFolder) await this.folder(child, target)
      else await this.#entry(child, target)
    }
  }

  async entry(relative: string, destination: string): Promise<void> {
    if (!(await this.#order.origin.isIgnored(relative))) await this.#entry(relative, destination)
  }

  async #entry(relative: string, destination: string): Promise<void> {
    const { origin, paths, where } = this.#order
    if (this.#files.length >= mostHeld) await this.finish()
    const from = path.join(origin.dir, relative)
    const parent = paths.forWriting(path.posix.dirname(destination))
    await mkdir(parent, { recursive: true })
    const to = path.join(parent, path.posix.basename(destination))
    const info = await lstat(from)
    // Remove an existing file first: copying onto a link would write to the link's target.
    const there = await lstat(to).catch(() => null)
    if (there && !there.isDirectory()) await rm(to)
    // Stands for a file of the machine that a step of the stage removed.
    if (info.isCharacterDevice() && origin.allowsLinks) return
    if (info.isFile()) this.#files.push({ from, to })
    else if (info.isSymbolicLink() && origin.allowsLinks) await this.#link(from, to)
    else
      throw new EngineFailure(
        'build step',
        `${where}: ${relative} is ${info.isSymbolicLink() ? 'a link' : 'no regular file'}; only files and folders can be copied.`,
      )
  }

  async finish(): Promise<void> {
    const { mode, signal } = this.#order
    const work = async () => {
      for (let next = this.#files.pop(); next; next = this.#files.pop()) {
        signal.throwIfAborted()
        // Shares the blocks if the file system supports it.
        await copyFile(next.from, next.to, constants.COPYFILE_FICLONE)
        if (mode !== null) await chmod(next.to, mode)
      }
    }
    await Promise.all(Array.from({ length: copiesAtOnce }, work))
  }

  /** Copies a link; a target inside the old tree becomes the same place in the new tree. */
  async #link(from: string, to: string): Promise<void> {
    const { origin, paths } = this.#order
    const leadsTo = await readlink(from)
    const inside = leadsTo.startsWith(origin.dir + path.sep)
    await symlink(inside ? path.join(paths.root, leadsTo.slice(origin.dir.length)) : leadsTo, to)
  }
}
