import { randomBytes } from 'node:crypto'
import { access, mkdir, open, readdir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises'
import path from 'node:path'
import type { Files, StoredFile } from './files.ts'

const partSuffix = '.part'
/** Another control plane may write a part of a shared folder; one that grows no more belongs to no writer. */
const abandonedAfterMs = 3_600_000

/** Files of mode 0600 below a folder. A key is the path in it. */
export class FolderFiles implements Files {
  readonly #root: string
  readonly #isShared: boolean
  readonly #writing = new Set<string>()

  /** `isShared`: other processes write to the folder too. */
  constructor(root: string, { isShared }: { isShared: boolean } = { isShared: false }) {
    this.#root = root
    this.#isShared = isShared
  }

  async put(key: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    const file = this.#pathOf(key)
    const folder = path.dirname(file)
    const part = path.join(folder, `.${path.basename(file)}.${randomBytes(6).toString('hex')}${partSuffix}`)
    this.#writing.add(part)
    try {
      await writeWhole(part, body)
      await rename(part, file)
      await syncFolder(folder)
    } catch (error) {
      await this.#removeFile(part)
      throw error
    } finally {
      this.#writing.delete(part)
    }
  }

  async localCopy(key: string): Promise<string | null> {
    const file = this.#pathOf(key)
    return access(file).then(
      () => file,
      (error) => absent(error, null),
    )
  }

  async text(key: string): Promise<string | null> {
    return readFile(this.#pathOf(key), 'utf8').catch((error) => absent(error, null))
  }

  async remove(key: string): Promise<void> {
    await this.#removeFile(this.#pathOf(key))
  }

  async list(folder: string): Promise<StoredFile[]> {
    const found: StoredFile[] = []
    for (const file of await this.#filesBelow(folder)) {
      if (isPart(file)) continue
      const info = await stat(file).catch((error) => absent(error, null))
      if (info)
        found.push({
          key: path.relative(this.#root, file).replaceAll(path.sep, '/'),
          modifiedMs: info.mtimeMs,
          sizeBytes: info.size,
        })
    }
    return found
  }

  async tidy(folder: string): Promise<void> {
    for (const file of await this.#filesBelow(folder)) {
      if (!isPart(file) || this.#writing.has(file)) continue
      const info = await stat(file).catch((error) => absent(error, null))
      if (info && this.#isShared && Date.now() - info.mtimeMs < abandonedAfterMs) continue
      await this.#removeFile(file)
    }
  }

  /** Removes a folder of one environment with its last file; that fails harmlessly if it is not empty. */
  async #removeFile(file: string): Promise<void> {
    await rm(file, { force: true })
    const folder = path.dirname(file)
    if (path.relative(this.#root, folder).includes(path.sep)) await rmdir(folder).catch(() => {})
  }

  async #filesBelow(folder: string): Promise<string[]> {
    const options = { recursive: true, withFileTypes: true } as const
    const entries = await readdir(this.#pathOf(folder), options).catch((error) => absent(error, []))
    return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name))
  }

  #pathOf(key: string): string {
    const segments = key.split('/')
    if (segments.some((one) => one === '' || one === '.' || one === '..' || one.includes('\0')))
      throw new Error(`Not a key of a file: ${JSON.stringify(key)}`)
    return path.join(this.#root, ...segments)
  }
}

async function writeWhole(file: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  const handle = await create(file)
  try {
    for await (const chunk of body) {
      let written = 0
      // A single write may be partial, for example on a nearly full disk.
      while (written < chunk.byteLength)
        written += (await handle.write(chunk, written, chunk.byteLength - written)).bytesWritten
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The removal of another file may remove the folder again meanwhile. */
async function create(file: string, tries = 3) {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  try {
    return await open(file, 'wx', 0o600)
  } catch (error) {
    if (tries > 1 && (error as NodeJS.ErrnoException).code === 'ENOENT') return create(file, tries - 1)
    throw error
  }
}

/** A rename is on disk only after its folder is synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

function isPart(file: string): boolean {
  return file.endsWith(partSuffix)
}

function absent<T>(error: NodeJS.ErrnoException, value: T): T {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return value
  throw error
}
