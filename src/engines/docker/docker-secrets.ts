import { PassThrough } from 'node:stream'
import type Docker from 'dockerode'
import { EngineFailure } from '../engine.ts'
import { asked, jsonLines } from './docker-client.ts'

/** Replaces every secret value, and every longer line of one that has several, by three stars. */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  let masked = text
  for (const value of secretTexts(secrets)) masked = masked.replaceAll(value, '***')
  return masked
}

function secretTexts(secrets: readonly string[]): string[] {
  const texts = secrets.flatMap((value) => [
    value,
    ...value.split(/\r?\n/).filter((line) => line.length >= 4),
  ])
  // Longest first, so that a value inside another does not leave the rest of it behind.
  return [...new Set(texts)].filter((text) => text !== '').sort((a, b) => b.length - a.length)
}

/** Whether a value stands anywhere in `value`, as it is or as JSON writes it. */
function holdsSecret(value: unknown, secrets: readonly string[]): boolean {
  const json = JSON.stringify(value ?? null)
  return secretTexts(secrets).some((secret) => json.includes(JSON.stringify(secret).slice(1, -1)))
}

/**
 * The builder writes build arguments into the history of every layer a RUN made, and files a step deleted live on in
 * the layers below. When a secret is found, the image is replaced by one layer of its final files and its settings,
 * without history. Answers the id of the image to keep; the other one is the caller's to remove.
 */
export async function withoutSecrets(options: {
  docker: Docker
  imageId: string
  secrets: readonly string[]
  onLine: (message: string) => void
  signal: AbortSignal
}): Promise<string> {
  const { docker, imageId, secrets, signal } = options
  const image = docker.getImage(imageId)
  const [info, history] = await asked(Promise.all([image.inspect(), image.history()]))
  if (!holdsSecret([info.Config, info.ContainerConfig, history], secrets)) return imageId
  const config = cleanConfig(info.Config, secrets, options.onLine)
  options.onLine(
    'The image is written again as one layer, because its history showed a secret build variable.',
  )
  return await flatten(docker, imageId, config, signal)
}

type ImageConfig = Docker.ImageInspectInfo['Config']

/** ENV lines that copied a secret are left out; a secret anywhere else in the settings ends the build. */
export function cleanConfig(
  config: ImageConfig,
  secrets: readonly string[],
  onLine: (message: string) => void,
): ImageConfig {
  const kept: string[] = []
  for (const line of config.Env ?? []) {
    if (!holdsSecret(line, secrets)) kept.push(line)
    else
      onLine(
        `ENV ${line.split('=')[0]} is left out of the image: it holds a secret build variable. ` +
          'Give the variable the type RUNTIME or BOTH to have it when the code runs.',
      )
  }
  const clean = { ...config, Env: kept }
  const leaks = Object.entries(clean).find(([, value]) => holdsSecret(value, secrets))
  if (leaks) {
    throw new EngineFailure(
      'build step',
      `The image's ${leaks[0]} holds a secret build variable, where everyone with the image can read it. ` +
        'Read it from the environment when the code runs instead (type RUNTIME or BOTH).',
    )
  }
  return clean
}

/** Export of the files, import as one layer, and a commit that brings the settings back. */
async function flatten(
  docker: Docker,
  imageId: string,
  config: ImageConfig,
  abortSignal: AbortSignal,
): Promise<string> {
  const source = await asked(
    docker.createContainer({ Image: imageId, Cmd: ['never-run'], NetworkDisabled: true }),
  )
  let layer: string | null = null
  try {
    const files = (await asked(source.export({ abortSignal }))) as NodeJS.ReadableStream
    layer = await importLayer(docker, files, abortSignal)
    return await commitSettings(docker, layer, config)
  } finally {
    await asked(source.remove({ force: true, v: true }))
  }
}

async function importLayer(
  docker: Docker,
  files: NodeJS.ReadableStream,
  abortSignal: AbortSignal,
): Promise<string> {
  const through = new PassThrough()
  files.on('error', (error) => through.destroy(error as Error))
  const answer = await asked(docker.importImage(files.pipe(through), { abortSignal } as object))
  let id: string | null = null
  for await (const line of jsonLines(answer as unknown as AsyncIterable<Buffer>)) {
    if (typeof line.error === 'string') throw new Error(`import of the flattened image: ${line.error}`)
    if (typeof line.status === 'string' && line.status.startsWith('sha256:')) id = line.status
  }
  if (!id) throw new Error('import of the flattened image ended without an id')
  return id
}

async function commitSettings(docker: Docker, layer: string, config: ImageConfig): Promise<string> {
  // The command only has to be there; it is overwritten by the settings and never run.
  const holder = await asked(
    docker.createContainer({
      Image: layer,
      Cmd: config.Cmd ?? ['no-command-in-image'],
      NetworkDisabled: true,
    }),
  )
  try {
    const { Id } = await asked(holder.commit({ _query: { container: holder.id }, _body: config } as object))
    return Id
  } finally {
    await asked(holder.remove({ force: true, v: true }))
  }
}
