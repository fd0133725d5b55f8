import { existsSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { AppError } from '../errors.ts'
import type { Db } from './db.ts'

const reserveBytes = 8 * 1024 ** 2
/** Free space beyond the reserve from which on requests may write again. */
const marginBytes = 8 * 1024 ** 2
const lookEveryMs = 1_000

/**
 * Space that a start on a full disk gives back, so that the platform can serve reads and say what is wrong. Until there is
 * room for a new reserve, requests write nothing.
 */
export class DiskReserve {
  readonly #dir: string
  #isSpent: boolean
  #lookedAtMs = Number.NEGATIVE_INFINITY

  constructor(dir: string) {
    this.#dir = dir
    this.#isSpent = !existsSync(fileIn(dir))
    this.#refill()
  }

  /** Why requests write nothing, with the remedy; null if they may. */
  get problem(): string | null {
    this.#refill()
    return this.#isSpent
      ? `The disk of the data directory ${this.#dir} is full, so the platform is read-only. Free some space; it continues by itself.`
      : null
  }

  /** The store for requests. Controllers write through the other one, to the space that is left. */
  guard(db: Db): Db {
    const refuse = () => {
      if (this.problem === null) return
      throw new AppError('unavailable', 'The platform is read-only', {
        details:
          'The disk of the installation is full; nothing was changed. An operator must free some space. Try again later.',
        retryAfterSeconds: 5,
      })
    }
    return {
      ...{ read: (work) => db.read(work), rehearse: (work) => db.rehearse(work), close: () => db.close() },
      async write(work) {
        refuse()
        return db.write(work)
      },
    }
  }

  #refill(): void {
    if (!this.#isSpent || performance.now() - this.#lookedAtMs < lookEveryMs) return
    this.#lookedAtMs = performance.now()
    try {
      const { bavail, bsize } = statfsSync(this.#dir)
      if (bavail * bsize < reserveBytes + marginBytes) return
      writeFileSync(fileIn(this.#dir), Buffer.alloc(reserveBytes, 1), { mode: 0o600, flush: true })
      this.#isSpent = false
    } catch {
      rmSync(fileIn(this.#dir), { force: true })
    }
  }
}

/** Frees the reserve. False if there is none. */
export function spendReserve(dir: string): boolean {
  const file = fileIn(dir)
  if (!existsSync(file)) return false
  rmSync(file)
  return true
}

function fileIn(dir: string): string {
  return path.join(dir, 'run', 'reserve')
}
