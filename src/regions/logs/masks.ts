import { createHash } from 'node:crypto'
import type { StoredVariable } from '../../domain/environments/environment.ts'
import { createMask, type Mask, mostMasked } from '../../domain/environments/secret-masker.ts'
import type { Db, Tx } from '../../store/db.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { findJobRun } from '../../store/repositories/job-runs.ts'
import { findRollout } from '../../store/repositories/rollouts.ts'
import { secretValues } from '../../store/secrets/opened.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'

/** The rollout or job run of a container, whose settings the container was started with. */
export type Origin = { rolloutId: string } | { jobRunId: string }

interface KeptMask {
  /** Hash of the sealed secrets, which may be megabytes long. */
  hash: string
  /** Upper bound for the characters that the mask looks for. */
  characters: number
  mask: Mask
}

/** Characters of secrets whose masks are kept; a mask takes several times as much memory. */
const mostKept = 1024 * 1024

/**
 * Creates the masks for log lines of an environment (E2). Those of recent calls are kept while the secrets stay the
 * same: the request log needs one each second, and 64 KiB of secrets take about 100 ms.
 */
export class LogMasks {
  readonly #db: Db
  readonly #secrets: SecretBox
  /** By environment, the one that was used last at the end. */
  readonly #kept = new Map<string, KeptMask>()
  #keptCharacters = 0
  /** Milliseconds that making masks took in all. */
  spentMs = 0

  constructor(db: Db, secrets: SecretBox) {
    this.#db = db
    this.#secrets = secrets
  }

  /**
   * Masks the secret variables that the container was started with, and the environment's current ones; only these
   * without a container.
   */
  async of(appEnvId: string, origin: Origin | null): Promise<Mask> {
    const { environment, given } = await this.#db.read(async (tx) => {
      const made = origin && (await startedBy(tx, origin))
      return {
        environment: await findEnvironment(tx, { appEnvId }),
        given: made?.settings?.envVars ?? [],
      }
    })
    const present = environment ? [...environment.applied.envVars, ...environment.saved.envVars] : []
    const owner = environment ?? { appEnvId }
    const variables = [...given, ...present].filter(({ isSecret }) => isSecret)
    const { secrets, previousSecrets } = environment?.database ?? {}
    const sealed = JSON.stringify([secrets, previousSecrets, variables.map(({ value }) => value)])
    const hash = createHash('sha256').update(sealed).digest('base64')
    const kept = this.#kept.get(appEnvId)
    const mask = kept?.hash === hash ? kept.mask : this.#made(owner, variables)
    this.#keep(appEnvId, { hash, characters: Math.min(sealed.length, mostMasked), mask })
    return mask
  }

  #made(...of: [owner: Parameters<typeof secretValues>[1], variables: StoredVariable[]]): Mask {
    const startMs = performance.now()
    const mask = createMask(secretValues(this.#secrets, ...of))
    this.spentMs += performance.now() - startMs
    return mask
  }

  #keep(appEnvId: string, mask: KeptMask): void {
    this.#forget(appEnvId)
    this.#kept.set(appEnvId, mask)
    this.#keptCharacters += mask.characters
    for (const oldest of this.#kept.keys()) {
      if (this.#keptCharacters <= mostKept) return
      this.#forget(oldest)
    }
  }

  #forget(appEnvId: string): void {
    this.#keptCharacters -= this.#kept.get(appEnvId)?.characters ?? 0
    this.#kept.delete(appEnvId)
  }
}

function startedBy(tx: Tx, origin: Origin) {
  return 'jobRunId' in origin ? findJobRun(tx, origin.jobRunId) : findRollout(tx, origin.rolloutId)
}
