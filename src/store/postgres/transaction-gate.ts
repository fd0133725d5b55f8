/**
 * Runs many transactions concurrently, or one exclusively. A transaction that lost a conflict runs again exclusively,
 * so that nothing in this process can conflict with it. First come, first served.
 */
export class TransactionGate {
  #running = 0
  #isAlone = false
  readonly #waiting: { alone: boolean; start: () => void }[] = []

  async take<T>(alone: boolean, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((start) => {
      this.#waiting.push({ alone, start })
      this.#startNext()
    })
    try {
      return await work()
    } finally {
      this.#running -= 1
      this.#isAlone = false
      this.#startNext()
    }
  }

  #startNext(): void {
    for (let next = this.#waiting[0]; next && !this.#isAlone; next = this.#waiting[0]) {
      if (next.alone && this.#running > 0) return
      this.#waiting.shift()
      this.#running += 1
      this.#isAlone = next.alone
      next.start()
    }
  }
}
