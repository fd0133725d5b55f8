/** Set while requests do not reach the platform; shown as a banner until a request succeeds. */
let lostSince: Date | null = null
const listeners = new Set<() => void>()

export const connection = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener)
    return () => listeners.delete(listener)
  },
  lostSince: (): Date | null => lostSince,
  note(reached: boolean): void {
    if (reached === (lostSince === null)) return
    lostSince = reached ? null : new Date()
    for (const listener of listeners) listener()
  },
}
