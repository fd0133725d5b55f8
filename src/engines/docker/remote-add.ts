import { EngineFailure } from '../engine.ts'

/**
 * Refuses an ADD that downloads. The engine itself would fetch it, from the machine's own network: from the
 * platform's loopback addresses, a cloud's metadata or the operator's other servers, and put it into the image.
 * A RUN step has a network of its own. Throws `EngineFailure('build step')`.
 */
export function refuseRemoteAdd(dockerfile: string): void {
  for (const instruction of instructionsOf(dockerfile)) {
    const added = /^(?:ONBUILD\s+)*ADD\s+(.*)$/is.exec(instruction)?.[1]
    if (added === undefined) continue
    const remote = sourcesOf(added).find(mayBeRemote)
    if (remote !== undefined) throw remoteAdd(remote)
  }
}

export function remoteAdd(source: string): EngineFailure {
  const shown = source.length > 200 ? `${source.slice(0, 200)}…` : source
  return new EngineFailure(
    'build step',
    `ADD ${shown} would be downloaded by the engine, from the network of the machine it runs on. Download it in a RUN step, or put the file into the source; a local name with a variable in it begins with ./`,
  )
}

/** The instructions with their continued lines joined, comments dropped; the escape character may be chosen. */
function instructionsOf(dockerfile: string): string[] {
  const lines = dockerfile.replace(/^\ufeff/, '').split(/\r?\n/)
  const escapeChar = /^\s*#\s*escape\s*=\s*`\s*$/i.test(directiveLine(lines)) ? '`' : '\\'
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

/** Directives stand before everything else. */
function directiveLine(lines: readonly string[]): string {
  for (const line of lines) {
    if (!/^\s*#\s*\w+\s*=/.test(line)) return ''
    if (/^\s*#\s*escape\s*=/i.test(line)) return line
  }
  return ''
}

/** The words of an ADD without its flags, and without the last one, which says where the sources go. */
function sourcesOf(text: string): string[] {
  const bare = text.replace(/^(?:--\S+\s+)*/, '')
  try {
    const words: unknown = JSON.parse(bare)
    if (Array.isArray(words)) return words.slice(0, -1).map(String)
  } catch {
    // Not the JSON form: words with blanks between.
  }
  return bare.split(/\s+/).slice(0, -1)
}

/** An address, or words whose variables could make one: quotes and escapes inside a word mean nothing to us. */
function mayBeRemote(source: string): boolean {
  const plain = source.replaceAll(/["'\\`]/g, '').toLowerCase()
  const fixed = plain.split('$', 1)[0]!
  if (/^(?:https?|ftp|git|ssh):|^git@/.test(plain)) return true
  return plain.includes('$') && ['http://', 'https://'].some((scheme) => scheme.startsWith(fixed))
}
