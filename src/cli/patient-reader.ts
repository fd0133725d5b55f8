import type { Clock } from '../clock.ts'
import { AppError } from '../errors.ts'

/** The platform may restart during a wait, and the work continues, so failed reads are retried this long. */
const patienceMs = 60_000

/** Repeats a read; null while the platform is briefly unavailable, its error when that lasts. */
export function createPatientReader<T>(
  { clock, signal }: { clock: Clock; signal: AbortSignal },
  read: () => Promise<T>,
): () => Promise<T | null> {
  let awaySinceMs: number | null = null
  return async () => {
    try {
      const value = await read()
      awaySinceMs = null
      return value
    } catch (error) {
      signal.throwIfAborted()
      if (!isPassing(error)) throw error
      awaySinceMs ??= clock.monotonicMs()
      if (clock.monotonicMs() - awaySinceMs > patienceMs) throw error
      return null
    }
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof AppError && (error.kind === 'unavailable' || error.kind === 'rate-limited')
}
