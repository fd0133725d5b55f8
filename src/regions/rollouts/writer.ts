import { timestamp } from '../../clock.ts'
import type { Environment, PodRecord, Rollout } from '../../domain/environments/environment.ts'
import { commitMove, endMove } from '../../domain/environments/volume-move.ts'
import type { ImageCommand } from '../../engines/engine.ts'
import type { Db, Tx } from '../../store/db.ts'
import { noteContainerCounts } from '../../store/repositories/container-counts.ts'
import { findEnvironment, saveEnvironment } from '../../store/repositories/environments.ts'
import {
  findContent,
  findRollout,
  insertPod,
  prunePods,
  saveContent,
  savePod,
  saveRollout,
} from '../../store/repositories/rollouts.ts'
import { giveUp, noteVerdict } from './verdict.ts'
import { beginCopy, giveUpIdleCopy } from './volume-move.ts'

const keptPods = 50

/**
 * The reconciler's writes. Each reads again inside its transaction and does nothing if the state has changed, so that
 * a late result of an older desired state never overwrites a newer one.
 */
/** What making an image showed, beside its name. */
interface ImageFacts {
  gitCommitId: string | null
  imageCommand: ImageCommand | null
}

export class RolloutWriter {
  readonly #db: Db
  readonly #wallMs: () => number

  constructor(db: Db, wallMs: () => number) {
    this.#db = db
    this.#wallMs = wallMs
  }

  /** The image exists: from BUILDING (or pulling) to DEPLOYING. */
  imageReady(
    rolloutId: string,
    containerImage: string,
    { gitCommitId = null, imageCommand = null }: Partial<ImageFacts> = {},
  ): Promise<void> {
    return this.#db.write(async (tx) => {
      const rollout = await findRollout(tx, rolloutId)
      const content = rollout && (await findContent(tx, rollout.contentId))
      // A repetition after a lost response must not undo later changes.
      if (!content || !rollout || rollout.status === 'FAILED' || rollout.status === 'DEPLOYED') return
      const images = { ...content.images, [rollout.region]: containerImage }
      await saveContent(tx, {
        ...content,
        containerImage,
        images,
        gitCommitId: gitCommitId ?? content.gitCommitId,
        ...(imageCommand && { imageCommand }),
      })
      await saveRollout(tx, { ...rollout, status: 'DEPLOYING' })
    })
  }

  /** The containers of the wanted rollout are ready: from now on they must stay healthy for the stability window. */
  beginTrial(appEnvId: string, rolloutId: string): Promise<boolean> {
    return this.#withWanted(appEnvId, rolloutId, async (tx, _environment, rollout) => {
      const stability = { since: this.#now(), exits: rollout.stability?.exits ?? 0 }
      await saveRollout(tx, { ...rollout, stability })
    })
  }

  /** A container of the wanted rollout ended or is unhealthy. One exit after it was ready is forgiven. */
  failedContainer(
    appEnvId: string,
    rolloutId: string,
    failure: { reason: string; message: string },
  ): Promise<boolean> {
    return this.#withWanted(appEnvId, rolloutId, async (tx, environment, rollout) => {
      if (failure.reason !== 'exited' || !rollout.stability || rollout.stability.exits > 0)
        return giveUp(tx, environment, rollout, failure, this.#now())
      await saveRollout(tx, { ...rollout, stability: { since: null, exits: 1 } })
    })
  }

  /** The wanted rollout is good: it becomes the current one and its settings the applied ones (3.3). */
  promote(appEnvId: string, rolloutId: string): Promise<boolean> {
    return this.#withWanted(appEnvId, rolloutId, async (tx, environment, rollout) => {
      const { savedBefore: _, ...kept } = rollout
      await saveRollout(tx, { ...kept, status: 'DEPLOYED', deployedAt: this.#now() })
      environment.currentRolloutId = rolloutId
      environment.currentVersion = rollout.version
      environment.wantedRolloutId = null
      environment.applied = rollout.settings
      environment.status = 'RUNNING'
      commitMove(environment)
      await noteVerdict(tx, rollout, this.#now(), { status: 'DEPLOYED', details: null })
    })
  }

  /** The last good version keeps serving; without one the environment stops (3.1). */
  fail(appEnvId: string, rolloutId: string, failure: { reason: string; message: string }): Promise<boolean> {
    return this.#withWanted(appEnvId, rolloutId, (tx, environment, rollout) =>
      giveUp(tx, environment, rollout, failure, this.#now()),
    )
  }

  /** No containers to move: the environment was not running when its region changed. */
  endStoppedMove(appEnvId: string): Promise<void> {
    return this.#db.write(async (tx) => {
      const environment = await findEnvironment(tx, { appEnvId })
      if (!environment?.changingRegion || environment.desiredState === 'running') return
      endMove(environment)
      await saveEnvironment(tx, environment)
    })
  }

  /** The version that moves with its volume has its image: the containers end, and the volume is copied. */
  beginCopy(appEnvId: string, rolloutId: string): Promise<boolean> {
    return this.#withWanted(appEnvId, rolloutId, (tx, environment, rollout) =>
      beginCopy(tx, environment, rollout, this.#now()),
    )
  }

  /** A copy that does not begin ends the move. */
  giveUpIdleCopy(appEnvId: string): Promise<boolean> {
    return this.#db.write(async (tx) => {
      const environment = await findEnvironment(tx, { appEnvId })
      return environment?.volumeMove?.step === 'copy' && giveUpIdleCopy(tx, environment, this.#wallMs())
    })
  }

  /** Records that the leftovers of an earlier move are gone from a region. */
  leftVolumeRemoved(appEnvId: string, region: string): Promise<void> {
    return this.#db.write(async (tx) => {
      const environment = await findEnvironment(tx, { appEnvId })
      if (environment?.leftVolumeIn !== region) return
      delete environment.leftVolumeIn
      await saveEnvironment(tx, environment)
    })
  }

  /** Written before its container is created; false if the environment was deleted meanwhile. */
  addPod(pod: PodRecord): Promise<boolean> {
    return this.#db.write(async (tx) => {
      if (!(await findEnvironment(tx, { appEnvId: pod.appEnvId }))) return false
      await insertPod(tx, pod)
      await noteContainerCounts(tx, pod.appEnvId, this.#wallMs())
      return true
    })
  }

  /** Stores the pod and deletes the records of the environment's oldest finished pods. */
  async savePod(pod: PodRecord): Promise<void> {
    await this.#db.write(async (tx) => {
      await savePod(tx, pod)
      await noteContainerCounts(tx, pod.appEnvId, this.#wallMs())
      if (pod.desiredState === 'gone') await prunePods(tx, pod.appEnvId, keptPods)
    })
  }

  #withWanted(
    appEnvId: string,
    rolloutId: string,
    change: (tx: Tx, environment: Environment, rollout: Rollout) => Promise<void>,
  ): Promise<boolean> {
    return this.#db.write(async (tx) => {
      const environment = await findEnvironment(tx, { appEnvId })
      const rollout = await findRollout(tx, rolloutId)
      if (!environment || !rollout || environment.wantedRolloutId !== rolloutId) return false
      await change(tx, environment, rollout)
      await saveEnvironment(tx, environment)
      return true
    })
  }

  #now(): string {
    return timestamp(this.#wallMs())
  }
}
