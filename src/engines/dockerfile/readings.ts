import { EngineFailure } from '../engine.ts'

/** Limit of a Dockerfile in bytes: far above any written by hand, and each check of it takes at most 20 ms. */
export const longestText = 64 * 1024
/** Each line is read several times, once for each way that a builder may read it. */
const mostLines = 2_500

/** An instruction with continued lines joined; comments and blank lines are dropped. */
export interface LogicalLine {
  /** Number of its first line, counted from 1. */
  line: number
  text: string
}

/** A builder's rule for line continuation. */
export interface Reading {
  escapeChar: string
  /** Two escape characters at the end also continue the line, as in builders before 2023. */
  doubledContinues: boolean
}

const continued = {
  backslash: { one: /(?<!\\)\\[ \t]*$/, any: /\\[ \t]*$/ },
  backtick: { one: /(?<!`)`[ \t]*$/, any: /`[ \t]*$/ },
}

/**
 * Throws `build step` if the text is too long, has too many lines, or contains characters that builders
 * interpret differently.
 */
export function assertReadable(text: string): void {
  const refused = (why: string) => new EngineFailure('build step', `The Dockerfile ${why}`)
  if (Buffer.byteLength(text) > longestText)
    throw refused(`is longer than ${longestText / 1024} KiB; shorten it.`)
  if (text.split('\n').length > mostLines)
    throw refused(`has more than ${mostLines} lines; move commands into a script of the source.`)
  if (/[\0\ufeff]/.test(text.replace(/^\ufeff/, '')))
    throw refused('has an invisible character (NUL or U+FEFF) in it; take it out.')
}

/** The distinct instructions of all readings of a Dockerfile (`readingsOf`). */
export function instructionsOf(dockerfile: string): string[] {
  return [...new Set(readingsOf(dockerfile).flatMap(({ lines }) => lines.map(({ text }) => text)))]
}

/**
 * The instructions of a Dockerfile in order, once for each way a builder may read it. Builders differ in whether an
 * `escape` directive below the first line counts, and in whether two escape characters continue a line. Checks must
 * cover every reading, so that no instruction hides in the difference.
 */
export function readingsOf(dockerfile: string): { reading: Reading; lines: LogicalLine[] }[] {
  // Go treats U+0085 as a space, JavaScript does not.
  const text = dockerfile.replace(/^\ufeff/, '').replaceAll('\u0085', ' ')
  const isNamed = /#\s*escape\s*=\s*`/i.test(text)
  // On the first line, every builder honors it.
  const isFirst = /^#[ \t]*escape[ \t]*=[ \t]*`[ \t]*\r?\n/i.test(text)
  const escapeChars = isFirst ? ['`'] : isNamed ? ['\\', '`'] : ['\\']
  return escapeChars.flatMap((escapeChar) => {
    const readings = [{ escapeChar, doubledContinues: true }]
    if (doubledEnd(escapeChar).test(text)) readings.push({ escapeChar, doubledContinues: false })
    return readings.map((reading) => ({ reading, lines: logicalLines(text.split(/\r?\n/), reading) }))
  })
}

function doubledEnd(escapeChar: string): RegExp {
  return new RegExp(`\\${escapeChar}{2}[ \\t]*\\r?$`, 'm')
}

function logicalLines(lines: readonly string[], reading: Reading): LogicalLine[] {
  const found: LogicalLine[] = []
  for (let index = 0; index < lines.length; ) {
    const { next, ...one } = logicalLine(lines, index, reading)
    if (one.text !== '') found.push(one)
    index = next
  }
  return found
}

/** The instruction that begins at or after `index`; `next` is the index of the line after it. */
export function logicalLine(
  lines: readonly string[],
  index: number,
  { escapeChar, doubledContinues }: Reading,
): LogicalLine & { next: number } {
  const end = continued[escapeChar === '`' ? 'backtick' : 'backslash'][doubledContinues ? 'any' : 'one']
  const texts: string[] = []
  let first: number | null = null
  let next = index
  for (; next < lines.length; next += 1) {
    const line = lines[next]!
    if (/^\s*(?:#.*)?$/.test(line)) continue
    first ??= next
    texts.push(line.replace(end, ''))
    if (!end.test(line)) break
  }
  return { line: (first ?? index) + 1, text: texts.join('').trim(), next: next + 1 }
}

/** All JSON lists in a text: the engine accepts one behind flags of any form. */
export function jsonListsIn(text: string): string[][] {
  return [...text.matchAll(/\[(?:[\s,]|"(?:[^"\\]|\\.)*")*\]/g)].flatMap(([list]) => {
    try {
      return [(JSON.parse(list) as unknown[]).map(String)]
    } catch {
      // Not JSON: the engine may also read it as words separated by blanks.
      return []
    }
  })
}
