import { type Clock, timestamp } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { Db } from '../../store/db.ts'
import type { TokenUses } from '../access/token-uses.ts'
import type { RequestOrigin } from './call.ts'
import { type Caller, callerOf } from './caller.ts'
import { networkOf, RateLimit, type RateLimits, rateLimited } from './rate-limit.ts'
import type { RateSharing } from './rate-sharing.ts'

export interface Authenticating {
  db: Db
  clock: Clock
  rateLimits: RateLimits
  /** Absent: this instance is the only one. */
  rateSharing?: RateSharing | undefined
  tokenUses: TokenUses
}

/** Resolves the token of a request, and counts the request against the rate limits. */
export function createAuthenticate({ db, clock, rateLimits, rateSharing, tokenUses }: Authenticating) {
  const limit = (name: keyof RateLimits) =>
    rateSharing?.limit(name, rateLimits[name]) ?? new RateLimit(rateLimits[name], clock)
  const [writes, reads, failures] = [limit('writes'), limit('reads'), limit('failures')]
  return async (token: string | null, origin?: RequestOrigin): Promise<string> => {
    const address = origin?.address ?? ''
    let caller: Caller
    try {
      const now = timestamp(clock.wallMs())
      caller = await db.read((tx) => callerOf(tx, { token, credential: origin?.credential }, now))
    } catch (error) {
      // A good token is never delayed by bad ones from the same address.
      const unknown = error instanceof AppError && error.kind === 'unauthenticated'
      const wait = unknown ? failures.take(networkOf(address)) : 0
      throw wait > 0 ? rateLimited(wait) : error
    }
    if (caller.kind === 'user') tokenUses.note(caller.token.tokenId)
    const wait = origin ? (origin.reads ? reads : writes).take(caller.principal) : 0
    if (wait > 0) throw rateLimited(wait)
    return caller.principal
  }
}
