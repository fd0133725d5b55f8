import type Docker from 'dockerode'
import { EngineFailure } from '../engine.ts'
import { asked, askedInTime, engineSentence, jsonLines, orNull, statusOf, told } from './docker-client.ts'
import { imageNamespace, label } from './docker-spec.ts'

/**
 * Makes an image runnable here; one that is here already needs no network. Refuses what was built for an
 * environment (one tenant would run another's code by its name) and bare image ids, which are not references.
 */
export async function pullImage(
  docker: Docker,
  image: string,
  onLine: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const here = await orNull(
    askedInTime((abortSignal) => docker.getImage(image).inspect({ abortSignal } as object)),
  )
  if (here) {
    if (isForAll(image, here)) return
    throw pullFailure(image, 'there is no such image in a registry.')
  }
  try {
    const progress = await asked(docker.pull(image, { abortSignal: signal }))
    for await (const step of jsonLines(progress as unknown as AsyncIterable<Buffer>)) {
      if (typeof step.error === 'string') throw pullFailure(image, step.error)
      const line = progressLine(step)
      if (line) onLine(line)
    }
  } catch (error) {
    if (signal.aborted) throw new EngineFailure('interrupted', `The pull of the image ${image} was stopped.`)
    if (statusOf(error) === null) throw told(error)
    throw pullFailure(image, engineSentence(error), error)
  }
}

/** Whether an image found here may be run by whoever names it this way. */
function isForAll(image: string, here: Docker.ImageInspectInfo): boolean {
  const isBareId = here.Id.replace('sha256:', '').startsWith(image.replace('sha256:', ''))
  const name = image.replace(/^(?:index\.)?docker\.io\//, '')
  const isBuiltHere =
    name.startsWith(imageNamespace) && here.Config?.Labels?.[label.installation] !== undefined
  return !isBareId && !isBuiltHere && !name.startsWith('longshore-stage/')
}

/** Null for the many messages that only move a progress bar. */
function progressLine(step: Record<string, unknown>): string | null {
  if (typeof step.status !== 'string') return null
  if (step.status === 'Downloading' || step.status === 'Extracting' || step.status === 'Waiting') return null
  return step.id ? `${step.id}: ${step.status}` : step.status
}

function pullFailure(image: string, reason: string, cause?: unknown): EngineFailure {
  // A registry address may carry `user:password@`; the engine repeats it in its sentence.
  const clean = (text: string) => text.replace(/([a-z]+:\/\/|^|\s)[^\s/@"]+:[^\s/@"]+@(?=[\w.-]+)/gi, '$1')
  return new EngineFailure(
    'image pull',
    `The image ${clean(image)} could not be pulled: ${clean(engineSentence(reason)).replace(/\.?$/, '.')} ` +
      'Check the name and the tag, and that the registry can be reached and needs no login.',
    { cause },
  )
}
