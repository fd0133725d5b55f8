import type Docker from 'dockerode'
import type { Clock } from '../../clock.ts'
import { timestamp } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { type BuildSpec, type BuiltImage, EngineFailure, type EngineLogLine } from '../engine.ts'
import { explainBuildKit } from './buildkit-only.ts'
import { BuildOutput, buildFailure } from './docker-build-output.ts'
import {
  asked,
  askedInTime,
  engineAway,
  engineSentence,
  jsonLines,
  orNull,
  statusOf,
  told,
} from './docker-client.ts'
import { openContext, readDockerfile } from './docker-context.ts'
import { type BuildSecret, maskSecrets, secretsTaken, withoutSecrets } from './docker-secrets.ts'
import { buildContainerPrefix, imageNamespace, imageTag, label, stageRepository } from './docker-spec.ts'
import { refuseOthersImages } from './others-images.ts'
import { refuseRemoteAdd } from './remote-add.ts'

/** What RUN steps of one build may take together with their page cache. */
const buildMemoryBytes = 4 * 1024 * 1024 * 1024

/** Below the 1024 of running containers, which come first when the CPU is short. */
const buildCpuShares = 512

export interface BuildSurroundings {
  docker: Docker
  installationId: string
  clock: Clock
  log: Log
}

/** Builds with the classic builder, which every Docker-API engine has, and names the image for its content. */
export async function buildImage(
  surroundings: BuildSurroundings,
  spec: BuildSpec,
  onLog: (line: EngineLogLine) => void,
  signal: AbortSignal,
): Promise<BuiltImage> {
  const secrets = spec.secretBuildArgs
  const say = (message: string, stream: EngineLogLine['stream'] = 'stdout') => {
    onLog({
      timestamp: timestamp(surroundings.clock.wallMs()),
      stream,
      message: maskSecrets(message, secrets),
    })
  }
  let output = new BuildOutput((line) => say(line.message, line.stream))
  let built: string | null = null
  let taken: BuildSecret[] = []
  try {
    const dockerfile = await readDockerfile(spec)
    refuseRemoteAdd(dockerfile)
    refuseOthersImages(dockerfile, spec.buildArgs)
    taken = secretsTaken(spec, dockerfile)
    try {
      built = await runBuild(surroundings, spec, output, signal)
    } catch (error) {
      if (!lostCachedLayer(error)) throw explainBuildKit(error, dockerfile)
      say('A layer of the build cache was removed meanwhile; building again.')
      output = new BuildOutput((line) => say(line.message, line.stream))
      built = await runBuild(surroundings, spec, output, signal)
    }
    const kept = await withoutSecrets({
      docker: surroundings.docker,
      imageId: built,
      secrets: taken,
      containerPrefix: buildContainerPrefix(surroundings.installationId),
      onLine: say,
      signal,
    })
    await giveName(surroundings.docker, kept, imageTag(spec.appEnvId, spec.contentId))
    if (kept === built) built = null
  } catch (error) {
    throw signal.aborted ? interrupted(signal) : masked(told(error), secrets)
  } finally {
    const leaky = taken.length > 0 || output.hasDownloads
    await tidy(surroundings, spec, { dropped: built, stages: output.stages, leaky })
  }
  return { image: imageTag(spec.appEnvId, spec.contentId) }
}

async function runBuild(
  { docker, installationId }: BuildSurroundings,
  spec: BuildSpec,
  output: BuildOutput,
  signal: AbortSignal,
): Promise<string> {
  const context = await openContext(spec)
  try {
    const answer = await docker.buildImage(
      context.tar as unknown as NodeJS.ReadableStream,
      {
        dockerfile: context.dockerfile,
        buildargs: spec.buildArgs,
        labels: {
          [label.installation]: installationId,
          [label.environment]: spec.appEnvId,
          [label.content]: spec.contentId,
        },
        rm: true,
        forcerm: true,
        memory: buildMemoryBytes,
        memswap: buildMemoryBytes,
        cpushares: buildCpuShares,
        version: '1',
        abortSignal: signal,
      } as Docker.ImageBuildOptions,
    )
    for await (const message of jsonLines(answer as unknown as AsyncIterable<Buffer>)) output.feed(message)
  } catch (error) {
    output.finish()
    throw refusal(error)
  } finally {
    context.tar.destroy()
  }
  const image = output.finish()
  if (!image) throw engineAway(new Error('the build output ended before the image was made'))
  return image
}

/** The end of another environment took a cached layer away that this build had just begun on. */
function lostCachedLayer(error: unknown): boolean {
  return error instanceof EngineFailure && /unknown parent image|failed to set parent/i.test(error.message)
}

