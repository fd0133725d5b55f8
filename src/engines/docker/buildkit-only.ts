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
  const { message } = error
  const why = remedy(message)
  return why === null ? error : new EngineFailure(error.reason, why, { cause: error })
}

function remedy(message: string): string | null {
  const builder = 'this platform builds with Docker’s classic builder'
  const option = /^(.*?)(?: failed)?: the (--\S+) option requires BuildKit/s.exec(message)
  if (option) {
    return `${option[1]}: the ${option[2]} option is one of BuildKit, and ${builder}. Leave it out; a secret of a build comes as an ARG from a variable of type BUILD.`
  }
  const flag = /line (\d+): Unknown flag: ([a-z]+)/.exec(message)
  if (flag) {
    return `Line ${flag[1]} of the Dockerfile: the option --${flag[2]} is unknown or one of BuildKit, and ${builder}. Leave it out.`
  }
  if (/failed to parse platform : ""/.test(message)) {
    return `A FROM has an empty --platform: ${builder}, which knows BUILDPLATFORM and TARGETPLATFORM only after ARG. Put ARG BUILDPLATFORM before the first FROM, or leave --platform out.`
  }
  return null
}
