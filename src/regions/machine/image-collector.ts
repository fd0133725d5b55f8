import type { Clock } from '../../clock.ts'
import type { Content } from '../../domain/environments/environment.ts'
import { collectableContents } from '../../domain/environments/kept-images.ts'
import type { Engine } from '../../engines/engine.ts'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { Db, Tx } from '../../store/db.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { listEnvironmentIdsIn } from '../../store/repositories/environments-in-regions.ts'
import { listActiveJobRuns, listLiveJobAttempts } from '../../store/repositories/job-runs.ts'
import {
  findContent,
  listContents,
  listLivePods,
  listRolloutStates,
  saveContent,
} from '../../store/repositories/rollouts.ts'
import { Worker } from '../../worker.ts'

const everyMs = 10 * 60_000
/** How soon images are checked again whose last containers are still stopping. */
const drainingMs = 5_000

interface ImageCollectorDeps {
  db: Db
  clock: Clock
  log: Log
  keptVersions: number
  engineOf(region: string): Engine
  /** The regions of this machine; absent: all. */
  regions?: readonly string[] | undefined
}

/**
 * Removes the images of versions that are too old for a rollback: of one environment after a deployment, of all at
 * the start and every ten minutes. The row is marked before the engine call, so that no deployment starts with an
 * image that is being removed; a later pass removes images that the engine could not remove yet.
 */
export class ImageCollector {
  readonly #deps: ImageCollectorDeps
  readonly #worker: Worker
  readonly #due = new Set<string>()

  constructor(deps: ImageCollectorDeps) {
    this.#deps = deps
    this.#worker = new Worker({
      clock: deps.clock,
      everyMs,
      pass: () => this.#pass(),
      failed: (error) => deps.log.warn({ err: error }, 'old images cannot be listed; retrying later'),
    })
  }

  /** Checks all environments now and then at an interval. */
  start(): void {
    this.#worker.start()
    this.#worker.wake()
  }

  /** Another version of this environment serves now. */
  deployed(appEnvId: string): void {
    this.#due.add(appEnvId)
    this.#worker.wake()
  }

  settled(): Promise<void> {
    return this.#worker.settled()
  }

  stop(): Promise<void> {
    return this.#worker.stop()
  }

  async #pass(): Promise<void> {
    const due = [...this.#due]
    this.#due.clear()
    const all = due.length > 0 ? due : await this.#allEnvironments()
    for (const appEnvId of all) {
      if (this.#worker.stopped) return
      await this.#collect(appEnvId).catch((error) => {
        // The engine is unavailable or the image is in use: the next pass finds it in the row.
        const { log } = this.#deps
        log[error instanceof AppError ? 'info' : 'error'](
          { err: error, appEnvId },
          'an old image is not removed yet; retrying later',
        )
      })
    }
  }

  #allEnvironments(): Promise<string[]> {
    return this.#deps.db.read((tx) => listEnvironmentIdsIn(tx, this.#deps.regions))
  }

  async #collect(appEnvId: string): Promise<void> {
    const { db, log, engineOf } = this.#deps
    const { found, isDraining } = await db.read((tx) => this.#collectable(tx, appEnvId))
    if (isDraining) {
      this.#due.add(appEnvId)
      this.#worker.wakeWithin(drainingMs)
    }
    if (found.length > 0) {
      await db.write(async (tx) => {
        for (const content of (await this.#collectable(tx, appEnvId)).found)
          await saveContent(tx, {
            ...content,
            images: {},
            containerImage: null,
            removedImages: { ...content.removedImages, ...content.images },
          })
      })
    }
    const contents = await db.read((tx) => listContents(tx, appEnvId))
    for (const content of contents) {
      const removed = Object.entries(content.removedImages ?? {})
      if (removed.length === 0) continue
      for (const [region, image] of removed) await engineOf(region).removeImage(image)
      await db.write((tx) => forgetRemoved(tx, content.contentId, removed))
      log.info({ appEnvId, version: content.version }, 'removed the image of an old version')
    }
  }

  /** The versions whose images can be removed, and whether containers that are stopping still use such an image. */
  async #collectable(tx: Tx, appEnvId: string): Promise<{ found: Content[]; isDraining: boolean }> {
    const environment = await findEnvironment(tx, { appEnvId })
    if (!environment) return { found: [], isDraining: false }
    const pods = await listLivePods(tx, appEnvId)
    const runs = await listActiveJobRuns(tx, appEnvId)
    const attempts = await listLiveJobAttempts(tx, appEnvId)
    const byJobs = [
      ...runs.map(({ snapshot }) => snapshot.contentId),
      ...attempts.map(({ contentId }) => contentId),
    ]
    const old = collectableContents({
      environment,
      contents: await listContents(tx, appEnvId),
      rollouts: await listRolloutStates(tx, appEnvId),
      inUse: new Set(byJobs),
      keptVersions: this.#deps.keptVersions,
    })
    const byPods = new Set(pods.map(({ contentId }) => contentId))
    const found = old.filter(({ contentId }) => !byPods.has(contentId))
    return { found, isDraining: found.length < old.length }
  }
}

/** Reads the row again: a version may have been built in another region while images were removed. */
async function forgetRemoved(
  tx: Tx,
  contentId: string,
  removed: readonly (readonly [region: string, image: string])[],
): Promise<void> {
  const content = await findContent(tx, contentId)
  if (!content) return
  const left = Object.entries(content.removedImages ?? {}).filter(
    ([region, image]) => !removed.some((one) => one[0] === region && one[1] === image),
  )
  await saveContent(tx, { ...content, removedImages: Object.fromEntries(left) })
}
