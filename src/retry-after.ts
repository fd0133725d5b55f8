/** The wait that a Retry-After header requests, in seconds or as a date; null without one, or if its time has passed. */
export function retryAfterMs(header: string | string[] | undefined, nowMs: number): number | null {
  const text = Array.isArray(header) ? header[0] : header
  if (text === undefined) return null
  const delayMs = /^\d{1,9}$/.test(text.trim()) ? Number(text) * 1_000 : Date.parse(text) - nowMs
  return Number.isFinite(delayMs) && delayMs > 0 ? delayMs : null
}
