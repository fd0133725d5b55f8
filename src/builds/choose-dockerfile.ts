import { lstat, readdir } from 'node:fs/promises'
import path from 'node:path'
import type { DockerPreset } from '../contract/fields.ts'
import { detectPreset } from '../domain/apps/detect-preset.ts'
import { generatedDockerfile } from '../domain/apps/generated-dockerfile.ts'
import { generatesDockerfile, isFunction, isRegularApp } from '../domain/apps/presets.ts'
import { withoutStaticServer } from '../domain/apps/static-server.ts'
import { EngineFailure } from '../engines/engine.ts'
import { AppError } from '../errors.ts'
import { readSourceFacts } from './read-source.ts'

interface DockerfileChoice {
  /** The Dockerfile's text; null to use the file in the source. */
  content: string | null
  /** A line for the build log. */
  logLine: string
}

/**
 * Chooses the Dockerfile of a build: the app's own text, otherwise the file in the source, otherwise a generated one
 * for the preset. The file wins over the preset, so that a tenant can start from a generated one and edit it. Throws
 * `EngineFailure('no Dockerfile')`.
 */
export async function chooseDockerfile(options: {
  sourceDir: string
  contextDir: string
  /** Null unless the app sets one, which must then exist. */
  dockerfilePath: string | null
  dockerfileContent: string | null
  preset: DockerPreset
  nodeImage: string
  buildVariables: readonly string[]
}): Promise<DockerfileChoice> {
  const { preset, dockerfileContent } = options
  if (dockerfileContent !== null)
    return { content: dockerfileContent, logLine: 'Building with the Dockerfile of the app settings' }
  const file = options.dockerfilePath ?? 'Dockerfile'
  const context = path.join(options.sourceDir, options.contextDir)
  const found = await lstat(path.join(context, file)).catch(() => null)
  if (found) return { content: null, logLine: `Building with ${file}` }
  if (generatesDockerfile(preset) && options.dockerfilePath === null) {
    const content = await generate(context, options)
    return { content, logLine: `Building with a Dockerfile generated for ${preset}:\n${shown(content)}` }
  }
  const place = options.contextDir === '.' ? file : path.posix.join(options.contextDir, file)
  const other = await otherDockerfile(options.sourceDir, path.basename(file))
  throw missing(place, preset, other ?? (options.dockerfilePath === null ? await detected(context) : null))
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

/** Where the source has such a file, in its root or one folder below. */
async function otherDockerfile(sourceDir: string, name: string): Promise<string | null> {
  const entries = await readdir(sourceDir, { withFileTypes: true }).catch(() => [])
  const folders = ['.', ...entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)]
  for (const folder of folders) {
    if (await lstat(path.join(sourceDir, folder, name)).catch(() => null))
      return `contextDir ${JSON.stringify(folder)} (there is ${JSON.stringify(path.posix.join(folder, name))})`
  }
  return null
}

/** The preset that the source needs, for advice. */
async function detected(context: string): Promise<string | null> {
  const found = await readSourceFacts(context).then(detectPreset, () => null)
  return found && `dockerPreset ${found.preset} (${found.why})`
}

function missing(file: string, preset: DockerPreset, fitting: string | null): EngineFailure {
  const why = isFunction(preset)
    ? 'Functions need their own Dockerfile (F6): presets do not generate one for them.'
    : `The ${preset} preset generates none.`
  const advice =
    fitting !== null && (isRegularApp(preset) || fitting.startsWith('contextDir'))
      ? `Set ${fitting} with update-app, then call redeploy-app-env; or add a Dockerfile.`
      : 'Add one, or set dockerfilePath, contextDir or customDockerfileContent with update-app.'
  return new EngineFailure(
    'no Dockerfile',
    `The source has no Dockerfile at ${JSON.stringify(file)}. ${why} ${advice}`,
  )
}

/** Shortened for the build log. */
function shown(dockerfile: string): string {
  const lines = dockerfile.trimEnd().split('\n').map(withoutStaticServer)
  return lines.map((line) => (line.length > 300 ? `${line.slice(0, 300)} …` : line)).join('\n')
}
