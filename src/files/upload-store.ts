import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { AppError } from '../errors.ts'
import { diskFull } from './disk-full.ts'

const uploadLimitBytes = 512 * 1024 ** 2

/** The files of uploads, below `<home>/uploads`. The database store has their owners and states. */
export interface UploadStore {
  /**
   * Streams `body` to disk; when it returns, the whole file is synced. Returns the number of bytes. Throws `AppError`
   * `too-large`, `invalid` (empty, or shorter than declared) or `unavailable` (disk full) and then keeps nothing.
   */
  receive(key: string, body: AsyncIterable<Uint8Array>, declaredLength: number | null): Promise<number>
  /** Path of the file for this key, whether it exists or not. */
  path(key: string): string
  /** Unknown keys are ignored. */
  remove(key: string): Promise<void>
  /** Removes every file whose key is not in the list, including partial files of an earlier process. */
  sweep(keepKeys: Iterable<string>): Promise<number>
}

/** A key is a plain file name made by the platform: the upload's id, with or without its extension. */
const keyPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\.tgz|\.tar\.gz|\.zip)?$/

export function createUploadStore(options: { home: string; limitBytes?: number }): UploadStore {
  const folder = path.join(options.home, 'uploads')
  const limitBytes = options.limitBytes ?? uploadLimitBytes
  const receiving = new Set<string>()

  function fileOf(key: string): string {
    if (!keyPattern.test(key)) throw new Error(`Not a key of an upload: ${JSON.stringify(key)}`)
    return path.join(folder, key)
  }

  return {
    async receive(key, body, declaredLength) {
      const target = fileOf(key)
      if (declaredLength !== null && declaredLength > limitBytes) throw tooLarge(limitBytes)
      const partName = `.${key}.${randomBytes(6).toString('hex')}.part`
      const part = path.join(folder, partName)
      receiving.add(partName)
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        const bytes = await writeBody(part, body, limitBytes, declaredLength)
        await rename(part, target)
        await syncFolder(folder)
        return bytes
      } catch (error) {
        await rm(part, { force: true })
        throw isDiskFull(error) ? diskFull(error) : error
      } finally {
        receiving.delete(partName)
      }
    },
    path: fileOf,
    async remove(key) {
      await rm(fileOf(key), { force: true })
    },
    async sweep(keepKeys) {
      const keep = new Set([...keepKeys, ...receiving])
      const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return []
        throw error
      })
      const gone = names.filter((name) => !keep.has(name) && !receiving.has(name))
      for (const name of gone) await rm(path.join(folder, name), { force: true, recursive: true })
      return gone.length
    },
  }
}

async function writeBody(
  part: string,
  body: AsyncIterable<Uint8Array>,
  limitBytes: number,
  declaredLength: number | null,
): Promise<number> {
  let bytes = 0
  const file = await open(part, 'wx', 0o600)
  try {
    for await (const chunk of body) {
      bytes += chunk.byteLength
      if (bytes > limitBytes) throw tooLarge(limitBytes)
      await writeWhole(file, chunk)
    }
    if (bytes === 0) throw incomplete('The body was empty. Send the archive as the body of the PUT.')
    if (declaredLength !== null && bytes < declaredLength) {
      throw incomplete(`Only ${bytes} of ${declaredLength} bytes arrived. Send the archive again.`)
    }
    await file.sync()
    return bytes
  } finally {
    await file.close()
  }
}

/** A single write may be partial, for example on a nearly full disk. */
async function writeWhole(file: FileHandle, chunk: Uint8Array): Promise<void> {
  let written = 0
  while (written < chunk.byteLength) {
    written += (await file.write(chunk, written, chunk.byteLength - written)).bytesWritten
  }
}

/** A rename is on disk only after its folder is synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

function isDiskFull(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code
  return code === 'ENOSPC' || code === 'EDQUOT'
}

function tooLarge(limitBytes: number): AppError {
  return new AppError('too-large', 'Upload too large', {
    details: `An archive may have at most ${Math.floor(limitBytes / 1024 ** 2)} MiB. Leave out what the build does not need, such as node_modules.`,
  })
}

function incomplete(details: string): AppError {
  return new AppError('invalid', 'Upload incomplete', { details })
}
