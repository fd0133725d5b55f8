import { EngineFailure } from '../engine.ts'
import { instructionsOf } from './dockerfile-instructions.ts'

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

/** The words of an ADD without its flags and without the last one, which says where the sources go. */
function sourcesOf(text: string): string[] {
  const lists = [...text.matchAll(jsonList)].flatMap(([list]) => listed(list).slice(0, -1))
  return [
    ...lists,
    ...text
      .replace(/^(?:--\S+\s+)*/, '')
      .split(/\s+/)
      .slice(0, -1),
  ]
}

/** Looked for anywhere: the engine takes a list of texts behind flags of any form, and overlooks what comes after. */
const jsonList = /\[(?:[\s,]|"(?:[^"\\]|\\.)*")*\]/g

function listed(list: string): string[] {
  try {
    return (JSON.parse(list) as unknown[]).map(String)
  } catch {
    // Not JSON: the engine reads words with blanks between as well.
    return []
  }
}

/** An address, or words whose variables could make one: quotes and escapes inside a word mean nothing to us. */
function mayBeRemote(source: string): boolean {
  const plain = source.replaceAll(/["'\\`]/g, '').toLowerCase()
  const fixed = plain.split('$', 1)[0]!
  if (/^(?:https?|ftp|git|ssh):|^git@/.test(plain)) return true
  return plain.includes('$') && ['http://', 'https://'].some((scheme) => scheme.startsWith(fixed))
}
