import { logicalLine } from '../dockerfile/readings.ts'

/** Start of the flags that `withSecretMounts` adds; `withoutSecretMounts` removes them from the output of BuildKit. */
const secretMount = '--mount=type=secret,id='
const saltPrefix = 'longshore-'
const mountsAdded = new RegExp(`${secretMount}(?:${saltPrefix}\\S+|(\\w+),env=\\1) `, 'g')

/**
 * Mounts secret build variables into the RUN instructions after their ARG, so that they reach no layer,
 * history or cache. The id of an optional secret that never exists makes the cache key of each tenant differ:
 * values are not part of the key, so another tenant could get files fetched with a secret. Lines keep their numbers.
 */
export function withSecretMounts(
  dockerfile: string,
  { appEnvId, secretNames }: { appEnvId: string; secretNames: ReadonlySet<string> },
): string {
  const lines = dockerfile.replace(/^\ufeff/, '').split('\n')
  const reading = { escapeChar: escapeCharOf(lines), doubledContinues: false }
  let declared = new Set<string>()
  for (let index = 0; index < lines.length; ) {
    const { line, text, next } = logicalLine(lines, index, reading)
    const [keyword = '', ...words] = text.split(/\s+/)
    if (/^FROM$/i.test(keyword)) declared = new Set()
    if (/^ARG$/i.test(keyword)) {
      const names = words.map((word) => word.split('=', 1)[0]!).filter((name) => secretNames.has(name))
      for (const name of names) declared.add(name)
      // The default would stand in the environment before the secret.
      if (names.length === 1 && words.length === 1) lines[line - 1] = `ARG ${names[0]}`
    }
    if (/^RUN(?:$|[\s\\`])/i.test(text)) {
      const flags = [`${saltPrefix}${appEnvId}`, ...[...declared].map((name) => `${name},env=${name}`)]
      const mounts = flags.map((flag) => `${secretMount}${flag} `).join('')
      lines[line - 1] = lines[line - 1]!.replace(/^(\s*RUN)[ \t]*/i, `$1 ${mounts}`)
    }
    index = next
  }
  return lines.join('\n')
}

export function withoutSecretMounts(text: string): string {
  return text.replaceAll(mountsAdded, '')
}

/** BuildKit honors the directive among the first lines that look like one. */
function escapeCharOf(lines: readonly string[]): string {
  for (const line of lines) {
    const directive = /^#\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(.+?)\s*$/.exec(line)
    if (!directive) break
    if (directive[1]!.toLowerCase() === 'escape') return directive[2]!
  }
  return '\\'
}
