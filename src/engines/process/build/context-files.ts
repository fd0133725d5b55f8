import { lstat, readdir, readFile, realpath } from 'node:fs/promises'
import path from 'node:path'
import {
  type Dockerignore,
  MatchSteps,
  matchesWildcard,
  parseDockerignore,
} from '../../dockerfile/dockerignore.ts'
import { longestText } from '../../dockerfile/readings.ts'
import { EngineFailure } from '../../engine.ts'

/** The source of a COPY: the uploaded context, or the file tree of an earlier stage. */
export interface CopyOrigin extends Dockerignore {
  dir: string
  /** For messages: `the build context` or `stage build`. */
  name: string
  /** Links in a stage are copied as links; the context may not contain any. */
  allowsLinks: boolean
  /** Counts the matching steps of the whole build. */
  steps: MatchSteps
}

/** PATH_MAX of the kernel; a pattern is matched against each name in a folder. */
const longestSource = 4_096

export function stageOrigin(dir: string, name: string): CopyOrigin {
  return {
    dir,
    name: `stage ${name}`,
    allowsLinks: true,
    isIgnored: async () => false,
    prunes: false,
    steps: new MatchSteps(),
  }
}

/** Reads `<Dockerfile>.dockerignore`, else `.dockerignore`. Later patterns win, as in Docker. */
export async function contextOrigin(dir: string, dockerfilePath: string): Promise<CopyOrigin> {
  const text =
    (await readSmallFile(path.join(dir, `${dockerfilePath}.dockerignore`))) ??
    (await readSmallFile(path.join(dir, '.dockerignore'))) ??
    ''
  const steps = new MatchSteps()
  const { isIgnored, prunes } = parseDockerignore(text, steps)
  return { dir, name: 'the build context', allowsLinks: false, isIgnored, prunes, steps }
}

/**
 * Relative paths that match a COPY source; `*`, `?` and `[…]` match within one path segment. Throws `build step` if
 * there is none, or if the path leads through a link out of its origin.
 */
export async function findSources(origin: CopyOrigin, pattern: string, where: string): Promise<string[]> {
  const normal = path.posix.normalize(pattern.replace(/^\/+/, '') || '.').replace(/\/$/, '')
  if (pattern.length > longestSource)
    throw new EngineFailure('build step', `${where}: a source is longer than ${longestSource} characters.`)
  if (normal === '..' || normal.startsWith('../'))
    throw new EngineFailure('build step', `${where}: ${pattern} lies outside ${origin.name}.`)
  if (normal === '.') return ['']
  let found = ['']
  for (const part of normal.split('/')) {
    const next: string[] = []
    for (const base of found) for (const one of await matchesIn(origin, base, part, where)) next.push(one)
    found = next
  }
  const kept: string[] = []
  for (const relative of found) {
    if (!(await origin.isIgnored(relative)) || !origin.prunes) kept.push(relative)
  }
  if (kept.length === 0) {
    const why = found.length > 0 ? 'is left out by .dockerignore' : `is not in ${origin.name}`
    throw new EngineFailure('build step', `${where}: ${pattern} ${why}.`)
  }
  return kept.sort()
}

async function matchesIn(origin: CopyOrigin, base: string, part: string, where: string): Promise<string[]> {
  await assertInside(origin, base, where)
  const isPattern = /[*?[]/.test(part)
  const names = isPattern ? await readdirOrEmpty(path.join(origin.dir, base)) : [part.replace(/\\(.)/g, '$1')]
  const existing: string[] = []
  for (const name of names) {
    origin.steps.begin()
    if (origin.steps.isPauseDue) await origin.steps.pause()
    if (isPattern && !matchesWildcard(part, name, origin.steps)) continue
    const relative = base === '' ? name : `${base}/${name}`
    if (isPattern || (await lstat(path.join(origin.dir, relative)).catch(() => null))) existing.push(relative)
  }
  return existing
}

/** A folder on the way may be a link only inside a stage, and only if it stays in that stage. */
async function assertInside(origin: CopyOrigin, relative: string, where: string): Promise<void> {
  const root = await realpath(origin.dir)
  const real = await realpath(path.join(origin.dir, relative)).catch(() => root)
  const isInside = real === root || real.startsWith(root + path.sep)
  const isPlain = real === path.join(root, relative)
  if (isInside && (isPlain || origin.allowsLinks)) return
  throw new EngineFailure('build step', `${where}: ${relative} is a link; links are not followed.`)
}

/** Null if the file is missing, not a regular file, or too long to be written by hand. */
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
