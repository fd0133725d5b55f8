import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import { pipeline as joined, PassThrough, type Readable, Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { type Backup, backupFileName } from '../domain/backups/backup.ts'
import { AppError } from '../errors.ts'
import type { Files } from './files.ts'

/** Properties of a complete file. */
interface BackupFacts {
  sizeBytes: number
  sha256: string
}

const folder = 'backups'

/** Backups, each stored whole or not at all. */
export class BackupFiles {
  readonly #files: Files
  readonly #workDir: string

  /** `workDir` takes copies of backups that are restored, if the files are not on this machine. */
  constructor(files: Files, workDir: string) {
    this.#files = files
    this.#workDir = workDir
  }

  /** Calls `fill` with the sink for the copy; rejects and keeps nothing if `fill` or the storage fails. */
  async write(backup: Backup, fill: (sink: Writable) => Promise<void>): Promise<BackupFacts> {
    const measure = new Measure()
    const sink = isGzipped(backup) ? createGzip() : new PassThrough()
    const body = joined(sink, measure, () => {})
    const stored = this.#files.put(keyOf(backup), body)
    const filled = fill(sink).then(
      () => sink.end(),
      (error) => {
        // Destroyed with the error, so that the storage gets a broken stream, not a short one.
        sink.destroy(error)
        throw error
      },
    )
    // Prefer an error of the storage as the cause: a full disk also breaks the pipe of the copy.
    const [copied, kept] = await Promise.allSettled([filled, stored])
    const cause = kept.status === 'rejected' && isOfStorage(kept.reason) ? kept : copied
    if (cause.status === 'rejected') throw cause.reason
    if (kept.status === 'rejected') throw kept.reason
    return measure.facts()
  }

  /** The copy as written. Verifies the whole file first, so that no data is replaced by a damaged copy. */
  async read(backup: Backup): Promise<Readable> {
    await mkdir(this.#workDir, { recursive: true, mode: 0o700 })
    const dir = await mkdtemp(path.join(this.#workDir, 'restore-'))
    const discard = () => rm(dir, { recursive: true, force: true })
    try {
      const source = createReadStream(await this.#verified(backup, dir))
      source.once('close', discard)
      if (!isGzipped(backup)) return source
      const plain = createGunzip()
      source.on('error', (error) => plain.destroy(error))
      // It may break before its reader listens.
      plain.on('error', () => {})
      plain.once('close', () => source.destroy())
      return source.pipe(plain)
    } catch (error) {
      await discard()
      throw error
    }
  }

  /** The path of the file, or of a copy in `dir`. */
  async #verified(backup: Backup, dir: string): Promise<string> {
    const file = await this.#files.localCopy(keyOf(backup), dir)
    if (file === null) throw damaged('Its file is gone.')
    const measure = new Measure()
    try {
      await pipeline(createReadStream(file), measure, async (chunks) => {
        for await (const _chunk of chunks);
      })
    } catch (cause) {
      throw damaged('Its file cannot be read.', cause)
    }
    if (measure.facts().sha256 !== backup.sha256) throw damaged('Its file has changed since it was written.')
    return file
  }

  /** Removes files of unknown backups, left by a crash between file and row. */
  async removeOthers(listIds: () => Promise<readonly string[]>): Promise<void> {
    // Listed before the rows are read: the row of a backup is older than its file.
    const stored = await this.#files.list(folder)
    const known = new Set(await listIds())
    for (const { key } of stored) {
      const backupId = path.posix.basename(key).split('.')[0] ?? ''
      if (!known.has(backupId)) await this.#files.remove(key)
    }
    await this.#files.tidy(folder)
  }
}

function isGzipped({ format }: Backup): boolean {
  return format.endsWith('.gz')
}

function keyOf(backup: Backup): string {
  return `${folder}/${backupFileName(backup)}`
}

/** Passes all data through and computes its length and hash. */
class Measure extends Transform {
  readonly #hash = createHash('sha256')
  #sizeBytes = 0

  override _transform(chunk: Buffer, _encoding: string, done: (error: null, chunk: Buffer) => void): void {
    this.#hash.update(chunk)
    this.#sizeBytes += chunk.length
    done(null, chunk)
  }

  facts(): BackupFacts {
    return { sizeBytes: this.#sizeBytes, sha256: this.#hash.copy().digest('hex') }
  }
}

function isOfStorage(error: unknown): boolean {
  if (error instanceof AppError) return true
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' && ['ENOSPC', 'EDQUOT', 'EIO', 'EACCES', 'EROFS', 'EFBIG'].includes(code)
}

function damaged(what: string, cause?: unknown): AppError {
  return new AppError('invalid', `The backup cannot be used. ${what}`, {
    details: 'Choose another backup.',
    cause,
  })
}
