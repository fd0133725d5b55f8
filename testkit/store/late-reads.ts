import type { Db } from '../../src/store/db.ts'

/** A database some of whose answers arrive late, with rows that have changed since: as under load, or from afar. */
export class LateReads {
  #held: { matches: (result: unknown) => boolean; until: Promise<unknown>; seen: () => void } | null = null

  readonly wrap = (db: Db): Db => {
    const read: Db['read'] = async (work) => {
      const result = await db.read(work)
      const held = this.#held
      if (!held?.matches(result)) return result
      this.#held = null
      held.seen()
      await held.until
      return result
    }
    return new Proxy(db, {
      get: (target, name) => {
        const value = name === 'read' ? read : Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  /** The next read with such a result gets it after `until`. Resolves when there was one. */
  hold(matches: (result: unknown) => boolean, until: Promise<unknown>): Promise<void> {
    return new Promise((seen) => {
      this.#held = { matches, until, seen }
    })
  }
}
