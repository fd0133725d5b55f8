import type { Readable, Writable } from 'node:stream'
import { type Clock, timestamp } from '../../clock.ts'
import {
  type Backup,
  type CopyLimits,
  type DatabaseAccess,
  defaultCopyLimits,
  isOver,
  type Restore,
} from '../../domain/backups/backup.ts'
import { choosePlaces } from '../../domain/backups/places.ts'
import { type Engine, EngineFailure } from '../../engines/engine.ts'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { Db } from '../../store/db.ts'
import {
  findBackup,
  findRestore,
  listBackupIds,
  saveBackup,
  saveRestore,
} from '../../store/repositories/backups.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import { writeUntilStored } from '../../store/write-until-stored.ts'
import { Worker } from '../../worker.ts'
import type { LogMasks } from '../logs/masks.ts'
import { loadView } from '../rollouts/environment-view.ts'
import { copyEnded } from '../rollouts/volume-move.ts'
import { type DataPlace, dataPlace, type Work } from './data-place.ts'
import { LimitedCopy } from './limited-copy.ts'
import { activeWork, endReason, failureText, note } from './work.ts'

/** How long a database may take to become ready, or containers to end, before a backup or restore is given up. */
const patienceMs = 300_000

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
  limits?: CopyLimits | undefined
}

interface Running {
  work: Work
  copy: LimitedCopy
  done: Promise<void>
}

/**
 * Takes the requested backups and performs the requested restores, one at a time per environment. Work interrupted by
 * a crash is repeated: a backup file gets its name only when complete, and a restore is idempotent.
 */
export class BackupWorker {
  readonly #deps: BackupWorkerDeps
  /** Work in progress, by id. */
  readonly #busy = new Map<string, Running>()
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
    await Promise.all([...this.#busy.values()].map(({ done }) => done))
  }

  async #begin(): Promise<void> {
    const { work, ids, ends } = await this.#deps.db.read(async (tx) => {
      const work = await activeWork(tx, this.#deps.regions)
      const ends: [Running, string | null][] = []
      for (const one of this.#busy.values()) ends.push([one, await endReason(tx, work, one.work)])
      return { work, ids: await listBackupIds(tx), ends }
    })
    for (const [{ copy }, reason] of ends) if (reason !== null) copy.end(reason)
    await this.#removeFiles(ids)
    const waiting = work.filter(({ id }) => !this.#busy.has(id))
    const copyOf = ({ id, of: { accountId, appEnvId } }: Work) => ({ id, accountId, appEnvId })
    const running = [...this.#busy.values()].map((one) => copyOf(one.work))
    const { begin, waits } = choosePlaces(waiting.map(copyOf), running)
    for (const one of waiting) {
      if (this.#abort.signal.aborted) return
      if (begin.some(({ id }) => id === one.id)) this.#start(one)
      else await this.#waits(one, waits.get(one.id) ?? null)
    }
  }

  #start(work: Work): void {
    const { clock, limits = defaultCopyLimits } = this.#deps
    const copy = new LimitedCopy(limits, clock, this.#abort.signal)
    this.#busy.set(work.id, { work, copy, done: this.#run(work, copy) })
  }

  /** Never rejects. Starts the next work when this one is done. */
  async #run(work: Work, copy: LimitedCopy): Promise<void> {
    let isDone = true
    try {
      isDone = await this.#perform(work, copy).catch(async (error) => {
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
      copy.close()
      this.#busy.delete(work.id)
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
  async #perform(work: Work, copy: LimitedCopy): Promise<boolean> {
    const place = await this.#placeOf(work)
    if (!place) return false
    const { signal } = copy
    const { db, files } = this.#deps
    // The list it is from may be older than its end: done twice, a restore would discard later writes.
    if (!(await this.#save(work, { status: 'RUNNING', waitingFor: null }))) return true
    copy.begin()
    try {
      if (work.kind === 'backup') {
        let access: DatabaseAccess | null = null
        const facts = await files.write(work.of, async (sink) => {
          access = await copy.fill(sink, (limited) => place.dump(limited, signal))
        })
        await this.#saveOutcome(work, { status: 'SUCCEEDED', ...facts, access })
      } else {
        const backup = await db.read((tx) => findBackup(tx, work.of.backupId))
        if (!backup) throw new EngineFailure('interrupted', 'The backup was deleted.')
        const copies: Readable[] = []
        const open = async () => {
          const stored = await files.read(backup)
          copies.push(stored)
          return stored
        }
        await place.load(open, { restoreId: work.id, access: backup.access ?? null }, signal).finally(() => {
          for (const stored of copies) stored.destroy()
        })
        await this.#saveOutcome(work, { status: 'SUCCEEDED' })
      }
    } catch (error) {
      if (this.#abort.signal.aborted) return false
      if (signal.aborted) throw signal.reason
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
    await this.#waits(work, place.reason)
    if (place.isTransient) return null
    const sinceMs = this.#waitingSinceMs.get(id) ?? clock.monotonicMs()
    this.#waitingSinceMs.set(id, sinceMs)
    if (clock.monotonicMs() - sinceMs < patienceMs) return null
    throw new EngineFailure('interrupted', place.reason)
  }

  async #onFault(work: Work, error: unknown): Promise<void> {
    const { log } = this.#deps
    if (error instanceof AppError && error.kind === 'unavailable' && !this.#isOverdue(work)) {
      log.warn({ err: error, [work.kind]: work.id }, 'a backup or restore waits for its engine')
      await this.#waits(work, error.message)
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

  /** Stores why a copy has not begun, if that is new. */
  async #waits(work: Work, waitingFor: string | null): Promise<void> {
    if ((work.of.waitingFor ?? null) !== waitingFor && (await this.#save(work, { waitingFor })))
      work.of.waitingFor = waitingFor
  }

  /** Stores progress. False, and nothing is stored, if the work is already finished or was deleted. */
  #save(work: Work, change: Partial<Backup & Restore>): Promise<boolean> {
    const now = timestamp(this.#deps.clock.wallMs())
    return this.#deps.db.write(async (tx) => {
      const found = work.kind === 'backup' ? await findBackup(tx, work.id) : await findRestore(tx, work.id)
      if (!found || isOver(found)) return false
      const next = { ...found, ...change }
      const saved = isOver(next) ? { ...next, waitingFor: null, finishedAt: now } : next
      if (work.kind === 'backup') await saveBackup(tx, saved as Backup)
      else await saveRestore(tx, saved as Restore)
      if (!isOver(saved)) return true
      await note(tx, work, saved, now)
      await copyEnded(tx, saved, now)
      return true
    })
  }
}
