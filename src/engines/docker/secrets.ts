import { randomBytes } from 'node:crypto'
import { PassThrough } from 'node:stream'
import type Docker from 'dockerode'
import { createMask, mostMasked } from '../../domain/environments/secret-masker.ts'
import { instructionsOf } from '../dockerfile/readings.ts'
import { type BuildSpec, EngineFailure, shortestBuildSecret } from '../engine.ts'
import { engineAway, engineCall, jsonLines, orNull, requestInTime } from './client.ts'

/** Shorter values occur in too many words to search for them; they are found only as NAME=value. */
const shortestSought = 6

/** A secret build variable that a Dockerfile takes. */
export interface BuildSecret {
  name: string
  value: string
  /** Whether the Dockerfile itself contains the value, so that finding it elsewhere proves nothing. */
  isWritten: boolean
}

/** Docker accepts these without an ARG line. */
const predefined = /^(?:https?|ftp|no|all)_proxy$/i

/** The secret build variables that can get into the image: those the Dockerfile declares with ARG. */
export function secretsTaken(
  spec: Pick<BuildSpec, 'buildArgs' | 'secretBuildArgs'>,
  dockerfile: string,
): BuildSecret[] {
  const words = instructionsOf(dockerfile).flatMap((instruction) => {
    return /^(?:ONBUILD\s+)*ARG\s+(.*)$/is.exec(instruction)?.[1]?.split(/\s+/) ?? []
  })
  const declared = new Set(words.map((word) => word.split('=', 1)[0]!))
  const taken = Object.entries(spec.buildArgs)
    .filter(([name, value]) => value !== '' && spec.secretBuildArgs.includes(value) && isTaken(name))
    .map(([name, value]) => ({ name, value, isWritten: dockerfile.includes(value) }))
  if (taken.reduce((sum, { value }) => sum + value.length, 0) > mostMasked)
    throw new EngineFailure(
      'build step',
      `The secret build variables that the Dockerfile declares hold more than ${mostMasked / 1024} KiB in all. Shorten them, or give them the type DEPLOY.`,
    )
  return taken
  function isTaken(name: string): boolean {
    return predefined.test(name) || declared.has(name)
  }
}

/** Whether a value occurs anywhere in an object, as it is or as JSON, URLs and base64 write it. */
function searchFor(secrets: readonly BuildSecret[]): (value: unknown) => boolean {
  const sought = secrets.filter((secret) => !secret.isWritten && secret.value.length >= shortestSought)
  const mask = createMask(
    sought.map((secret) => secret.value),
    shortestBuildSecret,
  )
  return (value) => {
    const json = JSON.stringify(value ?? null)
    return mask(json) !== json
  }
}

/** The form in which the builder writes RUN arguments and ENV into the history. */
function holdsPair(value: unknown, secrets: readonly BuildSecret[]): boolean {
  const json = JSON.stringify(value ?? null)
  return secrets.some(({ name, value: text }) =>
    json.includes(JSON.stringify(`${name}=${text}`).slice(1, -1)),
  )
}

/**
 * The builder writes build arguments into the history of every RUN layer, and files deleted by a step remain in the
 * layers below. If a secret is found, the image is replaced by one layer with its final files and settings, without
 * history. Returns the id of the image to keep; the caller removes the other one.
 */
export async function withoutSecrets(options: {
  docker: Docker
  imageId: string
  secrets: readonly BuildSecret[]
  containerPrefix: string
  onLine: (message: string) => void
  signal: AbortSignal
}): Promise<string> {
  const { docker, imageId, secrets, signal } = options
  const image = docker.getImage(imageId)
  const [info, history] = await engineCall(Promise.all([image.inspect(), image.history()]))
  const imageText = [info.Config, info.ContainerConfig, history]
  if (!searchFor(secrets)(imageText) && !holdsPair(imageText, secrets)) return imageId
  const config = cleanConfig(info.Config, secrets, options.onLine)
  options.onLine(
    'The image is written again as one layer, because its history showed a secret build variable.',
  )
  return await flatten(docker, { id: imageId, config, containerPrefix: options.containerPrefix }, signal)
}

