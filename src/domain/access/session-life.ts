const minuteMs = 60_000

/** A session ends after `idleMs` without a request, and at the latest `absoluteMs` after sign-in. */
export const sessionLife = { idleMs: 4 * 60 * minuteMs, absoluteMs: 24 * 60 * minuteMs }

export function isSessionOver(
  { expiresAt, usedAt }: { expiresAt: string; usedAt: string },
  nowMs: number,
): boolean {
  return Date.parse(expiresAt) <= nowMs || Date.parse(usedAt) <= nowMs - sessionLife.idleMs
}
