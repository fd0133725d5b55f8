import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect } from 'vitest'
import { type ArchiveExtension, type UnpackOptions, unpackArchive } from '../../src/builds/unpack-archive.ts'
import { EngineFailure } from '../../src/engines/engine.ts'

/** A folder of its own for each test, in which uploaded archives are unpacked to `into()`. */
export class UnpackFixture {
  dir = ''
  #count = 0

  constructor() {
    beforeEach(async () => {
      this.dir = await mkdtemp(path.join(os.tmpdir(), 'longshore-unpack-'))
    })
    afterEach(() => rm(this.dir, { recursive: true, force: true }))
  }

  into(): string {
    return path.join(this.dir, 'source')
  }

  async unpack(bytes: Buffer, extension: ArchiveExtension, options: Partial<UnpackOptions> = {}) {
    this.#count += 1
    const file = path.join(this.dir, `upload-${this.#count}${extension}`)
    await writeFile(file, bytes)
    const { signal } = new AbortController()
    return unpackArchive({ file, extension, into: this.into(), signal, ...options })
  }

  /** Unpacks and expects a refusal that leaves no file, neither in the target folder nor beside it. */
  async refusal(bytes: Buffer, extension: ArchiveExtension, options?: Partial<UnpackOptions>) {
    const before = new Set(await readdir(this.dir))
    const error = await this.unpack(bytes, extension, options).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    const added = (await readdir(this.dir)).filter((name) => !before.has(name) && !name.startsWith('upload-'))
    expect(added).toEqual([])
    expect(error).toBeInstanceOf(EngineFailure)
    expect((error as EngineFailure).reason).toBe('bad archive')
    expect((error as EngineFailure).message).toMatch(/^[A-Z"\\].*[.…]$/)
    return (error as EngineFailure).message
  }

  /** The files below a folder with their text; folders end with a slash. */
  async tree(root = this.into(), below = ''): Promise<Record<string, string>> {
    const found: Record<string, string> = {}
    for (const entry of await readdir(path.join(root, below), { withFileTypes: true })) {
      const name = path.posix.join(below, entry.name)
      if (entry.isDirectory()) Object.assign(found, { [`${name}/`]: '' }, await this.tree(root, name))
      else found[name] = await readFile(path.join(root, name), 'utf8')
    }
    return found
  }
}
