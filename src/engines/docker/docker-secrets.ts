import { randomBytes } from 'node:crypto'
import { PassThrough } from 'node:stream'
import type Docker from 'dockerode'
import { type BuildSpec, EngineFailure } from '../engine.ts'
import { asked, askedInTime, jsonLines, orNull } from './docker-client.ts'
import { instructionsOf } from './dockerfile-instructions.ts'

/** Shorter values are in too many words to be searched for; only where they stand as NAME=value can be told. */
const shortestMasked = 4
const shortestSought = 6

/** Replaces every secret value, and every longer line of one that has several, by three stars. */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  let masked = text
  for (const value of secretTexts(secrets)) masked = masked.replaceAll(value, '***')
  return masked
}

function secretTexts(secrets: readonly string[]): string[] {
  const texts = secrets.flatMap((value) => [value, ...value.split(/\r?\n/)])
  // Longest first, so that a value inside another does not leave the rest of it behind.
  return [...new Set(texts)]
    .filter((text) => text.length >= shortestMasked)
    .sort((a, b) => b.length - a.length)
}

/** A secret build variable that a Dockerfile takes. */
export interface BuildSecret {
  name: string
  value: string
  /** Whether the Dockerfile has the value in its own words, so that finding it elsewhere says nothing. */
  isWritten: boolean
}

/** Docker takes these without an ARG line. */
const predefined = /^(?:https?|ftp|no|all)_proxy$/i

/** The secret build variables that can get into the image: those the Dockerfile declares with ARG. */
export function secretsTaken(
  spec: Pick<BuildSpec, 'buildArgs' | 'secretBuildArgs'>,
  dockerfile: string,
): BuildSecret[] {
  const declared = instructionsOf(dockerfile)
    .flatMap((instruction) => /^(?:ONBUILD\s+)*ARG\s+(.*)$/is.exec(instruction)?.[1] ?? [])
    .join(' ')
  return Object.entries(spec.buildArgs)
    .filter(([name, value]) => value !== '' && spec.secretBuildArgs.includes(value) && isTaken(name))
    .map(([name, value]) => ({ name, value, isWritten: dockerfile.includes(value) }))
  function isTaken(name: string): boolean {
    return predefined.test(name) || new RegExp(`(?:^|\\s)${name}(?:=|\\s|$)`).test(declared)
  }
}

/** Whether a value stands anywhere in `text`, as it is or as JSON writes it. */
function holdsSecret(value: unknown, secrets: readonly BuildSecret[]): boolean {
  const json = JSON.stringify(value ?? null)
  const sought = secrets.filter((secret) => !secret.isWritten && secret.value.length >= shortestSought)
  return secretTexts(sought.map((secret) => secret.value)).some((text) =>
    json.includes(JSON.stringify(text).slice(1, -1)),
  )
}

/** How the builder writes the arguments of a RUN into the history, and ENV its lines. */
function holdsPair(value: unknown, secrets: readonly BuildSecret[]): boolean {
  const json = JSON.stringify(value ?? null)
  return secrets.some(({ name, value: text }) =>
    json.includes(JSON.stringify(`${name}=${text}`).slice(1, -1)),
  )
}

/**
 * The builder writes build arguments into the history of every layer a RUN made, and files a step deleted live on in
 * the layers below. When a secret is found, the image is replaced by one layer of its final files and its settings,
 * without history. Answers the id of the image to keep; the other one is the caller's to remove.
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
  const [info, history] = await asked(Promise.all([image.inspect(), image.history()]))
  const told = [info.Config, info.ContainerConfig, history]
  if (!holdsSecret(told, secrets) && !holdsPair(told, secrets)) return imageId
  const config = cleanConfig(info.Config, secrets, options.onLine)
  options.onLine(
    'The image is written again as one layer, because its history showed a secret build variable.',
  )
  return await flatten(docker, { id: imageId, config, containerPrefix: options.containerPrefix }, signal)
}

type ImageConfig = Docker.ImageInspectInfo['Config']

/** ENV lines that copied a secret are left out; a secret anywhere else in the settings ends the build. */
export function cleanConfig(
  config: ImageConfig,
  secrets: readonly BuildSecret[],
  onLine: (message: string) => void,
): ImageConfig {
  const kept: string[] = []
  for (const line of config.Env ?? []) {
    if (!holdsSecret(line, secrets) && !holdsPair(line, secrets)) kept.push(line)
    else
      onLine(
        `ENV ${line.split('=')[0]} is left out of the image: it holds a secret build variable. ` +
          'Give the variable the type DEPLOY or BOTH to have it when the code runs.',
      )
  }
  const clean = { ...config, Env: kept }
  const leaks = Object.entries(clean).find(([, value]) => holdsSecret(value, secrets))
  if (leaks) {
    throw new EngineFailure(
      'build step',
      `The image's ${leaks[0]} holds a secret build variable, where everyone with the image can read it. ` +
        'Read it from the environment when the code runs instead (type DEPLOY or BOTH), or set isSecret to false.',
    )
  }
  return clean
}

/** Export of the files, import as one layer, and a commit that brings the settings back. */
async function flatten(docker: Docker, image: FlatImage, abortSignal: AbortSignal): Promise<string> {
  const command = ['never-run']
  return await withContainer(docker, image, { Image: image.id, Cmd: command }, async (source) => {
    const files = (await asked(source.export({ abortSignal }))) as NodeJS.ReadableStream
    const layer = await importLayer(docker, files, abortSignal)
    // The command only has to be there; it is overwritten by the settings and never run.
    const holder = { Image: layer, Cmd: image.config.Cmd ?? command }
    return await withContainer(docker, image, holder, async (container) => {
      const { Id } = await asked(
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

/** A container that is made, not started, and removed again. */
async function withContainer<T>(
  docker: Docker,
  image: FlatImage,
  options: Docker.ContainerCreateOptions,
  task: (container: Docker.Container) => Promise<T>,
): Promise<T> {
  const name = image.containerPrefix + randomBytes(6).toString('hex')
  const container = await asked(docker.createContainer({ ...options, name, NetworkDisabled: true }))
  try {
    return await task(container)
  } finally {
    await asked(container.remove({ force: true, v: true }))
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

/** Removes what a crash in the middle of `withContainer` left behind; an hour is more than any takes. */
export async function removeLeftContainers(docker: Docker, prefix: string, nowMs: number): Promise<void> {
  const found = await askedInTime((abortSignal) =>
    docker.listContainers({
      all: true,
      filters: { name: [`^/?${prefix}`], status: ['created'] },
      abortSignal,
    }),
  )
  for (const one of found.filter(({ Created }) => Created * 1000 < nowMs - 3_600_000)) {
    await orNull(askedInTime((abortSignal) => docker.getContainer(one.Id).remove({ v: true, abortSignal })))
  }
}
