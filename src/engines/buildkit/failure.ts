import { AppError } from '../../errors.ts'
import { EngineFailure } from '../engine.ts'
import type { FailedStep } from './progress.ts'

const longestTitle = 200

/**
 * Explains a failed build: `EngineFailure` for the tenant's source or base image, `AppError('unavailable')` for the
 * builder and the registry. `output` is what buildctl printed besides its progress.
 */
export function buildFailure(failed: FailedStep | null, output: string): EngineFailure | AppError {
  const title = failed?.title
  const text = sentenceOf(failed?.error ?? /error: ((?:.|\n)*)$/.exec(output)?.[1] ?? output)
  const code = /did not complete successfully: exit code: (\d+)/.exec(text)?.[1]
  if (failed && code !== undefined) return stepFailed(failed, code)
  const source = /failed to resolve source metadata for (\S+?): (.*)/s.exec(text)
  if (/denied by policy/.test(text)) return deniedSource(text)
  if (source) return imageFailed(source[1]!, source[2]!)
  const parsed = /dockerfile parse error(?: on line (\d+))?: (.*)/is.exec(text)
  if (parsed) {
    const where = parsed[1] ? `Dockerfile line ${parsed[1]}: ` : 'The Dockerfile was refused: '
    return new EngineFailure('build step', `${where}${parsed[2]}`)
  }
  // The first word is of the client, the second of what stands behind it.
  if (
    /connection error|transport|context deadline exceeded|failed to (?:push|dial|list workers)|unexpected status from|no such host|connection refused/i.test(
      text,
    )
  )
    return builderAway(new Error(text))
  return new EngineFailure(
    'build step',
    title ? `${title} failed: ${text}` : `The Dockerfile was refused: ${text}`,
  )
}

function builderAway(cause: unknown): AppError {
  return new AppError('unavailable', 'The builder of this region cannot be used', {
    details:
      'BuildKit or the image registry does not respond as it should. The operator finds the reason in the log of the server.',
    cause,
  })
}

function stepFailed({ title, excerpt }: FailedStep, code: string): EngineFailure {
  const killed =
    code === '137' ? ' It was killed, most likely because it took more memory than a build may.' : ''
  const shown = title.length > longestTitle ? `${title.slice(0, longestTitle)}…"` : title
  const printed = excerpt.length > 0 ? `\n${excerpt.join('\n')}` : ' It printed nothing.'
  return new EngineFailure('build step', `${shown} failed with exit code: ${code}.${killed}${printed}`)
}

function imageFailed(image: string, why: string): EngineFailure {
  return new EngineFailure(
    'image pull',
    `FROM ${image} failed: ${why.replace(/\.?$/, '.')} Check the name and the tag, and that the registry can be reached.`,
  )
}

function deniedSource(text: string): EngineFailure {
  const [, kind = '', name = ''] = /source "([a-z-]+):\/\/([^"]+)" denied/.exec(text) ?? []
  return new EngineFailure(
    'build step',
    kind === 'docker-image'
      ? `${JSON.stringify(name)} is no image that a build may use: name one of a registry, with its tag, such as node:22-alpine, or an earlier stage`
      : `${kind}://${name} would be downloaded by the builder, over its own network. Download it in a RUN step, or put the file into the source.`,
  )
}

function sentenceOf(text: string): string {
  return text.replace(/^failed to solve: /, '').trim()
}
