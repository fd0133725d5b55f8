import type Docker from 'dockerode'
import { image as imageReference } from '../../contract/fields.ts'
import type { BaseImage } from '../dockerfile/expansion-check.ts'
import { EngineFailure } from '../engine.ts'
import { orNull, requestInTime } from './client.ts'
import { pullImage } from './pull.ts'

/**
 * The parts of an image in FROM that a build inherits. Pulls it first if it is missing, as the builder would: its variables
 * and triggers must be known before the builder expands them. Throws `build step`, `image pull`, or `unavailable` if
 * the engine is down.
 */
export async function baseImageOf(
  docker: Docker,
  image: string,
  onLine: (message: string) => void,
  signal: AbortSignal,
): Promise<BaseImage> {
  if (image === 'scratch') return { env: new Map(), triggers: [] }
  if (!imageReference.safeParse(image).success) {
    throw new EngineFailure(
      'build step',
      `FROM ${JSON.stringify(image)} is an invalid reference: name an image of a registry, with its tag, such as node:22-alpine, or an earlier stage.`,
    )
  }
  const inspect = () =>
    orNull(requestInTime((abortSignal) => docker.getImage(image).inspect({ abortSignal } as object)))
  let found = await inspect()
  if (found === null) {
    await pullImage(docker, image, onLine, signal)
    found = await inspect()
  }
  const { Env, OnBuild } = found?.Config ?? {}
  const env = (Env ?? []).map((line): [string, string] => {
    const [name = '', ...value] = line.split('=')
    return [name, value.join('=')]
  })
  return { env: new Map(env), triggers: OnBuild ?? [] }
}
