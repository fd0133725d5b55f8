import { lstat, readdir, readFile, realpath } from 'node:fs/promises'
import path from 'node:path'
import { matchesWildcard, parseDockerignore } from '../dockerignore.ts'
import { EngineFailure } from '../engine.ts'
import { longestText } from './dockerfile.ts'

/** Where COPY reads from: the uploaded context, or the tree of an earlier stage. */
export interface CopyOrigin {
  dir: string
  /** For messages: `the build context` or `stage build`. */
  name: string
  /** Links are taken along as links out of a stage; the context may hold none. */
  allowsLinks: boolean
  /** Path relative to `dir`, with `/`. */
  isIgnored(relative: string): boolean
  /** No file below an ignored folder is taken back by `!`, so it need not be looked into. */
  prunes: boolean
}

export function stageOrigin(dir: string, name: string): CopyOrigin {
  return { dir, name: `stage ${name}`, allowsLinks: true, isIgnored: () => false, prunes: false }
}

/** Reads `<Dockerfile>.dockerignore`, else `.dockerignore`. Later patterns win, as in Docker. */
export async function contextOrigin(dir: string, dockerfilePath: string): Promise<CopyOrigin> {
  const text =
    (await readSmallFile(path.join(dir, `${dockerfilePath}.dockerignore`))) ??
    (await readSmallFile(path.join(dir, '.dockerignore'))) ??
    ''
  const { isIgnored, prunes } = parseDockerignore(text)
  return { dir, name: 'the build context', allowsLinks: false, isIgnored, prunes }
}

/**
 * Relative paths that a COPY source names; `*`, `?` and `[…]` match within one path part.
 * Throws `build step` when there is none, or the path leads through a link out of its origin.
 */
export async function findSources(origin: CopyOrigin, pattern: string, where: string): Promise<string[]> {
  const normal = path.posix.normalize(pattern.replace(/^\/+/, '') || '.').replace(/\/$/, '')
  if (normal === '..' || normal.startsWith('../'))
    throw new EngineFailure('build step', `${where}: ${pattern} lies outside ${origin.name}.`)
  if (normal === '.') return ['']
  let found = ['']
  for (const part of normal.split('/')) {
    const next = await Promise.all(found.map((base) => matchesIn(origin, base, part, where)))
    found = next.flat()
  }
  const kept = found.filter((relative) => !origin.isIgnored(relative) || !origin.prunes)
  if (kept.length === 0) {
    const why = found.length > 0 ? 'is left out by .dockerignore' : `is not in ${origin.name}`
    throw new EngineFailure('build step', `${where}: ${pattern} ${why}.`)
  }
  return kept.sort()
}

async function matchesIn(origin: CopyOrigin, base: string, part: string, where: string): Promise<string[]> {
  await assertInside(origin, base, where)
  const names = /[*?[]/.test(part)
    ? (await readdirOrEmpty(path.join(origin.dir, base))).filter((name) => matchesWildcard(part, name))
    : [part.replace(/\\(.)/g, '$1')]
  const existing: string[] = []
  for (const name of names) {
    const relative = base === '' ? name : `${base}/${name}`
    if (await lstat(path.join(origin.dir, relative)).catch(() => null)) existing.push(relative)
  }
  return existing
}

/** A folder on the way may be a link only inside a stage, and only to the inside of that stage. */
async function assertInside(origin: CopyOrigin, relative: string, where: string): Promise<void> {
  const root = await realpath(origin.dir)
  const real = await realpath(path.join(origin.dir, relative)).catch(() => root)
  const isInside = real === root || real.startsWith(root + path.sep)
  const isPlain = real === path.join(root, relative)
  if (isInside && (isPlain || origin.allowsLinks)) return
  throw new EngineFailure('build step', `${where}: ${relative} is a link; links are not followed.`)
}

/** Null when it is not there, not a regular file, or longer than a file written by hand. */
export async function readSmallFile(file: string): Promise<string | null> {
  const info = await lstat(file).catch(() => null)
  if (!info?.isFile()) return null
  if (info.size > longestText)
    throw new EngineFailure(
      'build step',
      `${path.basename(file)} is longer than ${longestText / 1024} KiB; shorten it.`,
    )
  return await readFile(file, 'utf8').catch(() => null)
}

async function readdirOrEmpty(dir: string): Promise<string[]> {
  return await readdir(dir).catch(() => [])
}
