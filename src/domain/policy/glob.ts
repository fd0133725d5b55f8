/** A test for texts of a pattern in which `*` stands for any characters and `?` for one. */
export function globTest(pattern: string): (text: string) => boolean {
  if (!/[*?]/.test(pattern)) return (text) => text === pattern
  if (pattern.includes('?')) return (text) => matches(pattern, text)
  const [prefix = '', ...rest] = pattern.split(/\*+/)
  const suffix = rest.pop()!
  return (text) => text.startsWith(prefix) && endsWithin(text, prefix.length, rest, suffix)
}

/** Whether the parts follow each other, the suffix at the end. Taking each part as early as possible misses no match. */
function endsWithin(text: string, from: number, parts: readonly string[], suffix: string): boolean {
  let at = from
  for (const part of parts) {
    const found = text.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return text.length - suffix.length >= at && text.endsWith(suffix)
}

/** At most pattern times text steps, unlike a regular expression with several stars: only the last star grows. */
function matches(pattern: string, text: string): boolean {
  let [at, token, star, mark] = [0, 0, -1, 0]
  while (at < text.length) {
    const one = pattern[token]
    if (one === '*') {
      star = token
      mark = at
      token += 1
    } else if (one === '?' || one === text[at]) {
      at += 1
      token += 1
    } else if (star !== -1) {
      token = star + 1
      mark += 1
      at = mark
    } else return false
  }
  while (pattern[token] === '*') token += 1
  return token === pattern.length
}
