import type Docker from 'dockerode'
import type { DatabaseVersion } from '../../contract/databases.ts'
import type { DatabaseAvailability, DatabasePreset } from '../../domain/databases/presets.ts'
import { engineSentence, orNull, requestInTime, statusOf } from './client.ts'

const registryDeadlineMs = 8_000
/** Registries rate-limit requests, and every version needs one, so results are cached for a while. */
const knownForMs = { yes: 6 * 3_600_000, no: 300_000 }

/** Whether the images of a preset are on the engine or can be pulled. */
export class DatabaseImages {
  readonly #answers = new Map<string, { reason: string | null; untilMs: number }>()

  async availability(docker: Docker, preset: DatabasePreset, nowMs: number): Promise<DatabaseAvailability> {
    const versions = await Promise.all(
      preset.versions.map(async (version): Promise<DatabaseVersion> => {
        const { image } = version
        const reason = (await isHere(docker, image)) ? null : await this.#pullProblem(docker, image, nowMs)
        if (reason === null) return { ...version, available: true }
        return {
          ...version,
          available: false,
          unavailableReason: `The image ${image} is not on the engine and cannot be pulled: ${reason}. Load it into the engine, or set LONGSHORE_DATABASE_IMAGES to a registry that has it.`,
        }
      }),
    )
    if (versions.some(({ available }) => available)) return { available: true, versions }
    const usual = versions.find(({ key }) => key === preset.defaultVersion) ?? versions[0]
    return { available: false, unavailableReason: usual?.unavailableReason ?? 'It has no version.', versions }
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
    requestInTime((abortSignal) => docker.getImage(image).inspect({ abortSignal } as object)),
  )
  return found !== null
}

/** Null if the registry has it. Requests only the manifest and pulls nothing. */
async function registryProblem(docker: Docker, image: string): Promise<string | null> {
  try {
    await requestInTime(
      (abortSignal) => docker.getImage(image).distribution({ abortSignal } as object),
      registryDeadlineMs,
    )
    return null
  } catch (error) {
    if (statusOf(error) === null) return 'the registry does not answer'
    return engineSentence(error).replace(/\.$/, '')
  }
}
