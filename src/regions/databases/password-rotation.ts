import { type Clock, timestamp } from '../../clock.ts'
import type { PodRecord } from '../../domain/environments/environment.ts'
import { type Engine, EngineFailure } from '../../engines/engine.ts'
import { logLevelOf } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { Db, Tx } from '../../store/db.ts'
import { insertActivity } from '../../store/repositories/activities.ts'
import { findEnvironment, saveEnvironment } from '../../store/repositories/environments.ts'
import { openDatabaseSecrets } from '../../store/secrets/opened.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import { containerSpec } from '../rollouts/container-spec.ts'
import type { EnvironmentView } from '../rollouts/environment-view.ts'

interface RotationDeps {
  db: Db
  clock: Clock
  log: Log
  secrets: SecretBox
  engineOf(region: string): Engine
}

const retryMs = 2_000

/** Gives a running database the password that rotate-database-password chose; tries again until it has it. */
export class PasswordRotation {
  readonly #deps: RotationDeps
  readonly #later: (delayMs: number) => void
  #running: AbortController | null = null
  #isClosed = false
  /** The rotation whose failure is in the history. */
  #noted: string | null = null

  constructor(deps: RotationDeps, later: (delayMs: number) => void) {
    this.#deps = deps
    this.#later = later
  }

  /** Aborts for good: a pass that is under way begins no other rotation. */
  close(): void {
    this.#isClosed = true
    this.#running?.abort()
  }

  look(view: EnvironmentView, ready: readonly PodRecord[]): void {
    const { previousSecrets } = view.environment.database ?? {}
    const primary = ready.find(({ ordinal = 0 }) => ordinal === 0)
    if (previousSecrets === undefined || !primary || this.#running || this.#isClosed) return
    this.#running = new AbortController()
    const { appEnvId } = view.environment
    void this.#rotate(view, primary, previousSecrets, this.#running.signal)
      .catch(async (error) => {
        this.#deps.log[logLevelOf(error)]({ err: error, appEnvId }, 'cannot rotate a password; retrying')
        this.#later(retryMs)
        if (error instanceof EngineFailure) await this.#failed(appEnvId, previousSecrets, error.message)
      })
      .catch((error) => this.#deps.log.error({ err: error, appEnvId }, 'cannot note a failed rotation'))
      .finally(() => {
        this.#running = null
      })
  }

  async #rotate(view: EnvironmentView, pod: PodRecord, sealed: string, signal: AbortSignal): Promise<void> {
    const { db, secrets, engineOf } = this.#deps
    const { appEnvId } = view.environment
    const rollout = [view.current, view.wanted].find((one) => one?.rollout.rolloutId === pod.rolloutId)
    const engine = engineOf(pod.region)
    if (!rollout || !engine.changeDatabasePassword) return
    const { database, ...spec } = containerSpec(view, rollout, pod, secrets)
    if (!database) return
    const { password } = openDatabaseSecrets(secrets, appEnvId, sealed)
    await engine.changeDatabasePassword({ ...spec, database }, password, signal)
    await db.write(async (tx) => {
      const environment = await findEnvironment(tx, { appEnvId })
      if (environment?.database?.previousSecrets !== sealed) return
      const { previousSecrets: _, ...access } = environment.database
      await saveEnvironment(tx, { ...environment, database: access })
      await this.#note(tx, appEnvId, 'DONE', null)
    })
  }

  /** In the history once for each rotation; it is tried again until the server takes the password. */
  async #failed(appEnvId: string, sealed: string, message: string): Promise<void> {
    if (this.#noted === sealed) return
    await this.#deps.db.write((tx) => this.#note(tx, appEnvId, 'FAILED', `${message} It is tried again.`))
    this.#noted = sealed
  }

  #note(tx: Tx, appEnvId: string, status: 'DONE' | 'FAILED', details: string | null): Promise<void> {
    return insertActivity(tx, appEnvId, {
      activity: 'ROTATE_PASSWORD',
      contentId: null,
      version: null,
      status,
      timestamp: timestamp(this.#deps.clock.wallMs()),
      userId: null,
      gitCommitId: null,
      details,
    })
  }
}
