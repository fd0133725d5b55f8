import type { ServedContainer } from './served-container.ts'

/** Why a request is not served. */
export type Refusal =
  | { why: 'stopped' | 'gone' | 'busy' | 'no-container' }
  | { why: 'start-failed'; message: string }

/** A request that wants a slot of a container. One of the two is called, once a `admit`. */
export interface Waiter {
  /** A slot of `container` is yours; give it back with `release`. */
  assigned(container: ServedContainer): void
  refused(refusal: Refusal): void
}

/** The requests of one environment that have no slot yet, in the order in which they get one. */
export class WaitingLine {
  readonly #queue = new Set<Waiter>()
  /** Those whose container refused them: before all others. */
  readonly #retries = new Set<Waiter>()

  get length(): number {
    return this.#queue.size + this.#retries.size
  }

  add(waiter: Waiter): void {
    this.#queue.add(waiter)
  }

  addInFront(waiter: Waiter): void {
    this.#retries.add(waiter)
  }

  /** Who is next; only while somebody waits. */
  shift(): Waiter {
    const line = this.#retries.size > 0 ? this.#retries : this.#queue
    const waiter = line.values().next().value as Waiter
    line.delete(waiter)
    return waiter
  }

  /** False: it did not wait. */
  leave(waiter: Waiter): boolean {
    return this.#queue.delete(waiter) || this.#retries.delete(waiter)
  }

  /** Empties the line. */
  takeAll(): Waiter[] {
    const waiting = [...this.#retries, ...this.#queue]
    this.#retries.clear()
    this.#queue.clear()
    return waiting
  }
}
