/** A test for texts of a pattern in which `*` stands for any characters and `?` for one. */
export function globTest(pattern: string): (text: string) => boolean {
  if (!/[*?]/.test(pattern)) return (text) => text === pattern
  const tokens = [...pattern.replace(/\*+/g, '*')]
  return (text) => matches(tokens, [...text])
}

/** At most pattern times text steps, unlike a regular expression with several stars: only the last star grows. */
function matches(pattern: readonly string[], text: readonly string[]): boolean {
  let [at, token, star, mark] = [0, 0, -1, 0]
  while (at < text.length) {
    if (pattern[token] === '*') {
      star = token
      mark = at
      token += 1
    } else if (pattern[token] === '?' || pattern[token] === text[at]) {
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
