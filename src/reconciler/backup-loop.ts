import type { Readable, Writable } from 'node:stream'
import { type Clock, timestamp } from '../clock.ts'
import { type Backup, isOver, type Restore } from '../domain/backup.ts'
import { type DatabaseContainerSpec, type Engine, EngineFailure } from '../engines/engine.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import { insertActivity } from '../store/activities.ts'
import {
  findBackup,
  findRestore,
  listActiveBackups,
  listActiveRestores,
  listBackupIds,
  saveBackup,
  saveRestore,
} from '../store/backups.ts'
import type { Db, Tx } from '../store/db.ts'
import { findEnvironment } from '../store/environments.ts'
import type { SecretBox } from '../store/secret-box.ts'
import { containerSpec } from './container-spec.ts'
import { loadView } from './environment-view.ts'
import { newLivePod } from './live-pod.ts'

/** How long a database may take to answer before a copy is given up. */
const patienceMs = 300_000
const atOnce = 2

/** Where copies are kept. */
export interface BackupStore {
  write(
    backup: Backup,
    fill: (sink: Writable) => Promise<void>,
  ): Promise<{ sizeBytes: number; sha256: string }>
  read(backup: Backup): Promise<Readable>
  removeOthers(backupIds: ReadonlySet<string>): Promise<void>
}

export interface BackupLoopParts {
  db: Db
  clock: Clock
  log: Log
  secrets: SecretBox
  files: BackupStore
  engineOf(region: string): Engine
}

type Work = { kind: 'backup'; id: string; of: Backup } | { kind: 'restore'; id: string; of: Restore }

/**
 * Takes the copies and brings back the ones that are wished for, one at a time of each environment. What a crash cut
 * off is begun anew: a copy gets its name when it is whole, and a restore may be repeated.
 */
export class BackupLoop {
  readonly #parts: BackupLoopParts
  /** What is under way, by environment. */
  readonly #busy = new Map<string, Promise<void>>()
  readonly #waitingSinceMs = new Map<string, number>()
  readonly #abort = new AbortController()
  #looking: Promise<void> | null = null
  #lookAgain = false
  #knownFiles: string | null = null

  constructor(parts: BackupLoopParts) {
    this.#parts = parts
  }

  /** Looks what is to be done; cheap to call often. */
  wake(): void {
    if (this.#abort.signal.aborted) return
    if (this.#looking) this.#lookAgain = true
    else void this.#look()
  }

  /** Cuts off what is under way: it is begun anew at the next start. */
  async stop(): Promise<void> {
    this.#abort.abort()
    await this.#looking
    await Promise.all(this.#busy.values())
  }

  async #look(): Promise<void> {
    this.#looking = this.#begin()
      .catch((error) =>
        this.#parts.log.error({ err: error }, 'backups cannot be looked at; it is tried again'),
      )
      .finally(() => {
        this.#looking = null
        if (!this.#lookAgain) return
        this.#lookAgain = false
        this.wake()
      })
    await this.#looking
  }

  async #begin(): Promise<void> {
    const { work, ids } = await this.#parts.db.read(async (tx) => ({
      work: await activeWork(tx),
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

  /** Never rejects. What came to an end makes room for the next. */
  async #run(work: Work): Promise<void> {
    let isDone = true
    try {
      isDone = await this.#perform(work).catch(async (error) => {
        await this.#onFault(work, error)
        return !(error instanceof AppError && error.kind === 'unavailable')
      })
    } catch (error) {
      isDone = false
      this.#parts.log.error({ err: error, [work.kind]: work.id }, 'the end of a copy is not written down yet')
    } finally {
      this.#busy.delete(work.of.appEnvId)
      if (isDone) this.wake()
    }
  }

  /** Only when the rows are others than last time: the folder is not read at every turn. */
  async #removeFiles(ids: readonly string[]): Promise<void> {
    const known = [...ids].sort().join()
    if (known === this.#knownFiles || this.#busy.size > 0) return
    await this.#parts.files.removeOthers(new Set(ids))
    this.#knownFiles = known
  }

