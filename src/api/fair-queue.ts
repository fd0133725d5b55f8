import { WaitingByKey } from '../pacer.ts'

/** Requests whose work begins in one round of the event loop; each takes up to a millisecond. */
const mostInRound = 16
/** While clients connect, of which a round accepts one: rounds without work, and requests that begin after them. */
const mostSkipped = 8
const mostBesideConnects = 2

type Begin = () => void

/** The requests of each token of each address. */
const waiting = new WaitingByKey<WaitingByKey<Begin[]>>()
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
 * and other callers would wait for all of them: addresses take turns, and at each address its tokens, each with one
 * request. The token is not checked yet: a stranger can make up thousands of tokens, but not of addresses.
 */
export function beginFairly(address: string, token: string, begin: Begin): void {
  countRounds()
  if (begun < mostInRound && waiting.size === 0 && !isConnecting) {
    begun += 1
    begin()
    return
  }
  let tokens = waiting.get(address)
  if (!tokens) {
    tokens = new WaitingByKey()
    waiting.append(address, tokens)
  }
  const own = tokens.get(token)
  if (own) own.push(begin)
  else tokens.append(token, [begin])
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
  while (begun < most && waiting.size > 0) {
    begun += 1
    const [address, tokens] = waiting.takeFirst()
    const [token, own] = tokens.takeFirst()
    const begin = own.shift()
    // Both at the end of their lines.
    if (own.length > 0) tokens.append(token, own)
    if (tokens.size > 0) waiting.append(address, tokens)
    begin?.()
  }
}
