import { createHash } from 'node:crypto'
import type { Cancel, Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'

interface WatchOptions {
  uris: readonly string[]
  /** Reads a resource as the subscriber, so that it passes the same checks as `resources/read`. */
  read(uri: string, signal: AbortSignal): Promise<string>
  changed(uri: string): void
  clock: Clock
}

/** Most resources of one subscription. */
export const mostWatched = 20
const everyMs = 5_000

/**
 * Reads resources again and again and reports those that changed, until the returned function is called. A resource
 * that can no longer be read has changed too.
 */
export function watchResources({ uris, read, changed, clock }: WatchOptions): Cancel {
  const ended = new AbortController()
  const seen = new Map<string, string>()
  let cancelTimer: Cancel = () => {}
  const pass = async () => {
    for (const uri of uris) {
      const state = await stateOf(() => read(uri, ended.signal))
      if (ended.signal.aborted) return
      if (state === null) continue
      const before = seen.get(uri)
      seen.set(uri, state)
      if (before !== undefined && before !== state) changed(uri)
    }
    cancelTimer = clock.after(everyMs, pass)
  }
  void pass()
  return () => {
    ended.abort()
    cancelTimer()
  }
}

/** A digest of the content or of its refusal; null if it cannot be read at the moment. */
async function stateOf(read: () => Promise<string>): Promise<string | null> {
  try {
    return createHash('sha256')
      .update(await read())
      .digest('base64')
  } catch (error) {
    if (!(error instanceof AppError)) return null
    return error.kind === 'unavailable' || error.kind === 'rate-limited' ? null : error.message
  }
}
