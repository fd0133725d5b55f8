import { setImmediate as nextRound } from 'node:timers'
import { setImmediate } from 'node:timers/promises'

let last: Promise<void> = Promise.resolve()

/**
 * Rounds of the event loop before each turn. In a round Node accepts one new connection only (libuv since 1.46): with one
 * round for each piece of work, a hundred clients that connect at once would wait for a hundred pieces.
 */
const roundsBetween = 8

/**
 * Resolves in a turn of the event loop that only this caller gets. With plain `setImmediate`, the pieces of many
 * simultaneous calls would run in one turn, one after the other, and other requests would wait for all of them.
 */
export function yieldAlone(): Promise<void> {
  last = last.then(passRounds)
  return last
}

async function passRounds(): Promise<void> {
  for (let round = 0; round < roundsBetween; round += 1) await setImmediate()
}

/** Bytes of JSON that are parsed and checked in about a millisecond. */
const largeBytes = 16 * 1024

/** Before a body of this size is parsed and checked, which takes up to 50 milliseconds: many may come at once. */
export async function yieldForLarge({ length }: Uint8Array): Promise<void> {
  if (length > largeBytes) await yieldAlone()
}

/** Characters that are parsed, copied or encrypted in a few milliseconds. */
const mostInARow = 256 * 1024
/** What a step costs beside its characters. */
const perStep = 2_000

/** Cuts work whose size tenants choose into pieces, so that the event loop has its turn between them. */
export class Pacer {
  #done = 0

  /** Called after a step that went through so many characters. */
  async after(characters: number): Promise<void> {
    this.#done += characters + perStep
    if (this.#done < mostInARow) return
    this.#done = 0
    await yieldAlone()
  }
}

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
  if (!isCounting) nextRound(beginRound)
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
