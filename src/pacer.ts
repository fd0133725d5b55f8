import { setImmediate } from 'node:timers/promises'

/**
 * Rounds of the event loop before each turn. In a round Node accepts one new connection only (libuv since 1.46): with one
 * round for each piece of work, a hundred clients that connect at once would wait for a hundred pieces.
 */
const roundsBetween = 8

/** Waiting values by key; the first has waited longest. Each step takes the same time, however many wait. */
export class WaitingByKey<Value> {
  readonly #values = new Map<string, Value>()
  /** Kept: a new iterator would pass all removed keys again. It never ends, because each key it passes is removed. */
  readonly #order = this.#values.entries()

  get size(): number {
    return this.#values.size
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  append(key: string, value: Value): void {
    this.#values.set(key, value)
  }

  /** Only if something waits. */
  takeFirst(): [key: string, value: Value] {
    const first: [string, Value] = this.#order.next().value!
    this.#values.delete(first[0])
    return first
  }
}

const waiting = new WaitingByKey<(() => void)[]>()
let isResuming = false

/**
 * Resolves in a turn of the event loop that only this caller gets. With plain `setImmediate`, the pieces of many
 * simultaneous calls would run in one turn, one after the other, and other requests would wait for all of them. Names
 * in `of`, such as accounts, alternate: many calls of one delay no other.
 */
export function yieldAlone(of = ''): Promise<void> {
  return new Promise((begin) => {
    const own = waiting.get(of)
    if (own) own.push(begin)
    else waiting.append(of, [begin])
    if (!isResuming) void resumeWaiting()
  })
}

async function resumeWaiting(): Promise<void> {
  isResuming = true
  while (waiting.size > 0) {
    await passRounds()
    const [of, own] = waiting.takeFirst()
    own.shift()!()
    if (own.length > 0) waiting.append(of, own)
  }
  isResuming = false
}

async function passRounds(): Promise<void> {
  for (let round = 0; round < roundsBetween; round += 1) await setImmediate()
}

/** Bytes of JSON that are parsed and checked in about a millisecond. */
const largeBytes = 16 * 1024

/** Before a body of this size is parsed and checked, which takes up to 50 ms: many may arrive at once. */
export async function yieldForLarge({ length }: Uint8Array): Promise<void> {
  if (length > largeBytes) await yieldAlone()
}

/** Characters that are parsed, copied or encrypted in a few milliseconds. */
const mostInARow = 256 * 1024
/** The cost of a step in addition to its characters. */
const perStep = 2_000

/** Splits work of a size that tenants choose, so that other work of the event loop runs in between. */
export class Pacer {
  #done = 0

  /** Called after a step that processed this many characters. */
  async after(characters: number): Promise<void> {
    this.#done += characters + perStep
    if (this.#done < mostInARow) return
    this.#done = 0
    await yieldAlone()
  }
}
