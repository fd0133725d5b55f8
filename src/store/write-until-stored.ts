import { type Clock, sleep } from '../clock.ts'

const firstRetryMs = 100
const longestRetryMs = 5_000

/**
 * Repeats a write until it is stored, so that the result of long work survives a temporary outage of the store.
 * `write` must be idempotent: it may have been stored although its response was lost. Rejects with the last error
 * once `signal` is aborted.
 */
export async function writeUntilStored<T>(
  clock: Clock,
  signal: AbortSignal,
  write: () => Promise<T>,
): Promise<T> {
  for (let delayMs = firstRetryMs; ; delayMs = Math.min(2 * delayMs, longestRetryMs)) {
    try {
      return await write()
    } catch (error) {
      if (signal.aborted) throw error
      await sleep(clock, delayMs, signal)
      if (signal.aborted) throw error
    }
  }
}
