/** Requests whose work begins in one round of the event loop; each takes up to a millisecond. */
const mostInRound = 16
/** While clients connect, of which a round accepts one: rounds without work, and requests that begin after them. */
const mostSkipped = 8
const mostBesideConnects = 2
const waiting = new Map<string, (() => void)[]>()
let begun = 0
let skipped = 0
let isCounting = false
let isConnecting = false

/** A client has connected, and others may wait for it. */
export function noteConnect(): void {
  isConnecting = true
  countRounds()
}

/**
 * Begins the work of a request in this round or in a later one. Thousands may arrive at once, and probes, new connections
 * and other callers would wait for all of them: callers take turns, each with one request.
 */
export function beginFairly(caller: string, begin: () => void): void {
  countRounds()
  if (begun < mostInRound && waiting.size === 0 && !isConnecting) {
    begun += 1
    begin()
    return
  }
  const own = waiting.get(caller)
  if (own) own.push(begin)
  else waiting.set(caller, [begin])
}

function countRounds(): void {
  if (!isCounting) setImmediate(beginRound)
  isCounting = true
}

function beginRound(): void {
  isCounting = false
  begun = 0
  const [connects, most] = [isConnecting, isConnecting ? mostBesideConnects : mostInRound]
  isConnecting = false
  if (waiting.size === 0) return
  countRounds()
  skipped = connects && skipped < mostSkipped ? skipped + 1 : 0
  if (skipped === 0) beginWaiting(most)
}

function beginWaiting(most: number): void {
  for (const [caller, own] of waiting) {
    if (begun === most) return
    begun += 1
    waiting.delete(caller)
    const begin = own.shift()
    // At the end of the line.
    if (own.length > 0) waiting.set(caller, own)
    begin?.()
  }
}
