const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** Fewer than the five failures an hour for a name after which Let's Encrypt refuses. */
const retriesMs = [minuteMs, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 6 * hourMs, 24 * hourMs]

/** When an order that failed is made again; `attempts` have been made, and the authority may ask for more time. */
export function retryAtMs(attempts: number, nowMs: number, requestedMs: number | null): number {
  const usual = retriesMs[Math.min(Math.max(attempts, 1), retriesMs.length) - 1] as number
  return nowMs + Math.max(usual, requestedMs ?? 0)
}

/** How often the DNS is checked: often at first, while people wait for it, then less and less. */
export function nextLookMs(createdMs: number, nowMs: number): number {
  const age = nowMs - createdMs
  if (age < 10 * minuteMs) return nowMs + 10_000
  return nowMs + Math.min(hourMs, Math.max(minuteMs, age / 20))
}

/** Without advice of the authority: at two thirds of the life. */
export function usualRenewal({ notBefore, notAfter }: { notBefore: string; notAfter: string }): number {
  const [from, to] = [Date.parse(notBefore), Date.parse(notAfter)]
  return from + ((to - from) * 2) / 3
}

/** A time in the window that the authority suggests, so that not all renew at once (RFC 9773, 4.2). */
export function timeInWindow({ start, end }: { start: string; end: string }, random: number): number | null {
  const [from, to] = [Date.parse(start), Date.parse(end)]
  return Number.isFinite(from) && to > from ? from + (to - from) * random : null
}
