import { EngineFailure } from '../engine.ts'

/**
 * The failure with what to do instead, when the Dockerfile is written for BuildKit: the classic builder says only
 * that it does not know the words of a here-document, or to enable BuildKit, which a tenant cannot. Other failures as
 * they are.
 */
export function explainBuildKit(error: unknown, dockerfile: string): unknown {
  if (!(error instanceof EngineFailure)) return error
  const option = /^(.*?)(?: failed)?: the (--\S+) option requires BuildKit/s.exec(error.message)
  const advice = option
    ? `${option[1]}: the ${option[2]} option is one of BuildKit, and this platform builds with Docker’s classic builder. Leave it out; a secret of a build comes as an ARG from a variable of type BUILD.`
    : /unknown instruction/i.test(error.message) && hasHereDocument(dockerfile)
      ? `${error.message}. The Dockerfile has a here-document (<<), which only BuildKit reads; this platform builds with Docker’s classic builder. Join the commands with && and backslashes, or copy a script from the source.`
      : null
  return advice === null ? error : new EngineFailure(error.reason, advice, { cause: error })
}

/** An instruction that takes them opens one, and a later line is the word that ends it. */
function hasHereDocument(dockerfile: string): boolean {
  const lines = dockerfile.split(/\r?\n/)
  return lines.some((line, index) => {
    const word = /^\s*(?:RUN|COPY|ADD)\s.*<<-?\s*["']?(\w+)/i.exec(line)?.[1]
    return word !== undefined && lines.slice(index + 1).some((later) => later.trim() === word)
  })
}