/** The engine refuses a Dockerfile it cannot read before it begins to talk. */
function refusal(error: unknown): unknown {
  const status = statusOf(error)
  const sentence = status === null ? '' : engineSentence(error)
  return status === 400 || /dockerfile|build stage|instruction/i.test(sentence)
    ? buildFailure(sentence, null)
    : error
}

function interrupted(signal: AbortSignal): EngineFailure {
  if (signal.reason instanceof EngineFailure) return signal.reason
  return new EngineFailure('interrupted', 'The build was stopped before it ended.')
}

function masked(error: unknown, secrets: readonly string[]): unknown {
  if (!(error instanceof EngineFailure)) return error
  return new EngineFailure(error.reason, maskSecrets(error.message, secrets), { cause: error.cause })
}

async function giveName(docker: Docker, imageId: string, name: string): Promise<void> {
  const colon = name.lastIndexOf(':')
  const named = docker.getImage(imageId).tag({ repo: name.slice(0, colon), tag: name.slice(colon + 1) })
  await asked(named)
}

/**
 * The builder leaves images of stages and of failed steps behind without a name. They are the cache of the next
 * build, so one build's worth of them is kept, under names of their own; a build that took secrets keeps none.
 */
async function tidy(
  { docker, installationId, log }: BuildSurroundings,
  spec: BuildSpec,
  { dropped, stages, leaky }: { dropped: string | null; stages: readonly string[]; leaky: boolean },
): Promise<void> {
  try {
    if (dropped) await removeUnnamed(docker, dropped)
    const repo = stageRepository(installationId, spec.appEnvId)
    const before = await namedStages(docker, repo)
    if (leaky) for (const id of stages.toReversed()) await removeUnnamed(docker, id)
    else for (const [index, id] of stages.entries()) await giveName(docker, id, `${repo}:${index + 1}`)
    for (const [name, id] of before) {
      const isStale = leaky || Number(name.slice(name.lastIndexOf(':') + 1)) > stages.length
      if (isStale) await removeQuietly(docker, name)
      else await removeUnnamed(docker, id)
    }
  } catch (error) {
    // The build's own answer matters more than what is left behind.
    log.warn({ err: error, appEnvId: spec.appEnvId }, 'build leftovers could not be removed')
  }
}

async function namedStages(docker: Docker, repo: string): Promise<[name: string, id: string][]> {
  const images = await askedInTime((abortSignal) =>
    docker.listImages({ filters: { reference: [repo] }, abortSignal } as object),
  )
  return images.flatMap((image) =>
    (image.RepoTags ?? [])
      .filter((name) => name.startsWith(`${repo}:`))
      .map((name): [string, string] => [name, image.Id]),
  )
}

/** An image that has a name, from this build or any other, is somebody's and stays. */
async function removeUnnamed(docker: Docker, id: string): Promise<void> {
  const found = await orNull(docker.getImage(id).inspect())
  if (found && (found.RepoTags ?? []).length === 0) await removeQuietly(docker, id)
}

/** Removes an image (or just the name, if it has others) with its unnamed parents, unless something needs it. */
async function removeQuietly(docker: Docker, image: string): Promise<void> {
  try {
    await orNull(docker.getImage(image).remove())
  } catch (error) {
    // 409: another image or container is made of it.
    if (statusOf(error) !== 409) throw error
  }
}

/** Removes what this platform built under `reference` (given without a tag: all of it). Unknown ones are fine. */
export async function removeBuiltImages(
  docker: Docker,
  installationId: string,
  reference: string,
): Promise<void> {
  if (!reference.startsWith(imageNamespace)) return
  const images = await askedInTime((abortSignal) =>
    docker.listImages({
      filters: { reference: [reference], label: [`${label.installation}=${installationId}`] },
      abortSignal,
    } as object),
  )
  const repository = reference.replace(/:[^:/]*$/, '')
  for (const name of images.flatMap((image) => image.RepoTags ?? [])) {
    const isMeant = reference === repository ? name.startsWith(`${repository}:`) : name === reference
    if (isMeant) await removeNamed(docker, name)
  }
}

async function removeNamed(docker: Docker, name: string): Promise<void> {
  try {
    await orNull(askedInTime((abortSignal) => docker.getImage(name).remove({ abortSignal })))
  } catch (error) {
    if (statusOf(error) !== 409) throw error
    throw new AppError('conflict', 'The image is still used by a container', {
      details: 'Remove the containers made of it first.',
      cause: error,
    })
  }
}

/** Removes the cache of an environment's builds. */
export async function removeStages(docker: Docker, installationId: string, appEnvId: string): Promise<void> {
  for (const [name] of await namedStages(docker, stageRepository(installationId, appEnvId)))
    await removeQuietly(docker, name)
}
