import { isIPv6 } from 'node:net'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'

export interface Rate {
  perSecond: number
  /** The most calls at once after a quiet time. */
  burst: number
}

interface Bucket {
  tokens: number
  filledAtMs: number
}

const mostKeys = 10_000

/**
 * Token buckets by key, on monotonic time. Keys that were quiet long enough to be full again are forgotten. A rate of
 * null limits nothing.
 */
export class RateLimit {
  readonly #buckets = new Map<string, Bucket>()
  readonly #rate: Rate | null
  readonly #clock: Clock
  readonly #taken: (key: string) => void

  /** `taken` gets the key of each admitted call. */
  constructor(rate: Rate | null, clock: Clock, taken: (key: string) => void = () => {}) {
    this.#rate = rate
    this.#clock = clock
    this.#taken = taken
  }

  /** Takes one call; returns 0 if it is admitted, else the seconds to wait. */
  take(key: string): number {
    if (this.#rate === null) return 0
    const bucket = this.#filled(key, this.#rate)
    if (bucket.tokens < 1) return (1 - bucket.tokens) / this.#rate.perSecond
    bucket.tokens -= 1
    this.#taken(key)
    return 0
  }

  /** Another instance let these calls through. A debt is at most one burst. */
  spend(key: string, calls: number): void {
    if (this.#rate === null) return
    const bucket = this.#filled(key, this.#rate)
    bucket.tokens = Math.max(-this.#rate.burst, bucket.tokens - calls)
  }

  get keys(): number {
    return this.#buckets.size
  }

  #filled(key: string, { perSecond, burst }: Rate): Bucket {
    const nowMs = this.#clock.monotonicMs()
    let bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      if (this.#buckets.size >= mostKeys) this.#forgetFull(nowMs, { perSecond, burst })
      bucket = { tokens: burst, filledAtMs: nowMs }
      this.#buckets.set(key, bucket)
    }
    bucket.tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.filledAtMs) / 1000) * perSecond)
    bucket.filledAtMs = nowMs
    return bucket
  }

  #forgetFull(nowMs: number, { perSecond, burst }: Rate): void {
    for (const [key, { tokens, filledAtMs }] of this.#buckets) {
      if (tokens + ((nowMs - filledAtMs) / 1000) * perSecond >= burst) this.#buckets.delete(key)
    }
    // All buckets are in use: start over, so that memory stays bounded.
    if (this.#buckets.size >= mostKeys) this.#buckets.clear()
  }
}

export interface RateLimits {
  /** Writes and reads by principal, failed authentications by address. */
  writes: Rate | null
  reads: Rate | null
  failures: Rate | null
}

/** A burst holds this many seconds' worth of requests. */
const burstSeconds = 5

/** Wrong tokens from one address: people mistype a few, only a guesser sends hundreds. */
const failures: Rate = { perSecond: 1, burst: 100 }

/** The limits of an installation from its setting, in requests a second for one caller; null sets no such limit. */
export function rateLimitsOf(perSecond: { writes: number; reads: number } | null): RateLimits {
  if (perSecond === null) return { writes: null, reads: null, failures }
  const rate = (each: number): Rate => ({ perSecond: each, burst: each * burstSeconds })
  return { writes: rate(perSecond.writes), reads: rate(perSecond.reads), failures }
}

export function rateLimited(waitSeconds: number): AppError {
  return new AppError('rate-limited', 'Too many requests', {
    details: 'Wait for the time in Retry-After, then send requests more slowly.',
    retryAfterSeconds: Math.max(1, Math.ceil(waitSeconds)),
  })
}

/** The key of an address for limits: for IPv6 its /64 network, because a single subscriber has that many addresses. */
export function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address
  const [left = [], right = []] = address.split('::').map((half) => half.split(':').filter(Boolean))
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...zeros, ...right].slice(0, 4).join(':')
}
