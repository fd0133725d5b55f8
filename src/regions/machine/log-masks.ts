import { createMask, type Mask } from '../../domain/environments/secret-masker.ts'
import type { Db, Tx } from '../../store/db.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { findJobRun } from '../../store/repositories/job-runs.ts'
import { findRollout } from '../../store/repositories/rollouts.ts'
import { secretValues } from '../../store/secrets/opened.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'

/** The rollout or job run of a container, whose settings the container was started with. */
export type Origin = { rolloutId: string } | { jobRunId: string }

/** Creates the masks for log lines of an environment (E2). */
export class LogMasks {
  readonly #db: Db
  readonly #secrets: SecretBox

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
    return createMask(secretValues(this.#secrets, owner, [...given, ...present]))
  }
}

function startedBy(tx: Tx, origin: Origin) {
  return 'jobRunId' in origin ? findJobRun(tx, origin.jobRunId) : findRollout(tx, origin.rolloutId)
}