type ImageConfig = Docker.ImageInspectInfo['Config']

/** Drops ENV lines that copied a secret; a secret anywhere else in the settings fails the build. */
export function cleanConfig(
  config: ImageConfig,
  secrets: readonly BuildSecret[],
  onLine: (message: string) => void,
): ImageConfig {
  const holdsSecret = searchFor(secrets)
  const kept: string[] = []
  for (const line of config.Env ?? []) {
    if (!holdsSecret(line) && !holdsPair(line, secrets)) kept.push(line)
    else
      onLine(
        `ENV ${line.split('=')[0]} is left out of the image: it holds a secret build variable. ` +
          'Give the variable the type DEPLOY or BOTH to have it when the code runs.',
      )
  }
  const clean = { ...config, Env: kept }
  const leaks = Object.entries(clean).find(([, value]) => holdsSecret(value))
  if (leaks) {
    throw new EngineFailure(
      'build step',
      `The image's ${leaks[0]} holds a secret build variable, where everyone with the image can read it. ` +
        'Read it from the environment when the code runs instead (type DEPLOY or BOTH), or set isSecret to false.',
    )
  }
  return clean
}

/** Exports the files, imports them as one layer, and commits that layer with the original settings. */
async function flatten(docker: Docker, image: FlatImage, abortSignal: AbortSignal): Promise<string> {
  const command = ['never-run']
  return await withContainer(docker, image, { Image: image.id, Cmd: command }, async (source) => {
    const files = (await engineCall(source.export({ abortSignal }))) as NodeJS.ReadableStream
    const layer = await importLayer(docker, files, abortSignal)
    // Some command is required; the settings overwrite it and it never runs.
    const holder = { Image: layer, Cmd: image.config.Cmd ?? command }
    return await withContainer(docker, image, holder, async (container) => {
      const { Id } = await engineCall(
        container.commit({ _query: { container: container.id }, _body: image.config } as object),
      )
      return Id
    })
  })
}

interface FlatImage {
  id: string
  config: ImageConfig
  containerPrefix: string
}

/** Creates a container without starting it, and removes it afterwards. */
async function withContainer<T>(
  docker: Docker,
  image: FlatImage,
  options: Docker.ContainerCreateOptions,
  task: (container: Docker.Container) => Promise<T>,
): Promise<T> {
  const name = image.containerPrefix + randomBytes(6).toString('hex')
  const container = await engineCall(docker.createContainer({ ...options, name, NetworkDisabled: true }))
  try {
    return await task(container)
  } finally {
    await engineCall(container.remove({ force: true, v: true }))
  }
}

async function importLayer(
  docker: Docker,
  files: NodeJS.ReadableStream,
  abortSignal: AbortSignal,
): Promise<string> {
  const through = new PassThrough()
  files.on('error', (error) => through.destroy(error as Error))
  const answer = await engineCall(docker.importImage(files.pipe(through), { abortSignal } as object))
  let id: string | null = null
  for await (const line of jsonLines(answer as unknown as AsyncIterable<Buffer>)) {
    if (typeof line.error === 'string') throw new Error(`import of the flattened image: ${line.error}`)
    if (typeof line.status === 'string' && line.status.startsWith('sha256:')) id = line.status
  }
  if (!id) throw engineAway(new Error('import of the flattened image ended without an id'))
  return id
}

/** Removes containers that a crash in `withContainer` left behind; none is in use for an hour. */
export async function removeLeftContainers(docker: Docker, prefix: string, nowMs: number): Promise<void> {
  const found = await requestInTime((abortSignal) =>
    docker.listContainers({
      all: true,
      filters: { name: [`^/?${prefix}`], status: ['created'] },
      abortSignal,
    }),
  )
  for (const one of found.filter(({ Created }) => Created * 1000 < nowMs - 3_600_000)) {
    await orNull(requestInTime((abortSignal) => docker.getContainer(one.Id).remove({ v: true, abortSignal })))
  }
}
