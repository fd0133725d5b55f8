import path from 'node:path'

/** Decides by `.dockerignore` which paths of a context are left out. */
export interface ContextFilter {
  /** `name` is relative to the context, with forward slashes. */
  leavesOut(name: string): boolean
  /** Whether everything below a folder that is left out is left out too, so that it need not be read. */
  prunes(folder: string): boolean
}

/**
 * The rules of `.dockerignore`, which are not those of `.gitignore`: a pattern counts from the root of the context,
 * the last one that matches decides, and `!` brings back a file below a folder that is left out.
 */
export function contextFilter(dockerignore: string): ContextFilter {
  const rules = dockerignore
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .map(parseRule)
    .filter((rule) => rule !== null)
  const bringsBack = rules.some((rule) => rule.keeps)
  const leavesOut = (name: string) => {
    let out = false
    for (const rule of rules) if (rule.keeps === out && rule.matches(name)) out = !rule.keeps
    return out
  }
  return { leavesOut, prunes: (folder) => !bringsBack && leavesOut(folder) }
}

interface Rule {
  keeps: boolean
  /** Whether the pattern matches the path or a folder above it. */
  matches(name: string): boolean
}

function parseRule(line: string): Rule | null {
  if (line.startsWith('#')) return null
  let text = line.trim()
  const keeps = text.startsWith('!')
  if (keeps) text = text.slice(1).trim()
  if (text === '') return null
  const pattern = path.posix.normalize(text).replace(/^\/+|\/+$/g, '')
  if (pattern === '' || pattern === '.') return null
  const expression = toExpression(pattern)
  return { keeps, matches: (name) => expression.test(name) }
}

/** Go's filepath.Match plus `**`, anchored; a match of a folder counts for what is below it. */
function toExpression(pattern: string): RegExp {
  let source = ''
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]!
    if (char === '*' && pattern[at + 1] === '*') {
      at++
      // `**/` stands for no folder as well.
      if (pattern[at + 1] === '/') {
        at++
        source += '(?:.*/)?'
      } else source += '.*'
    } else if (char === '*') source += '[^/]*'
    else if (char === '?') source += '[^/]'
    else if (char === '[') {
      const end = pattern.indexOf(']', at + 2)
      if (end < 0) source += '\\['
      else {
        source += `[${pattern.slice(at + 1, end).replace(/\\/g, '\\\\')}]`
        at = end
      }
    } else if (char === '\\' && at + 1 < pattern.length) source += literal(pattern[++at]!)
    else source += literal(char)
  }
  try {
    return new RegExp(`^${source}(?:/.*)?$`, 's')
  } catch {
    // A range such as [z-a] matches nothing.
    return /(?!)/
  }
}

function literal(char: string): string {
  return char.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}
