/** Resolves when `condition` holds; fails the test with `what` if it never does. */
export async function until(condition: () => unknown, what = 'condition', timeoutMs = 60_000): Promise<void> {
  const endMs = performance.now() + timeoutMs
  for (let pauseMs = 1; !condition(); pauseMs = Math.min(pauseMs * 1.1, 20)) {
    if (performance.now() > endMs) throw new Error(`never came: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
