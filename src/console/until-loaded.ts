const pausesMs = [250, 1_000, 3_000]

/**
 * Runs `load` again while it fails: when a network comes or goes (a VPN, a container of Docker), browsers abort their
 * requests, even those to this machine.
 */
export async function untilLoaded<T>(load: () => Promise<T>): Promise<T> {
  for (const pauseMs of pausesMs) {
    try {
      return await load()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
  return load()
}