  /** False when it is not its time yet: the next look tries again. */
  async #perform(work: Work): Promise<boolean> {
    const place = await this.#placeOf(work)
    if (!place) return false
    const { engine, spec } = place
    const { signal } = this.#abort
    const { db, files } = this.#parts
    await this.#save(work, { status: 'RUNNING' })
    try {
      if (work.kind === 'backup') {
        const facts = await files.write(work.of, (sink) => dumpOf(engine)(spec, sink, signal))
        await this.#save(work, { status: 'SUCCEEDED', ...facts })
      } else {
        const backup = await db.read((tx) => findBackup(tx, work.of.backupId))
        if (!backup) throw new EngineFailure('database', 'The backup was deleted.')
        await loadOf(engine)(spec, await files.read(backup), work.id, signal)
        await this.#save(work, { status: 'SUCCEEDED' })
      }
    } catch (error) {
      if (signal.aborted) return false
      // Another container took its place meanwhile: that is no fault of the copy.
      const now = await this.#placeOf(work)
      if (now?.spec.name !== spec.name) return false
      throw error
    }
    return true
  }

  /** The container to work on; null while there is none that answers. Gives up on one that will not come. */
  async #placeOf({ id, of }: Work): Promise<{ engine: Engine; spec: DatabaseContainerSpec } | null> {
    const { db, clock, secrets, engineOf } = this.#parts
    const view = await loadView(db, of.appEnvId)
    if (!view) throw new EngineFailure('database', 'The environment was deleted.')
    if (view.environment.wish !== 'running') {
      throw new EngineFailure('database', 'The environment was stopped. Start it, then try again.')
    }
    const record = view.pods.find((pod) => pod.wish === 'run' && pod.ready && (pod.ordinal ?? 0) === 0)
    const rollout = [view.current, view.wanted].find((one) => one?.rollout.rolloutId === record?.rolloutId)
    if (record && rollout) {
      this.#waitingSinceMs.delete(id)
      const { database, ...spec } = containerSpec(view, rollout, newLivePod(record), secrets)
      if (!database) throw new EngineFailure('database', 'The environment is no database.')
      return { engine: engineOf(record.region), spec: { ...spec, database } }
    }
    const sinceMs = this.#waitingSinceMs.get(id) ?? clock.monotonicMs()
    this.#waitingSinceMs.set(id, sinceMs)
    if (clock.monotonicMs() - sinceMs < patienceMs) return null
    throw new EngineFailure('database', 'The database does not answer. get-app-env-status says why.')
  }

  async #onFault(work: Work, error: unknown): Promise<void> {
    const { log } = this.#parts
    if (error instanceof AppError && error.kind === 'unavailable') {
      log.warn({ err: error, [work.kind]: work.id }, 'a copy of a database waits for its engine')
      return
    }
    const failure = failureText(error)
    if (failure === null) log.error({ err: error, [work.kind]: work.id }, 'a copy of a database failed')
    await this.#save(work, { status: 'FAILED', failure: failure ?? 'The platform failed; its log says why.' })
    this.#waitingSinceMs.delete(work.id)
  }

  /** Writes down how far it is; nothing when it was deleted meanwhile. */
  async #save(work: Work, change: Partial<Backup & Restore>): Promise<void> {
    const now = timestamp(this.#parts.clock.wallMs())
    await this.#parts.db.write(async (tx) => {
      const found = work.kind === 'backup' ? await findBackup(tx, work.id) : await findRestore(tx, work.id)
      if (!found) return
      const next = { ...found, ...change }
      const saved = isOver(next) ? { ...next, finishedAt: now } : next
      if (work.kind === 'backup') await saveBackup(tx, saved as Backup)
      else await saveRestore(tx, saved as Restore)
      if (isOver(saved)) await note(tx, work, saved, now)
    })
  }
}

async function activeWork(tx: Tx): Promise<Work[]> {
  const backups = (await listActiveBackups(tx)).map((of) => ({
    kind: 'backup' as const,
    id: of.backupId,
    of,
  }))
  const restores = (await listActiveRestores(tx)).map((of) => ({
    kind: 'restore' as const,
    id: of.restoreId,
    of,
  }))
  return [...backups, ...restores].sort((a, b) => (a.of.createdAt < b.of.createdAt ? -1 : 1))
}

/** In the history of the environment, while there is one. */
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

function dumpOf(engine: Engine): NonNullable<Engine['dumpDatabase']> {
  if (!engine.dumpDatabase) throw unsupported(engine)
  return engine.dumpDatabase.bind(engine)
}

function loadOf(engine: Engine): NonNullable<Engine['loadDatabase']> {
  if (!engine.loadDatabase) throw unsupported(engine)
  return engine.loadDatabase.bind(engine)
}

function unsupported(engine: Engine): EngineFailure {
  return new EngineFailure('not supported', `The ${engine.kind} engine takes no backups.`)
}

/** What its people may read of it; null for what only the log may say. */
function failureText(error: unknown): string | null {
  if (error instanceof EngineFailure) return error.message
  if (error instanceof AppError) return `${error.message} ${error.details ?? ''}`.trim()
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'The disk of the platform is full. Free some space.'
  return null
}
