import type { Files, StoredFile } from './files.ts'

/** Writes go to `files`. Files that are missing there are read from `older`, the place before the setting. */
export class OverlaidFiles implements Files {
  readonly #files: Files
  readonly #older: Files

  constructor(files: Files, older: Files) {
    this.#files = files
    this.#older = older
  }

  put(key: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    return this.#files.put(key, body)
  }

  async localCopy(key: string, dir: string): Promise<string | null> {
    return (await this.#files.localCopy(key, dir)) ?? this.#older.localCopy(key, dir)
  }

  async text(key: string): Promise<string | null> {
    return (await this.#files.text(key)) ?? this.#older.text(key)
  }

  async remove(key: string): Promise<void> {
    await this.#files.remove(key)
    await this.#older.remove(key)
  }

  async list(folder: string): Promise<StoredFile[]> {
    const found = [...(await this.#older.list(folder)), ...(await this.#files.list(folder))]
    return [...new Map(found.map((file) => [file.key, file])).values()]
  }

  async tidy(folder: string): Promise<void> {
    await this.#older.tidy(folder)
    await this.#files.tidy(folder)
  }
}
