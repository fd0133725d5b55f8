export interface StoredFile {
  /** A relative path, such as `backups/env_1/bak_1.dump`. */
  key: string
  modifiedMs: number
  sizeBytes: number
}

/**
 * The port to the storage of uploads, backups and kept logs. Storage that is unreachable, slow or refuses access throws an
 * `AppError` of kind `unavailable` with the remedy.
 */
export interface Files {
  /** Streams `body` into a file that appears whole or not at all. Rejects with what `body` throws. */
  put(key: string, body: AsyncIterable<Uint8Array>): Promise<void>
  /** Path of the whole file on this machine: the file itself, or a copy in `dir`. The caller removes `dir`. */
  localCopy(key: string, dir: string): Promise<string | null>
  /** A small file as text. */
  text(key: string): Promise<string | null>
  /** An unknown key is ignored. */
  remove(key: string): Promise<void>
  /** Every whole file below a folder, such as `uploads`, in no particular order. */
  list(folder: string): Promise<StoredFile[]>
  /** Removes the leftovers of interrupted writes below a folder. */
  tidy(folder: string): Promise<void>
}
