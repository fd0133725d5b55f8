import { setImmediate } from 'node:timers/promises'

let last: Promise<void> = Promise.resolve()

/**
 * Resolves in a turn of the event loop that only this caller gets. With plain `setImmediate`, the pieces of many
 * simultaneous calls would run in one turn, one after the other, and other requests would wait for all of them.
 */
export function yieldAlone(): Promise<void> {
  last = last.then(() => setImmediate())
  return last
}

/** Characters that are parsed, copied or encrypted in a few milliseconds. */
const mostInARow = 256 * 1024
/** What a step costs beside its characters. */
const perStep = 2_000

/** Cuts work whose size tenants choose into pieces, so that the event loop has its turn between them. */
export class Pacer {
  #done = 0

  /** Called after a step that went through so many characters. */
  async after(characters: number): Promise<void> {
    this.#done += characters + perStep
    if (this.#done < mostInARow) return
    this.#done = 0
    await yieldAlone()
  }
}
