import { EngineFailure } from '../engine.ts'
import { instructionsOf, jsonListsIn } from './readings.ts'

/**
 * Rejects an ADD that downloads. The engine itself would download it over the machine's own network, including the
 * platform's loopback addresses, cloud metadata or the operator's other servers, and put it into the image. A RUN
 * step has its own network. Throws `EngineFailure('build step')`.
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

/** The words of an ADD without flags and without the last one, the destination. */
function sourcesOf(text: string): string[] {
  const lists = jsonListsIn(text).flatMap((list) => list.slice(0, -1))
  return [
    ...lists,
    ...text
      .replace(/^(?:--\S+\s+)*/, '')
      .split(/\s+/)
      .slice(0, -1),
  ]
}

/** A URL, or a word whose variables could form one. Quotes and escapes inside a word count as unknown. */
function mayBeRemote(source: string): boolean {
  const plain = source.replaceAll(/["'\\`]/g, '').toLowerCase()
  const fixed = plain.split('$', 1)[0]!
  if (/^(?:https?|ftp|git|ssh):|^git@/.test(plain)) return true
  return plain.includes('$') && ['http://', 'https://'].some((scheme) => scheme.startsWith(fixed))
}
