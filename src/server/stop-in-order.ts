import { type Clock, sleep } from '../clock.ts'

/** A step of the process that has to end before it exits, with its name for the operator. */
export type StopStep = readonly [name: string, end: () => unknown]

/**
 * Ends the steps one after the other. Returns the name of the step that had not ended after `limitMs`, whose work the next
 * start continues; null when all have ended.
 */
export async function stopInOrder(
  steps: readonly StopStep[],
  limitMs: number,
  clock: Clock,
): Promise<string | null> {
  const over = new AbortController()
  let current: string | null = null
  const ending = (async () => {
    for (const [name, end] of steps) {
      if (over.signal.aborted) return
      current = name
      await end()
    }
    current = null
  })()
  // One that fails after the limit is no news.
  ending.catch(() => {})
  try {
    await Promise.race([ending, sleep(clock, limitMs, over.signal)])
    return current
  } finally {
    over.abort()
  }
}

/** Resolves to the reason of a signal that ends the process. */
export function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve('stopping (SIGTERM)'))
    process.once('SIGINT', () => resolve('stopping (Ctrl-C)'))
  })
}
