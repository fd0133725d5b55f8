import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { EngineFailure, type ImageCommand } from '../engine.ts'
import { assertFileName } from './engine-files.ts'
import type { Runtime } from './host-runtimes.ts'
import { removeTree } from './remove-tree.ts'

/** Written next to the file tree of a build; enough to start containers after any restart. */
export interface ProcessImage {
  appEnvId: string
  contentId: string
  runtime: Runtime
  /** Container paths. */
  workdir: string
  env: Record<string, string>
  entrypoint: string[] | null
  cmd: string[] | null
  /** Digest of what it was built from; absent if its files may have changed since. */
  inputs?: string
}

/** Names the environment of a build that is not finished. */
const ownerFile = 'environment'

/** Images as folders. `<contentId>/image.json` is written last, so a folder without it is not an image. */
export class ImageStore {
  readonly #dir: string
  readonly #known = new Map<string, ProcessImage>()

  constructor(imagesDir: string) {
    this.#dir = imagesDir
  }

  dirOf(contentId: string): string {
    return path.join(this.#dir, assertFileName(contentId))
  }

  rootOf(contentId: string): string {
    return path.join(this.dirOf(contentId), 'root')
  }

  /** Creates the folder of a build, with its environment's name, and removes leftovers of an earlier attempt. */
  async begin({ contentId, appEnvId }: Pick<ProcessImage, 'contentId' | 'appEnvId'>): Promise<string> {
    await this.discard(contentId)
    const dir = this.dirOf(contentId)
    await mkdir(dir, { recursive: true, mode: 0o700 })
    await writeFile(path.join(dir, ownerFile), appEnvId, { mode: 0o600 })
    return dir
  }

  /**
   * Gives a build the files of an earlier one of the same environment from the same inputs: links, because no file of an
   * image changes in place. Null if there is none.
   */
  async linkEarlier(
    { appEnvId, contentId }: Pick<ProcessImage, 'contentId' | 'appEnvId'>,
    inputs: string,
  ): Promise<ProcessImage | null> {
    for (const { contentId: other } of (await this.list()).filter((one) => one.appEnvId === appEnvId)) {
      const image = await this.#read(other)
      if (image?.inputs !== inputs) continue
      const to = this.rootOf(contentId)
      await mkdir(to, { recursive: true })
      const copied = await promisify(execFile)('cp', ['-al', '--', `${this.rootOf(other)}/.`, to]).catch(
        () => null,
      )
      if (copied) return image
      // Removed meanwhile.
      await this.begin({ contentId, appEnvId })
    }
    return null
  }

  async save(image: ProcessImage): Promise<string> {
    const file = path.join(this.dirOf(image.contentId), 'image.json')
    await writeFile(`${file}.new`, JSON.stringify(image), { mode: 0o600 })
    await rename(`${file}.new`, file)
    this.#known.set(image.contentId, image)
    return `process/${image.appEnvId}:${image.contentId}`
  }

  async commandOf(reference: string): Promise<ImageCommand | null> {
    const { entrypoint, cmd } = await this.load(reference)
    return entrypoint || cmd ? { entrypoint: entrypoint ?? [], cmd: cmd ?? [] } : null
  }

  /** Throws `not supported` if the reference is not a build of this engine, `interrupted` if the build is lost. */
  async load(reference: string): Promise<ProcessImage> {
    const contentId = contentIdOf(reference)
    if (contentId === null)
      throw new EngineFailure(
        'not supported',
        `The process engine runs only what it built from source, not the image ${reference}. Deploy source, or start Longshore with LONGSHORE_ENGINE=docker to run images.`,
      )
    const image = this.#known.get(contentId) ?? (await this.#read(contentId))
    if (!image || `process/${image.appEnvId}:${image.contentId}` !== reference)
      throw new EngineFailure(
        'interrupted',
        `The build ${reference} is not on this machine any more. Deploy the source again.`,
      )
    this.#known.set(contentId, image)
    return image
  }

  /** References of other engines are ignored: there is nothing to remove. */
  async remove(reference: string): Promise<void> {
    const contentId = contentIdOf(reference)
    if (contentId !== null) await this.discard(contentId)
  }

  /** Removes the folder of a failed build, which no later step would remove. */
  async discard(contentId: string): Promise<void> {
    this.#known.delete(contentId)
    await removeTree(this.dirOf(contentId))
  }

  async removeOf(appEnvId: string): Promise<void> {
    for (const one of await this.list()) if (one.appEnvId === appEnvId) await this.discard(one.contentId)
  }

  /** Also unfinished builds, which a crash leaves; null for those of versions that did not note their environment. */
  async list(): Promise<{ contentId: string; appEnvId: string | null }[]> {
    const ownerOf = async (contentId: string) =>
      (await this.#read(contentId))?.appEnvId ??
      (await readFile(path.join(this.dirOf(contentId), ownerFile), 'utf8').catch(() => null))
    const found = await readdir(this.#dir).catch(() => [])
    return Promise.all(found.map(async (contentId) => ({ contentId, appEnvId: await ownerOf(contentId) })))
  }

  async #read(contentId: string): Promise<ProcessImage | null> {
    try {
      return JSON.parse(await readFile(path.join(this.dirOf(contentId), 'image.json'), 'utf8'))
    } catch {
      return null
    }
  }
}

function contentIdOf(reference: string): string | null {
  return /^process\/[A-Za-z0-9_-]+:([A-Za-z0-9][A-Za-z0-9_-]{0,127})$/.exec(reference)?.[1] ?? null
}
