/** More builds at a time would starve the containers that serve requests. */
const buildsAtOnce = 2

interface Waiting {
  accountId: string
  start: () => void
}

/**
 * Shares the build places among accounts: a free place goes to the account with the fewest running builds, so an
 * account holds one of two places at most once another account waits. Builds of one account keep their order.
 */
export class BuildQueue {
  readonly #running: string[] = []
  readonly #waiting: Waiting[] = []

  /** Runs `work` in a place. A build that is aborted while it waits leaves the queue and throws. */
  async run<T>(accountId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#place(accountId, signal)
    try {
      return await work()
    } finally {
      this.#running.splice(this.#running.indexOf(accountId), 1)
      this.#fill()
    }
  }

  #place(accountId: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted()
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        reject(signal.reason)
      }
      const start = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const waiting: Waiting = { accountId, start }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.push(waiting)
      this.#fill()
    })
  }

  #fill(): void {
    while (this.#running.length < buildsAtOnce && this.#waiting.length > 0) {
      const counts = this.#waiting.map(({ accountId }) => this.#runningOf(accountId))
      const [next] = this.#waiting.splice(counts.indexOf(Math.min(...counts)), 1)
      this.#running.push(next!.accountId)
      next!.start()
    }
  }

  #runningOf(accountId: string): number {
    return this.#running.filter((running) => running === accountId).length
  }
}
