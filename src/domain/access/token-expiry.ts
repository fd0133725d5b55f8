import { AppError } from '../../errors.ts'

/**
 * When a new token expires, as a timestamp; null for never. It cannot outlive the token that creates it, which would
 * otherwise be a way around that token's own expiry.
 */
export function expiryOf(
  wanted: string | undefined,
  { now, creatorExpiresAt }: { now: string; creatorExpiresAt: string | null },
): string | null {
  const expiresAt = wanted === undefined ? null : new Date(wanted).toISOString()
  if (isExpired(expiresAt, now)) {
    throw new AppError('invalid', 'expiresAt is in the past', {
      details: `expiresAt must be later than now (${now}); leave it out for a token that does not expire.`,
    })
  }
  if (creatorExpiresAt !== null && (expiresAt === null || expiresAt > creatorExpiresAt)) {
    throw new AppError('invalid', 'The new token would outlive the token that creates it', {
      details: `expiresAt must be at most ${creatorExpiresAt}, when the token of this call expires; for a longer life use a token that expires later.`,
    })
  }
  return expiresAt
}

/** Both are timestamps; null never expires. */
export function isExpired(expiresAt: string | null, now: string): boolean {
  return expiresAt !== null && expiresAt <= now
}
