import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import path from 'node:path'
import { PassThrough, type Readable, Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { type Backup, backupFileName } from '../domain/databases/backup.ts'
import { AppError } from '../errors.ts'

/** Properties of a complete file. */
interface BackupFacts {
  sizeBytes: number
  sha256: string
}

const partSuffix = '.part'

/** Backups as files of mode 0600, written under a temporary name and renamed, so that no file is ever partial. */
export class BackupFiles {
  readonly #dir: string

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Calls `fill` with the sink for the copy; rejects and keeps nothing if `fill` or the disk fails. */
  async write(backup: Backup, fill: (sink: Writable) => Promise<void>): Promise<BackupFacts> {
    const file = path.join(this.#dir, backupFileName(backup))
    const part = file + partSuffix
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
    await rm(part, { force: true })
    try {
      const measure = new Measure()
      const sink = backup.format === 'sql.gz' ? createGzip() : new PassThrough()
      const stored = pipeline(
        sink,
        measure,
        createWriteStream(part, { mode: 0o600, flags: 'wx', flush: true }),
      )
      const filled = fill(sink).then(
        () => sink.end(),
        (error) => {
          sink.destroy()
          throw error
        },
      )
      // Prefer a disk error as the cause: a full disk also breaks the pipe of the copy.
      const [copied, kept] = await Promise.allSettled([filled, stored])
      const cause = kept.status === 'rejected' && isOfDisk(kept.reason) ? kept : copied
      if (cause.status === 'rejected') throw cause.reason
      if (kept.status === 'rejected') throw kept.reason
      await rename(part, file)
      await syncFolder(path.dirname(file))
      return measure.facts()
    } catch (error) {
      await rm(part, { force: true })
      throw error
    }
  }

  /** The copy as written. Verifies the whole file first, so that no data is replaced by a damaged copy. */
  async read(backup: Backup): Promise<Readable> {
    const file = path.join(this.#dir, backupFileName(backup))
    const measure = new Measure()
    try {
      await pipeline(createReadStream(file), measure, async (chunks) => {
        for await (const _chunk of chunks);
      })
    } catch (cause) {
      const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT'
      throw damaged(missing ? 'Its file is gone.' : 'Its file cannot be read.', cause)
    }
    if (measure.facts().sha256 !== backup.sha256) throw damaged('Its file has changed since it was written.')
    const source = createReadStream(file)
    if (backup.format !== 'sql.gz') return source
    const plain = createGunzip()
    source.on('error', (error) => plain.destroy(error))
    return source.pipe(plain)
  }

  async remove(backup: Backup): Promise<void> {
    const file = path.join(this.#dir, backupFileName(backup))
    for (const name of [file, file + partSuffix]) await rm(name, { force: true })
    // Removes the folder with its last file; fails harmlessly if it is not empty.
    await rmdir(path.dirname(file)).catch(() => {})
  }

  /** Removes files of unknown backups, left by a crash between file and row. */
  async removeOthers(backupIds: ReadonlySet<string>): Promise<void> {
    for (const folder of await namesIn(this.#dir)) {
      for (const name of await namesIn(path.join(this.#dir, folder))) {
        if (backupIds.has(name.split('.')[0] ?? '')) continue
        await rm(path.join(this.#dir, folder, name), { force: true })
      }
      await rmdir(path.join(this.#dir, folder)).catch(() => {})
    }
  }
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

function isOfDisk(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' && ['ENOSPC', 'EDQUOT', 'EIO', 'EACCES', 'EROFS', 'EFBIG'].includes(code)
}

function damaged(what: string, cause?: unknown): AppError {
  return new AppError('invalid', `The backup cannot be used. ${what}`, {
    details: 'Choose another backup.',
    cause,
  })
}

async function namesIn(dir: string): Promise<string[]> {
  try {
    return await readdir(dir)
  } catch {
    return []
  }
}

async function syncFolder(dir: string): Promise<void> {
  const handle = await open(dir, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
