import { EngineFailure } from './engine.ts'

/** More is no hand-written list, and each is tried on each file. */
const mostPatterns = 2_000

/** What a `.dockerignore` leaves out of the build context. Paths are relative, with `/`. */
export interface Dockerignore {
  isIgnored(relative: string): boolean
  /** No `!` pattern takes anything back, so an ignored folder need not be looked into. */
  readonly prunes: boolean
}

/**
 * Docker's rules: patterns hold from the context's root, a match of a folder covers what is below it, `**` is
 * any number of folders, and the last pattern that matches wins. No regular expressions are made of the
 * tenant's text: one with many stars would hold the platform for hours.
 */
export function parseDockerignore(text: string): Dockerignore {
  const patterns = text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.trim())
    .map((line) => {
      const takesBack = line.startsWith('!')
      return { takesBack, parts: partsOf(takesBack ? line.slice(1).trim() : line) }
    })
    .filter(({ parts }) => parts.length > 0)
  if (patterns.length > mostPatterns)
    throw new EngineFailure(
      'build step',
      `.dockerignore has more than ${mostPatterns} patterns; use wildcards.`,
    )
  return {
    prunes: !patterns.some(({ takesBack }) => takesBack),
    isIgnored(relative) {
      const path = relative.split('/')
      const last = patterns.findLast(({ parts }) => coversPath(parts, path))
      return last !== undefined && !last.takesBack
    },
  }
}

/**
 * `*`, `?`, `[a-z]`, `[^a-z]` and `\x` within one part of a path, in time proportional to the product of both
 * lengths: after a mismatch only the last star takes one more character.
 */
export function matchesWildcard(pattern: string, name: string): boolean {
  let at = 0
  let from = 0
  let star = -1
  let starTook = 0
  while (from < name.length) {
    const token = pattern[at] === '*' ? null : matchOne(pattern, at, name[from]!)
    if (pattern[at] === '*') {
      star = at++
      starTook = from
    } else if (token) {
      at = token
      from++
    } else if (star >= 0) {
      at = star + 1
      from = ++starTook
    } else return false
  }
  while (pattern[at] === '*') at++
  return at >= pattern.length
}

/** Where the pattern goes on after one character matched; 0 when it did not. */
function matchOne(pattern: string, at: number, char: string): number {
  const wanted = pattern[at]
  if (wanted === undefined) return 0
  if (wanted === '?') return at + 1
  if (wanted === '\\' && at + 1 < pattern.length) return pattern[at + 1] === char ? at + 2 : 0
  const end = wanted === '[' ? pattern.indexOf(']', at + 2) : -1
  if (end < 0) return wanted === char ? at + 1 : 0
  const isNegated = pattern[at + 1] === '^'
  return inSet(pattern.slice(at + (isNegated ? 2 : 1), end), char) !== isNegated ? end + 1 : 0
}

function inSet(set: string, char: string): boolean {
  for (let at = 0; at < set.length; at++) {
    if (set[at + 1] === '-' && at + 2 < set.length) {
      if (set[at]! <= char && char <= set[at + 2]!) return true
      at += 2
    } else if (set[at] === char) return true
  }
  return false
}

function partsOf(pattern: string): string[] {
  const parts: string[] = []
  for (const part of pattern.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..') parts.pop()
    // Stars in a row are one: the same meaning, and never more than one choice a folder.
    else if (part !== '**' || parts.at(-1) !== '**') parts.push(part)
  }
  return parts
}

/** True when the pattern matches the path or a folder above it. */
function coversPath(parts: readonly string[], path: readonly string[]): boolean {
  // reach[i]: the parts so far can match the first i folders of the path.
  let reach = new Array<boolean>(path.length + 1).fill(false)
  reach[0] = true
  for (const part of parts) {
    const next = new Array<boolean>(path.length + 1).fill(false)
    for (let at = 0; at <= path.length; at++) {
      if (part === '**') next[at] = reach[at]! || (at > 0 && next[at - 1]!)
      else if (at > 0) next[at] = reach[at - 1]! && matchesWildcard(part, path[at - 1]!)
    }
    reach = next
  }
  // `**` alone also reaches 0 folders, which is the context itself and no file of it.
  return reach.some((reached, at) => reached && at > 0)
}
