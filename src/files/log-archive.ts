import { createReadStream } from 'node:fs'
import path from 'node:path'
import type { Files } from './files.ts'

const folder = 'kept-logs'

/** The environments among these that exist. */
export type FindKnown = (appEnvIds: readonly string[]) => Promise<readonly string[]>

/**
 * Copies of the log segments of one machine, in the storage that `LONGSHORE_FILES_URL` names. A machine writes only below
 * its own name, so its list of copies stays correct.
 */
export class LogArchive {
  readonly #files: Files
  readonly #root: string
  /** Bytes of each copy, by log and segment. */
  readonly #copies = new Map<string, Map<number, number>>()

  private constructor(files: Files, node: string) {
    this.#files = files
    this.#root = `${folder}/${node}`
  }

  /** Finds the existing copies, including those of a machine that this one replaces. */
  static async open(files: Files, node: string): Promise<LogArchive> {
    const archive = new LogArchive(files, node)
    for (const { log, number, sizeBytes } of await archive.#stored()) archive.#of(log).set(number, sizeBytes)
    return archive
  }

  numbers(log: string): number[] {
    return [...(this.#copies.get(log)?.keys() ?? [])]
  }

  /** Size of the copy of a segment; null if there is no copy. */
  bytes(log: string, number: number): number | null {
    return this.#copies.get(log)?.get(number) ?? null
  }

  /** Copies the first `sizeBytes` of a segment that may be growing. */
  async keep(log: string, number: number, file: string, sizeBytes: number): Promise<void> {
    await this.#files.put(this.#key(log, number), createReadStream(file, { end: sizeBytes - 1 }))
    this.#of(log).set(number, sizeBytes)
  }

  /** Throws `AppError` of kind `unavailable` if the storage does not answer. */
  async text(log: string, number: number): Promise<string> {
    return (await this.#files.text(this.#key(log, number))) ?? ''
  }

  async remove(log: string, number: number): Promise<void> {
    await this.#files.remove(this.#key(log, number))
    const copies = this.#of(log)
    copies.delete(number)
    if (copies.size === 0) this.#copies.delete(log)
  }

  /** Removes all copies of an environment. */
  async forget(appEnvId: string): Promise<void> {
    for (const log of [...this.#copies.keys()])
      if (environmentOf(log) === appEnvId)
        for (const number of this.numbers(log)) await this.remove(log, number)
  }

  /** Removes copies written before `sinceMs`, and those of environments that `findKnown` does not find. */
  async sweep(sinceMs: number, findKnown: FindKnown): Promise<void> {
    // Listed before the rows are read: the row of an environment is older than its logs.
    const stored = await this.#stored()
    const known = new Set(await findKnown([...new Set(stored.map(({ log }) => environmentOf(log)))]))
    for (const { log, number, modifiedMs } of stored)
      if (modifiedMs < sinceMs || !known.has(environmentOf(log))) await this.remove(log, number)
    await this.#files.tidy(this.#root)
  }

  async #stored() {
    const files = await this.#files.list(this.#root)
    return files.map(({ key, modifiedMs, sizeBytes }) => ({
      log: path.posix.relative(this.#root, path.posix.dirname(key)),
      number: Number.parseInt(path.posix.basename(key), 10),
      ...{ modifiedMs, sizeBytes },
    }))
  }

  #of(log: string): Map<number, number> {
    const copies = this.#copies.get(log) ?? new Map<number, number>()
    this.#copies.set(log, copies)
    return copies
  }

  #key(log: string, number: number): string {
    return `${this.#root}/${log}/${segmentName(number)}`
  }
}

export function segmentName(number: number): string {
  return `${String(number).padStart(8, '0')}.jsonl`
}

function environmentOf(log: string): string {
  return log.split('/')[0] ?? ''
}
