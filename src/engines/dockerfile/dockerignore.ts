import { yieldAlone } from '../../pacer.ts'
import { EngineFailure } from '../engine.ts'

/** Above any list written by hand; each pattern is matched against each file. */
const mostPatterns = 2_000
const longestPattern = 1_024
/** For matching one path; about 20 ms in all. */
const mostStepsForPath = 2_000_000
/** For one build; a few seconds. */
export const mostSteps = 1_000_000_000
/** The matching yields to the event loop after this many steps: a millisecond or two. */
const stepsInARow = 100_000

/**
 * Counts the matching steps of one build, a step for each character that is looked at: a tenant's patterns can make
 * matching slow.
 */
export class MatchSteps {
  #total = 0
  #forPath = 0
  #inARow = 0

  get total(): number {
    return this.#total
  }

  /** Call before each path. */
  begin(): void {
    this.#forPath = 0
  }

  /** Throws `build step`. */
  spend(steps: number): void {
    this.#total += steps
    this.#forPath += steps
    this.#inARow += steps
    if (this.#forPath > mostStepsForPath || this.#total > mostSteps)
      throw new EngineFailure(
        'build step',
        'The patterns of .dockerignore and COPY take too long to match; use fewer of them, with fewer wildcards.',
      )
  }

  /** Whether the caller should await `pause` before it matches more. */
  get isPauseDue(): boolean {
    return this.#inARow >= stepsInARow
  }

  async pause(): Promise<void> {
    this.#inARow = 0
    await yieldAlone()
  }
}

/** The paths that a `.dockerignore` excludes from the build context. Paths are relative, with `/`. */
export interface Dockerignore {
  /** Takes turns with other work between patterns. To be awaited before the next path. */
  isIgnored(relative: string): Promise<boolean>
  /** True if no `!` pattern re-includes a path, so an ignored folder need not be read. */
  readonly prunes: boolean
}

/**
 * Docker's rules: patterns are relative to the context's root, a match of a folder covers everything below it, `**`
 * matches any number of folders, and the last matching pattern wins. Patterns are never turned into regular
 * expressions: one with many stars would block the platform for hours.
 */
export function parseDockerignore(text: string, steps = new MatchSteps()): Dockerignore {
  const patterns = text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.trim())
    .map((line) => {
      const takesBack = line.startsWith('!')
      const segments = segmentsOf(takesBack ? line.slice(1).trim() : line)
      // Most patterns have a plain name, and most paths do not have that name in them.
      return { takesBack, segments, needs: segments.find(isPlain) }
    })
    .filter(({ segments }) => segments.length > 0)
  if (patterns.length > mostPatterns)
    throw new EngineFailure(
      'build step',
      `.dockerignore has more than ${mostPatterns} patterns; use wildcards.`,
    )
  if (patterns.some(({ segments }) => segments.join('/').length > longestPattern))
    throw new EngineFailure(
      'build step',
      `.dockerignore has a pattern of more than ${longestPattern} characters; shorten it.`,
    )
  const lastFirst = patterns.reverse()
  return {
    prunes: !patterns.some(({ takesBack }) => takesBack),
    async isIgnored(relative) {
      steps.begin()
      const path = relative.split('/')
      const names = new Set(path)
      for (const { segments, takesBack, needs } of lastFirst) {
        steps.spend(1)
        if (steps.isPauseDue) await steps.pause()
        if (needs !== undefined && !names.has(needs)) continue
        if (coversPath(segments, path, steps)) return !takesBack
      }
      return false
    },
  }
}

/**
 * Matches `*`, `?`, `[a-z]`, `[^a-z]` and `\x` within one path segment, in time proportional to the product of both
 * lengths: after a mismatch, only the last star takes one more character.
 */
export function matchesWildcard(pattern: string, name: string, steps = new MatchSteps()): boolean {
  if (isPlain(pattern)) return pattern === name
  let taken = 0
  let at = 0
  let from = 0
  let star = -1
  let starTook = 0
  while (from < name.length) {
    const token = pattern[at] === '*' ? null : matchOne(pattern, at, name[from]!)
    taken += Math.max(1, (token?.end ?? 0) - at)
    if (pattern[at] === '*') {
      star = at++
      starTook = from
    } else if (token?.matches) {
      at = token.end
      from++
    } else if (star >= 0) {
      at = star + 1
      from = ++starTook
    } else break
  }
  steps.spend(taken)
  if (from < name.length) return false
  while (pattern[at] === '*') at++
  return at >= pattern.length
}

function isPlain(pattern: string): boolean {
  return !/[*?[\\]/.test(pattern)
}

/** Whether a character matches the token at `at`, such as `[a-z]`, and the index after the token. */
function matchOne(pattern: string, at: number, char: string): { matches: boolean; end: number } {
  const wanted = pattern[at]
  if (wanted === undefined) return { matches: false, end: at }
  if (wanted === '?') return { matches: true, end: at + 1 }
  if (wanted === '\\' && at + 1 < pattern.length) return { matches: pattern[at + 1] === char, end: at + 2 }
  const last = wanted === '[' ? pattern.indexOf(']', at + 2) : -1
  if (last < 0) return { matches: wanted === char, end: at + 1 }
  const isNegated = pattern[at + 1] === '^'
  const isIn = inSet(pattern.slice(at + (isNegated ? 2 : 1), last), char)
  return { matches: isIn !== isNegated, end: last + 1 }
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

function segmentsOf(pattern: string): string[] {
  const segments: string[] = []
  for (const segment of pattern.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment === '..') segments.pop()
    // Consecutive stars mean the same as one, and would multiply the ways to match.
    else if (segment !== '**' || segments.at(-1) !== '**') segments.push(segment)
  }
  return segments
}

/** True when the pattern matches the path or a folder above it. */
function coversPath(segments: readonly string[], path: readonly string[], steps: MatchSteps): boolean {
  // matched[i]: the segments so far can match the first i folders of the path.
  let matched = new Array<boolean>(path.length + 1).fill(false)
  matched[0] = true
  for (const segment of segments) {
    steps.spend(path.length)
    if (!matched.includes(true)) return false
    const next = new Array<boolean>(path.length + 1).fill(false)
    for (let at = 0; at <= path.length; at++) {
      if (segment === '**') next[at] = matched[at]! || (at > 0 && next[at - 1]!)
      else if (at > 0) next[at] = matched[at - 1]! && matchesWildcard(segment, path[at - 1]!, steps)
    }
    matched = next
  }
  // `**` alone also matches 0 folders, which is the context itself and not a file in it.
  return matched.some((isMatch, at) => isMatch && at > 0)
}
