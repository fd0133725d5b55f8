import type Docker from 'dockerode'
import type { DatabaseOffer, DatabasePreset } from '../../domain/database-presets.ts'
import { askedInTime, engineSentence, orNull, statusOf } from './docker-client.ts'

const registryDeadlineMs = 8_000
/** Registries count what they are asked: an answer holds for a while. */
const knownForMs = { yes: 3_600_000, no: 300_000 }

/** Whether the images of a preset are on the engine, or could be pulled from where they are said to be. */
export class DatabaseImages {
  readonly #answers = new Map<string, { reason: string | null; untilMs: number }>()

  async offer(
    docker: Docker,
    preset: DatabasePreset,
    images: readonly string[],
    nowMs: number,
  ): Promise<DatabaseOffer> {
    const here = await Promise.all(images.map((image) => isHere(docker, image)))
    if (here.includes(true)) return { available: true }
    const wanted = preset.versions.findIndex((version) => version.key === preset.defaultVersion)
    const image = images[wanted] ?? images[0]
    const reason = image === undefined ? 'it has no image' : await this.#pullProblem(docker, image, nowMs)
    if (reason === null) return { available: true }
    return {
      available: false,
      unavailableReason: `The image ${image} is not on the engine and cannot be pulled: ${reason}. Load it into the engine, or set LONGSHORE_DATABASE_IMAGES to a registry that has it.`,
    }
  }

  async #pullProblem(docker: Docker, image: string, nowMs: number): Promise<string | null> {
    const known = this.#answers.get(image)
    if (known && nowMs < known.untilMs) return known.reason
    const reason = await registryProblem(docker, image)
    const holdsMs = reason === null ? knownForMs.yes : knownForMs.no
    this.#answers.set(image, { reason, untilMs: nowMs + holdsMs })
    return reason
  }
}

async function isHere(docker: Docker, image: string): Promise<boolean> {
  const found = await orNull(
    askedInTime((abortSignal) => docker.getImage(image).inspect({ abortSignal } as object)),
  )
  return found !== null
}

/** Null when the registry has it. The manifest is asked for, nothing is pulled. */
async function registryProblem(docker: Docker, image: string): Promise<string | null> {
  try {
    await askedInTime(
      (abortSignal) => docker.getImage(image).distribution({ abortSignal } as object),
      registryDeadlineMs,
    )
    return null
  } catch (error) {
    if (statusOf(error) === null) return 'the registry does not answer'
    return engineSentence(error).replace(/\.$/, '')
  }
}
