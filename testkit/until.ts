/** Resolves when `condition`, which is not a promise, holds; fails the test with `what` if it never does. */
export async function until(condition: () => unknown, what = 'condition', timeoutMs = 60_000): Promise<void> {
  const endMs = performance.now() + timeoutMs
  for (let pauseMs = 1; !condition(); pauseMs = Math.min(pauseMs * 1.1, 20)) {
    if (performance.now() > endMs) throw new Error(`never came: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

/** The longer a wait, the rarer the reads, which cost CPU that other tests need. */
const firstPauseMs = 20
const longestPauseMs = 150

/** Polls a read until it fits; fails with the last answer seen. */
export async function untilRead<T>(
  read: () => Promise<T>,
  fits: (value: T) => boolean,
  what: string,
  limitMs = 120_000,
): Promise<T> {
  const deadlineMs = performance.now() + limitMs
  let last: unknown
  for (
    let pauseMs = firstPauseMs;
    performance.now() < deadlineMs;
    pauseMs = Math.min(pauseMs * 1.2, longestPauseMs)
  ) {
    try {
      const value = await read()
      last = value
      if (fits(value)) return value
    } catch (error) {
      last = error
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  throw new Error(
    `${what} did not come about; last seen: ${last instanceof Error ? last.message : JSON.stringify(last)}`,
  )
}
