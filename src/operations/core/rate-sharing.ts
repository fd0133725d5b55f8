import type { Clock } from '../../clock.ts'
import type { Spent } from '../../store/membership.ts'
import { type Rate, RateLimit } from './rate-limit.ts'

const gatherMs = 250
/** A caller below this part of a rate is not reported: eight instances together stay within it. */
const quietPart = 1 / 8

/**
 * One limit for a caller whatever instances the calls reach: each instance reports the calls of busy callers a few times a
 * second, and the others take them out of their own buckets. No call waits for it; a lost report lets a few more through.
 */
export class RateSharing {
  readonly #clock: Clock
  readonly #report: (spent: Spent) => void
  readonly #limits = new Map<string, { limit: RateLimit; reportedFrom: number; taken: Map<string, number> }>()
  #isGathering = false

  constructor(clock: Clock, report: (spent: Spent) => void) {
    this.#clock = clock
    this.#report = report
  }

  /** A limit that has this name on every instance. */
  limit(name: string, rate: Rate | null): RateLimit {
    const taken = new Map<string, number>()
    const limit = new RateLimit(rate, this.#clock, (key) => {
      taken.set(key, (taken.get(key) ?? 0) + 1)
      this.#gather()
    })
    const reportedFrom = (rate?.perSecond ?? 0) * (gatherMs / 1000) * quietPart
    this.#limits.set(name, { limit, reportedFrom, taken })
    return limit
  }

  /** Another instance let these calls through. */
  spent(spent: Spent): void {
    for (const [name, key, calls] of spent) this.#limits.get(name)?.limit.spend(key, calls)
  }

  #gather(): void {
    if (this.#isGathering) return
    this.#isGathering = true
    this.#clock.after(gatherMs, () => {
      this.#isGathering = false
      const spent: [string, string, number][] = []
      for (const [name, { reportedFrom, taken }] of this.#limits) {
        for (const [key, calls] of taken) if (calls > reportedFrom) spent.push([name, key, calls])
        taken.clear()
      }
      if (spent.length > 0) this.#report(spent)
    })
  }
}
