/** Reads at once for all callers; each takes up to milliseconds of the event loop. */
const mostReads = 4

/** Lets the reads of subscriptions take turns: each principal has one at a time, and all of them together a few. */
export class WatchReads {
  readonly #last = new Map<string, Promise<unknown>>()
  readonly #waiting: (() => void)[] = []
  #reading = 0

  async run<T>(principal: string, signal: AbortSignal, read: () => Promise<T>): Promise<T> {
    const before = this.#last.get(principal) ?? Promise.resolve()
    const own = before.then(() => this.#inPlace(signal, read))
    const ended = own.catch(() => {})
    this.#last.set(principal, ended)
    void ended.then(() => {
      if (this.#last.get(principal) === ended) this.#last.delete(principal)
    })
    return own
  }

  async #inPlace<T>(signal: AbortSignal, read: () => Promise<T>): Promise<T> {
    if (this.#reading < mostReads) this.#reading += 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      // Its subscription may have ended meanwhile.
      signal.throwIfAborted()
      return await read()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#reading -= 1
    }
  }
}
