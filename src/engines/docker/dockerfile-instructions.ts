/** The instructions of every reading of a Dockerfile (`readingsOf`), each once. */
export function instructionsOf(dockerfile: string): string[] {
  return [...new Set(readingsOf(dockerfile).flat())]
}

/**
 * A Dockerfile's instructions in order, their continued lines joined and comments dropped. Where it speaks of another
 * escape character there are two readings, one for each: builders differ in when that line counts, and nothing may
 * hide behind it.
 */
export function readingsOf(dockerfile: string): string[][] {
  // Go counts U+0085 as a space, JavaScript does not.
  const text = dockerfile.replace(/^\ufeff/, '').replaceAll('\u0085', ' ')
  const lines = text.split(/\r?\n/)
  const read = joined(lines, '\\')
  return /#\s*escape\s*=\s*`/i.test(text) ? [read, joined(lines, '`')] : [read]
}

function joined(lines: readonly string[], escapeChar: string): string[] {
  const instructions: string[] = []
  let begun = ''
  const continued = new RegExp(`\\${escapeChar}[ \\t]*$`)
  for (const line of lines) {
    if (/^\s*(?:#.*)?$/.test(line)) continue
    const isContinued = continued.test(line)
    begun += line.replace(continued, '')
    if (isContinued) continue
    instructions.push(begun.trim())
    begun = ''
  }
  if (begun.trim() !== '') instructions.push(begun.trim())
  return instructions
}
