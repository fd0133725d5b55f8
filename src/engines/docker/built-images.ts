import type Docker from 'dockerode'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { BuildSpec } from '../engine.ts'
import { engineCall, orNull, requestInTime, statusOf } from './client.ts'
import { imageNamespace, stageRepository } from './image-names.ts'
import { label } from './names.ts'

export async function giveName(docker: Docker, imageId: string, name: string): Promise<void> {
  const colon = name.lastIndexOf(':')
  const named = docker.getImage(imageId).tag({ repo: name.slice(0, colon), tag: name.slice(colon + 1) })
  await engineCall(named)
}

/**
 * The builder leaves unnamed images of stages and failed steps. They are the cache of the next build, so those of one
 * build are kept, under their own names; a build with secrets keeps none.
 */
export async function tidy(
  { docker, installationId, log }: { docker: Docker; installationId: string; log: Log },
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
    // The build's own result matters more than its leftovers.
    log.warn({ err: error, appEnvId: spec.appEnvId }, 'cannot remove build leftovers')
  }
}

async function namedStages(docker: Docker, repo: string): Promise<[name: string, id: string][]> {
  const images = await requestInTime((abortSignal) =>
    docker.listImages({ filters: { reference: [repo] }, abortSignal } as object),
  )
  return images.flatMap((image) =>
    (image.RepoTags ?? [])
      .filter((name) => name.startsWith(`${repo}:`))
      .map((name): [string, string] => [name, image.Id]),
  )
}

/** An image with a name, from this build or any other, is in use and stays. */
async function removeUnnamed(docker: Docker, id: string): Promise<void> {
  const found = await orNull(docker.getImage(id).inspect())
  if (found && (found.RepoTags ?? []).length === 0) await removeQuietly(docker, id)
}

/** Removes an image (or only the name, if it has others) with its unnamed parents, unless it is in use. */
async function removeQuietly(docker: Docker, image: string): Promise<void> {
  try {
    await orNull(docker.getImage(image).remove())
  } catch (error) {
    // 409: another image or container is based on it.
    if (statusOf(error) !== 409) throw error
  }
}

/** Removes the images built under `reference` (without a tag: all of them). Unknown images are ignored. */
export async function removeBuiltImages(
  docker: Docker,
  installationId: string,
  reference: string,
): Promise<void> {
  if (!reference.startsWith(imageNamespace)) return
  const images = await requestInTime((abortSignal) =>
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
    await orNull(requestInTime((abortSignal) => docker.getImage(name).remove({ abortSignal })))
  } catch (error) {
    if (statusOf(error) !== 409) throw error
    throw new AppError('conflict', 'The image is still used by a container', {
      details: 'Remove the containers made of it first.',
      cause: error,
    })
  }
}

/** Removes the build cache of an environment. */
export async function removeStages(docker: Docker, installationId: string, appEnvId: string): Promise<void> {
  for (const [name] of await namedStages(docker, stageRepository(installationId, appEnvId)))
    await removeQuietly(docker, name)
}
