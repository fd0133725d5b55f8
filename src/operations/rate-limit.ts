import type { Clock } from '../clock.ts'
import { AppError } from '../errors.ts'

export interface Rate {
  perSecond: number
  /** How much may come at once after a quiet time. */
  burst: number
}

interface Bucket {
  tokens: number
  filledAtMs: number
}

const mostKeys = 10_000

/** Token buckets by key, on monotonic time. Keys that were quiet long enough to be full again are forgotten. */
export class RateLimit {
  readonly #buckets = new Map<string, Bucket>()
  readonly #rate: Rate
  readonly #clock: Clock

  constructor(rate: Rate, clock: Clock) {
    this.#rate = rate
    this.#clock = clock
  }

  /** Takes one; 0 when it may go on, else how many seconds to wait. */
  take(key: string): number {
    const bucket = this.#filled(key)
    if (bucket.tokens < 1) return (1 - bucket.tokens) / this.#rate.perSecond
    bucket.tokens -= 1
    return 0
  }

  get keys(): number {
    return this.#buckets.size
  }

  #filled(key: string): Bucket {
    const nowMs = this.#clock.monotonicMs()
    const { perSecond, burst } = this.#rate
    let bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      if (this.#buckets.size >= mostKeys) this.#forgetFull(nowMs)
      bucket = { tokens: burst, filledAtMs: nowMs }
      this.#buckets.set(key, bucket)
    }
    bucket.tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.filledAtMs) / 1000) * perSecond)
    bucket.filledAtMs = nowMs
    return bucket
  }

  #forgetFull(nowMs: number): void {
    const { perSecond, burst } = this.#rate
    for (const [key, { tokens, filledAtMs }] of this.#buckets) {
      if (tokens + ((nowMs - filledAtMs) / 1000) * perSecond >= burst) this.#buckets.delete(key)
    }
    // Nobody was quiet: start anew rather than grow without end.
    if (this.#buckets.size >= mostKeys) this.#buckets.clear()
  }
}

export interface RateLimits {
  /** Writes and reads by principal, failed authentications by address. */
  writes: Rate
  reads: Rate
  failures: Rate
}

/** Far above what people and their agents do, low enough that a runaway loop cannot take the machine for itself. */
export const defaultRateLimits: RateLimits = {
  writes: { perSecond: 300, burst: 12_000 },
  reads: { perSecond: 2_000, burst: 40_000 },
  failures: { perSecond: 50, burst: 2_000 },
}

export function rateLimited(waitSeconds: number): AppError {
  return new AppError('rate-limited', 'Too many requests', {
    details: 'Wait as long as Retry-After says, then go on more slowly.',
    retryAfterSeconds: Math.max(1, Math.ceil(waitSeconds)),
  })
}
