import { AppError } from '../errors.ts'
import { diskFull } from './disk-full.ts'
import type { Files } from './files.ts'

const uploadLimitBytes = 512 * 1024 ** 2
const folder = 'uploads'

/** The files of uploads. The database store has their owners and states. */
export interface UploadStore {
  /**
   * Streams `body` into the file; when it returns, the whole file is stored. Returns the number of bytes. Throws `AppError`
   * `too-large`, `invalid` (empty, or shorter than declared) or `unavailable` (disk full, no answer of the storage); then no
   * part of the file is kept.
   */
  receive(key: string, body: AsyncIterable<Uint8Array>, declaredLength: number | null): Promise<number>
  /** Path of the whole file, which may be a copy in `dir`; null if there is none. The caller removes `dir`. */
  fetch(key: string, dir: string): Promise<string | null>
  /** Removes files whose key `listKept` does not give, and leftovers of interrupted uploads. Returns their number. */
  sweep(listKept: () => Promise<Iterable<string>>): Promise<number>
}

/** A key is a plain file name made by the platform: the upload's id, with or without its extension. */
const keyPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\.tgz|\.tar\.gz|\.zip)?$/

export function createUploadStore(options: { files: Files; limitBytes?: number }): UploadStore {
  const { files, limitBytes = uploadLimitBytes } = options
  return {
    async receive(key, body, declaredLength) {
      const name = nameOf(key)
      if (declaredLength !== null && declaredLength > limitBytes) throw tooLarge(limitBytes)
      const checked = checkedBody(body, limitBytes, declaredLength)
      await files.put(name, checked.body).catch((error) => {
        throw isDiskFull(error) ? diskFull(error) : error
      })
      return checked.bytes()
    },
    async fetch(key, dir) {
      return files.localCopy(nameOf(key), dir)
    },
    async sweep(listKept) {
      // Listed before the rows are read: the row of an upload is older than its file.
      const stored = await files.list(folder)
      const kept = new Set([...(await listKept())].map(nameOf))
      const gone = stored.filter(({ key }) => !kept.has(key))
      for (const { key } of gone) await files.remove(key)
      await files.tidy(folder)
      return gone.length
    },
  }
}

function nameOf(key: string): string {
  if (!keyPattern.test(key)) throw new Error(`Not a key of an upload: ${JSON.stringify(key)}`)
  return `${folder}/${key}`
}

/** Checks the body while it streams. */
function checkedBody(source: AsyncIterable<Uint8Array>, limitBytes: number, declaredLength: number | null) {
  let bytes = 0
  async function* body() {
    for await (const chunk of source) {
      bytes += chunk.byteLength
      if (bytes > limitBytes) throw tooLarge(limitBytes)
      yield chunk
    }
    if (bytes === 0) throw incomplete('The body was empty. Send the archive as the body of the PUT.')
    if (declaredLength !== null && bytes < declaredLength) {
      throw incomplete(`Only ${bytes} of ${declaredLength} bytes arrived. Send the archive again.`)
    }
  }
  return { body: body(), bytes: () => bytes }
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
