import { existsSync, lstatSync, readlinkSync, realpathSync, unlinkSync } from 'node:fs'
import path from 'node:path'
import { EngineFailure } from '../engine.ts'
import type { PrivateRoot } from './private-root/private-root.ts'

/**
 * Maps container paths to the folder that stands for `/`. In a private root programs see it as `/`. Without one they see
 * the host's files, so only paths in commands and variables with a clear meaning are rewritten.
 */
export class ImagePaths {
  readonly root: string
  readonly #privateRoot: PrivateRoot | null

  constructor(root: string, privateRoot: PrivateRoot | null) {
    this.root = root
    this.#privateRoot = privateRoot
  }

  /** The host path of an absolute container path; `..` stops at the root. */
  toHost(containerPath: string): string {
    return path.join(this.root, path.posix.normalize(`/${containerPath}`))
  }

  /**
   * The host path for writing. A link means a place in the image; without a private root, where it means one of the
   * machine, throws `build step` if it leads out of the image.
   */
  forWriting(containerPath: string): string {
    if (this.#privateRoot) return this.#resolve(containerPath)
    const wanted = this.toHost(containerPath)
    let existing = wanted
    while (!existsSync(existing) && existing !== this.root) existing = path.dirname(existing)
    const real = realpathSync(existing)
    const realRoot = realpathSync(this.root)
    if (real !== realRoot && !real.startsWith(realRoot + path.sep))
      throw new EngineFailure(
        'build step',
        `${containerPath} is behind a link that leads out of the image; write to a path without such a link.`,
      )
    return wanted
  }

  /** Whether COPY finds a folder at this path. */
  isFolder(containerPath: string): boolean {
    const own = lstatSync(this.forWriting(containerPath), { throwIfNoEntry: false })
    return own ? own.isDirectory() : (this.#privateRoot?.isFolder(containerPath) ?? false)
  }

  /** Follows links as a process inside does, with the image's folder as `/`. */
  #resolve(containerPath: string): string {
    const rest = containerPath.split('/')
    let at = '/'
    for (let links = 0; rest.length > 0; ) {
      const next = path.posix.join(at, rest.shift()!)
      const host = path.join(this.root, next)
      const info = lstatSync(host, { throwIfNoEntry: false })
      if (info?.isSymbolicLink()) {
        if (++links > mostLinks) throw new EngineFailure('build step', `${containerPath}: links form a loop.`)
        const target = readlinkSync(host)
        rest.unshift(...target.split('/'))
        if (target.startsWith('/')) at = '/'
        continue
      }
      // Stands for a file of the machine that a step removed.
      if (info?.isCharacterDevice()) unlinkSync(host)
      at = next
    }
    return path.join(this.root, at)
  }

  /** Maps one word of an exec form. */
  mapWord(word: string, mayBeNew = false): string {
    if (this.#privateRoot || !word.startsWith('/') || word === '/' || word.startsWith('//')) return word
    const host = this.toHost(word)
    if (existsSync(host)) return host
    return mayBeNew && this.#belongsToImage(word) ? host : word
  }

  /** Maps an exec form; the text of `sh -c` is treated as shell text. */
  mapWords(words: readonly string[], mayBeNew = false): string[] {
    assertFewPaths(words.filter((word) => word.startsWith('/')).length)
    const shellText = /(^|\/)(ba|da|a)?sh$/.test(words[0] ?? '') && /^-[a-z]*c$/.test(words[1] ?? '') ? 2 : -1
    return words.map((word, index) =>
      index === shellText ? this.mapShellText(word, mayBeNew) : this.mapWord(word, mayBeNew),
    )
  }

  /** Throws `build step` if the text has more paths than can be looked up at once. */
  mapShellText(text: string, mayBeNew = false): string {
    // The path is inserted without quotes, so it must not need any.
    if (!/^[A-Za-z0-9._/@+-]+$/.test(this.root)) return text
    let paths = 0
    return text.replace(/(^|[\s=:"'>(;|&])(\/[A-Za-z0-9._@+-][A-Za-z0-9._/@+-]*)/g, (_all, before, word) => {
      paths += 1
      assertFewPaths(paths)
      return before + this.mapWord(word, mayBeNew)
    })
  }

  /** Maps a colon-separated list: entries that exist in the image become its paths. */
  mapPathList(list: string): string {
    const entries = list.split(':')
    assertFewPaths(entries.length)
    return entries.map((entry) => this.mapWord(entry)).join(':')
  }

  #belongsToImage(word: string): boolean {
    if (existsSync(path.dirname(this.toHost(word))) && path.posix.dirname(word) !== '/') return true
    return !/^\/(bin|sbin|lib|lib32|lib64|usr|etc|dev|proc|sys|tmp|run|var)(\/|$)/.test(word)
  }
}

const mostLinks = 40

/** Each lookup in the image blocks the event loop. */
const mostPaths = 1_000

function assertFewPaths(amount: number): void {
  if (amount <= mostPaths) return
  throw new EngineFailure(
    'build step',
    `A command, PATH, NODE_PATH or PYTHONPATH has more than ${mostPaths} paths; put the command into a script of the source.`,
  )
}
