import type Docker from 'dockerode'
import { EngineFailure } from '../engine.ts'
import {
  engineCall,
  engineError,
  engineSentence,
  jsonLines,
  orNull,
  requestInTime,
  statusOf,
} from './client.ts'
import { imageNamespace } from './image-names.ts'
import { label } from './names.ts'

/**
 * Makes an image runnable here; a local one needs no network. Rejects images built for an environment (one tenant
 * could run another's code by its name) and bare image ids, which are not references.
 */
export async function pullImage(
  docker: Docker,
  image: string,
  onLine: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const here = await orNull(
    requestInTime((abortSignal) => docker.getImage(image).inspect({ abortSignal } as object)),
  )
  if (here) {
    if (isForAll(image, here)) return
    throw pullFailure(image, 'there is no such image in a registry.')
  }
  try {
    const progress = await engineCall(docker.pull(image, { abortSignal: signal }))
    for await (const step of jsonLines(progress as unknown as AsyncIterable<Buffer>)) {
      if (typeof step.error === 'string') throw pullFailure(image, step.error)
      const line = progressLine(step)
      if (line) onLine(line)
    }
  } catch (error) {
    if (signal.aborted) throw new EngineFailure('interrupted', 'The pull of the image was stopped.')
    if (statusOf(error) === null) throw engineError(error)
    throw pullFailure(image, engineSentence(error), error)
  }
}

/** Whether a local image may be run by any account that uses this reference. */
function isForAll(image: string, here: Docker.ImageInspectInfo): boolean {
  const isBareId = here.Id.replace('sha256:', '').startsWith(image.replace('sha256:', ''))
  const name = image.replace(/^(?:index\.)?docker\.io\//, '')
  const isBuiltHere =
    name.startsWith(imageNamespace) && here.Config?.Labels?.[label.installation] !== undefined
  return !isBareId && !isBuiltHere && !name.startsWith('longshore-stage/')
}

/** Null for progress-bar updates. */
function progressLine(step: Record<string, unknown>): string | null {
  if (typeof step.status !== 'string') return null
  if (step.status === 'Downloading' || step.status === 'Extracting' || step.status === 'Waiting') return null
  return step.id ? `${step.id}: ${step.status}` : step.status
}

function pullFailure(image: string, reason: string, cause?: unknown): EngineFailure {
  // A registry address may contain `user:password@`, and the engine repeats it in its message.
  const clean = (text: string) => text.replace(/([a-z]+:\/\/|^|\s)[^\s/@"]+:[^\s/@"]+@(?=[\w.-]+)/gi, '$1')
  return new EngineFailure(
    'image pull',
    `The image ${clean(image)} could not be pulled: ${clean(engineSentence(reason)).replace(/\.?$/, '.')} ` +
      'Check the name and the tag, and that the registry can be reached and needs no login.',
    { cause },
  )
}
