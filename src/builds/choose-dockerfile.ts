import { lstat } from 'node:fs/promises'
import path from 'node:path'
import type { DockerPreset } from '../contract/fields.ts'
import { generatedDockerfile } from '../domain/generated-dockerfile.ts'
import { generatesDockerfile, isFunction } from '../domain/presets.ts'
import { EngineFailure } from '../engines/engine.ts'
import { AppError } from '../errors.ts'
import { readSourceFacts } from './read-source.ts'

export interface DockerfileChoice {
  /** Text to build with; null for the file in the source. */
  content: string | null
  /** For the build log. */
  said: string
}

/**
 * Which Dockerfile a build takes: the app's own text, else the file in the source, else what the preset generates.
 * A source's own file wins over the preset, so that a tenant can go on from what was generated. Throws
 * `EngineFailure('no Dockerfile')`.
 */
export async function chooseDockerfile(options: {
  sourceDir: string
  contextDir: string
  /** Null unless the app names one: then only that one will do. */
  dockerfilePath: string | null
  dockerfileContent: string | null
  preset: DockerPreset
  nodeImage: string
  buildVariables: readonly string[]
}): Promise<DockerfileChoice> {
  const { preset, dockerfileContent } = options
  if (dockerfileContent !== null)
    return { content: dockerfileContent, said: 'Building with the Dockerfile of the app settings' }
  const file = options.dockerfilePath ?? 'Dockerfile'
  const context = path.join(options.sourceDir, options.contextDir)
  const found = await lstat(path.join(context, file)).catch(() => null)
  if (found) return { content: null, said: `Building with ${file}` }
  if (generatesDockerfile(preset) && options.dockerfilePath === null) {
    const content = await generate(context, options)
    return { content, said: `Building with a Dockerfile generated for ${preset}:\n${shown(content)}` }
  }
  throw missing(options.contextDir === '.' ? file : path.posix.join(options.contextDir, file), preset)
}

async function generate(
  context: string,
  {
    preset,
    nodeImage,
    buildVariables,
  }: { preset: DockerPreset; nodeImage: string; buildVariables: readonly string[] },
): Promise<string> {
  const isFolder = (await lstat(context).catch(() => null))?.isDirectory()
  if (!isFolder)
    throw new EngineFailure('no Dockerfile', 'The source has no such context folder. Check contextDir.')
  try {
    return generatedDockerfile(preset, await readSourceFacts(context), { nodeImage, buildVariables })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new EngineFailure('no Dockerfile', `${error.message} ${error.details ?? ''}`.trim())
  }
}

function missing(file: string, preset: DockerPreset): EngineFailure {
  const why = isFunction(preset)
    ? 'Functions are built from a Dockerfile only (F6): no preset generates one for them.'
    : `The ${preset} preset generates none.`
  return new EngineFailure(
    'no Dockerfile',
    `The source has no Dockerfile at ${JSON.stringify(file)}. ${why} Add one, or set dockerfilePath, contextDir or customDockerfileContent on the app.`,
  )
}

/** For the build log; the server of STATIC is one long line. */
function shown(dockerfile: string): string {
  const lines = dockerfile.trimEnd().split('\n')
  return lines.map((line) => (line.length > 300 ? `${line.slice(0, 300)} …` : line)).join('\n')
}
