import type { Readable, Writable } from 'node:stream'
import { type Clock, timestamp } from '../../clock.ts'
import { type Backup, isOver, type Restore } from '../../domain/backups/backup.ts'
import { type Engine, EngineFailure } from '../../engines/engine.ts'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { Db, Tx } from '../../store/db.ts'
import { insertActivity } from '../../store/repositories/activities.ts'
import {
  findBackup,
  findRestore,
  listActiveBackups,
  listActiveRestores,
  listBackupIds,
  saveBackup,
  saveRestore,
} from '../../store/repositories/backups.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { regionsOfEnvironment } from '../../store/repositories/environments-in-regions.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import { writeUntilStored } from '../../store/write-until-stored.ts'
import { Worker } from '../../worker.ts'
import type { LogMasks } from '../logs/masks.ts'
import { loadView } from '../rollouts/environment-view.ts'
import { copyEnded } from '../rollouts/volume-move.ts'
import { type DataPlace, dataPlace, type Work } from './data-place.ts'

/** How long a database may take to become ready, or containers to end, before a backup or restore is given up. */
const patienceMs = 300_000
const atOnce = 2

/** Storage of backups. */
export interface BackupStore {
  write(
    backup: Backup,
    fill: (sink: Writable) => Promise<void>,
  ): Promise<{ sizeBytes: number; sha256: string }>
  read(backup: Backup): Promise<Readable>
  removeOthers(listIds: () => Promise<readonly string[]>): Promise<void>
}

interface BackupWorkerDeps {
  db: Db
  clock: Clock
  log: Log
  secrets: SecretBox
  masks: LogMasks
  files: BackupStore
  engineOf(region: string): Engine
  /** The regions of this machine; absent: all. */
  regions?: readonly string[] | undefined
  /** The next step of a move is stored. */
  moved(appEnvId: string): void
}

/**
 * Takes the requested backups and performs the requested restores, one at a time per environment. Work interrupted by
 * a crash is repeated: a backup file gets its name only when complete, and a restore is idempotent.
 */
export class BackupWorker {
  readonly #deps: BackupWorkerDeps
  /** Work in progress, by environment. */
  readonly #busy = new Map<string, Promise<void>>()
  readonly #waitingSinceMs = new Map<string, number>()
  readonly #abort = new AbortController()
  readonly #worker: Worker
  #knownFiles: string | null = null

