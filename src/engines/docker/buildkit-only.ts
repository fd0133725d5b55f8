import { hasHereDocument } from '../dockerfile/here-document.ts'
import { EngineFailure } from '../engine.ts'

/**
 * Rejects a Dockerfile with a here-document: the classic builder reads its lines as instructions and a newer one does
 * not, so its expansion cannot be checked in advance. Throws `build step`.
 */
export function refuseHereDocument(dockerfile: string): void {
  if (!hasHereDocument(dockerfile)) return
  throw new EngineFailure(
    'build step',
    'The Dockerfile has a here-document (<<), which only BuildKit reads; this platform builds with Docker’s classic builder. Join the commands with && and backslashes, or copy a script from the source.',
  )
}

/**
 * Adds the remedy to a failure caused by a BuildKit option: the classic builder only says to enable BuildKit, which a
 * tenant cannot do. Returns other failures unchanged.
 */
export function explainBuildKit(error: unknown): unknown {
  if (!(error instanceof EngineFailure)) return error
  const option = /^(.*?)(?: failed)?: the (--\S+) option requires BuildKit/s.exec(error.message)
  if (!option) return error
  return new EngineFailure(
    error.reason,
    `${option[1]}: the ${option[2]} option is one of BuildKit, and this platform builds with Docker’s classic builder. Leave it out; a secret of a build comes as an ARG from a variable of type BUILD.`,
    { cause: error },
  )
}