  constructor(deps: BackupWorkerDeps) {
    this.#deps = deps
    const { clock, log } = deps
    this.#worker = new Worker({
      clock,
      pass: () => this.#begin(),
      failed: (error) => log.error({ err: error }, 'a pass over backups failed; retrying'),
    })
  }

  /** Checks for work; cheap to call often. */
  wake(): void {
    this.#worker.wake()
  }

  /** Interrupts work in progress; it is repeated after the next start. */
  async stop(): Promise<void> {
    this.#abort.abort()
    await this.#worker.stop()
    await Promise.all(this.#busy.values())
  }

  async #begin(): Promise<void> {
    const { work, ids } = await this.#deps.db.read(async (tx) => ({
      work: await activeWork(tx, this.#deps.regions),
      ids: await listBackupIds(tx),
    }))
    await this.#removeFiles(ids)
    for (const one of work) {
      if (this.#abort.signal.aborted) return
      const { appEnvId } = one.of
      if (this.#busy.size >= atOnce || this.#busy.has(appEnvId)) continue
      this.#busy.set(appEnvId, this.#run(one))
    }
  }

  /** Never rejects. Starts the next work when this one is done. */
  async #run(work: Work): Promise<void> {
    let isDone = true
    try {
      isDone = await this.#perform(work).catch(async (error) => {
        await this.#onFault(work, error)
        return !(error instanceof AppError && error.kind === 'unavailable')
      })
    } catch (error) {
      isDone = false
      this.#deps.log.error(
        { err: error, [work.kind]: work.id },
        'cannot store the result of a backup or restore; retrying',
      )
    } finally {
      this.#busy.delete(work.of.appEnvId)
      if (isDone) this.wake()
    }
  }

  /** Only if the rows changed since the last run, so that the folder is not read every time. */
  async #removeFiles(ids: readonly string[]): Promise<void> {
    const known = [...ids].sort().join()
    if (known === this.#knownFiles || this.#busy.size > 0) return
    await this.#deps.files.removeOthers(() => this.#deps.db.read(listBackupIds))
    this.#knownFiles = known
  }

  /** False if the work cannot start yet; the next check tries again. */
  async #perform(work: Work): Promise<boolean> {
    const place = await this.#placeOf(work)
    if (!place) return false
    const { signal } = this.#abort
    const { db, files } = this.#deps
    // The list it is from may be older than its end: done twice, a restore would discard later writes.
    if (!(await this.#save(work, { status: 'RUNNING' }))) return true
    try {
      if (work.kind === 'backup') {
        const facts = await files.write(work.of, (sink) => place.dump(sink, signal))
        await this.#saveOutcome(work, { status: 'SUCCEEDED', ...facts })
      } else {
        const backup = await db.read((tx) => findBackup(tx, work.of.backupId))
        if (!backup) throw new EngineFailure('interrupted', 'The backup was deleted.')
        const copies: Readable[] = []
        const open = async () => {
          const copy = await files.read(backup)
          copies.push(copy)
          return copy
        }
        await place.load(open, work.id, signal).finally(() => {
          for (const copy of copies) copy.destroy()
        })
        await this.#saveOutcome(work, { status: 'SUCCEEDED' })
      }
    } catch (error) {
      if (signal.aborted) return false
      // Another container or version replaced this one meanwhile, so the failure is not the backup's.
      const now = await this.#placeOf(work)
      if (now?.name !== place.name) return false
      throw error
    }
    return true
  }

  /** The data to work on; null while it is not ready. Throws if it will not be. */
  async #placeOf(work: Work): Promise<DataPlace | null> {
    const { db, clock } = this.#deps
    const { id, of } = work
    const view = await loadView(db, of.appEnvId)
    if (!view) throw new EngineFailure('interrupted', 'The environment was deleted.')
    const place = dataPlace(view, work, this.#deps)
    if ('name' in place) {
      this.#waitingSinceMs.delete(id)
      return place
    }
    if (place.giveUp === null) return null
    const sinceMs = this.#waitingSinceMs.get(id) ?? clock.monotonicMs()
    this.#waitingSinceMs.set(id, sinceMs)
    if (clock.monotonicMs() - sinceMs < patienceMs) return null
    throw new EngineFailure('interrupted', place.giveUp)
  }

  async #onFault(work: Work, error: unknown): Promise<void> {
    const { log } = this.#deps
    if (error instanceof AppError && error.kind === 'unavailable' && !this.#isOverdue(work)) {
      log.warn({ err: error, [work.kind]: work.id }, 'a backup or restore waits for its engine')
      return
    }
    const failure = await this.#masked(work, failureText(error))
    if (failure === null) log.error({ err: error, [work.kind]: work.id }, 'a backup or restore failed')
    await this.#saveOutcome(work, {
      status: 'FAILED',
      failure: failure ?? 'Internal error; the log of the platform shows the cause.',
    })
    this.#waitingSinceMs.delete(work.id)
  }

  /** The environment is down until its move continues or is canceled, so a move waits for an engine only this long. */
  #isOverdue({ id, of }: Work): boolean {
    if (!of.ofMove) return false
    const nowMs = this.#deps.clock.monotonicMs()
    const sinceMs = this.#waitingSinceMs.get(id) ?? nowMs
    this.#waitingSinceMs.set(id, sinceMs)
    return nowMs - sinceMs >= patienceMs
  }

  /** Programs of the image may have printed secrets. */
  async #masked({ of }: Work, failure: string | null): Promise<string | null> {
    return failure && (await this.#deps.masks.of(of.appEnvId, null))(failure)
  }

  /** Retried while the store is down: repeating a restore would discard later writes. */
  #saveOutcome(work: Work, outcome: Partial<Backup & Restore>): Promise<unknown> {
    const { clock } = this.#deps
    return writeUntilStored(clock, this.#abort.signal, () => this.#save(work, outcome)).then(() => {
      if (work.of.ofMove) this.#deps.moved(work.of.appEnvId)
    })
  }

  /** Stores progress. False, and nothing is stored, if the work is already finished or was deleted. */
  #save(work: Work, change: Partial<Backup & Restore>): Promise<boolean> {
    const now = timestamp(this.#deps.clock.wallMs())
    return this.#deps.db.write(async (tx) => {
      const found = work.kind === 'backup' ? await findBackup(tx, work.id) : await findRestore(tx, work.id)
      if (!found || isOver(found)) return false
      const next = { ...found, ...change }
      const saved = isOver(next) ? { ...next, finishedAt: now } : next
      if (work.kind === 'backup') await saveBackup(tx, saved as Backup)
      else await saveRestore(tx, saved as Restore)
      if (!isOver(saved)) return true
      await note(tx, work, saved, now)
      await copyEnded(tx, saved, now)
      return true
    })
  }
}

async function activeWork(tx: Tx, regions?: readonly string[]): Promise<Work[]> {
  const backups = (await listActiveBackups(tx)).map((of): Work => ({ kind: 'backup', id: of.backupId, of }))
  const restores = (await listActiveRestores(tx)).map(
    (of): Work => ({ kind: 'restore', id: of.restoreId, of }),
  )
  const work: Work[] = []
  for (const one of [...backups, ...restores]) {
    const region = one.of.region ?? (await regionsOfEnvironment(tx, one.of.appEnvId))?.region
    // Any control plane may end the work that a deleted environment left.
    if (regions === undefined || region === undefined || regions.includes(region)) work.push(one)
  }
  return work.sort((a, b) => (a.of.createdAt < b.of.createdAt ? -1 : 1))
}

/** Adds an entry to the environment's history, if the environment still exists. */
async function note(tx: Tx, { kind, of }: Work, saved: Backup | Restore, now: string): Promise<void> {
  if (!(await findEnvironment(tx, { appEnvId: of.appEnvId }))) return
  await insertActivity(tx, of.appEnvId, {
    activity: kind === 'backup' ? 'BACKUP' : 'RESTORE',
    contentId: null,
    version: null,
    status: saved.status === 'SUCCEEDED' ? 'DONE' : 'FAILED',
    timestamp: now,
    userId: of.createdBy,
    gitCommitId: null,
    details: saved.failure === null ? of.backupId : `${of.backupId}: ${saved.failure}`,
  })
}

/** The public failure text; null if only the log may contain the error. */
function failureText(error: unknown): string | null {
  if (error instanceof EngineFailure) return error.message
  if (error instanceof AppError) return `${error.message} ${error.details ?? ''}`.trim()
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'The disk of the platform is full. Free some space.'
  return null
}
