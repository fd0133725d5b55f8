import type { Backend } from './backend.ts'

/** Why a request is not served. */
export type Refusal =
  | { why: 'stopped' | 'deploying' | 'gone' | 'busy' }
  | { why: 'no-container'; problem?: string | undefined }
  | { why: 'start-failed'; message: string }
  /** The first version failed; `reason` is one of the platform's own. */
  | { why: 'never-served'; reason: string }

/** A request that needs a slot of a container. One of the two callbacks is called once per `admit`. */
export interface Waiter {
  /** Assigns a slot of `container`, to be returned with `release`. */
  assigned(container: Backend): void
  refused(refusal: Refusal): void
  /** A request waits, and no container takes requests: the first one is being started. */
  awaitsStart?(): void
}

/** The requests of one environment without a slot, in the order in which they get one. */
export class RequestQueue {
  readonly #queue = new Set<Waiter>()
  /** Requests whose container refused the connection; they go first. */
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

  /** The next request; call only if the queue is not empty. */
  shift(): Waiter {
    const line = this.#retries.size > 0 ? this.#retries : this.#queue
    const waiter = line.values().next().value as Waiter
    line.delete(waiter)
    return waiter
  }

  /** False if it was not waiting. */
  leave(waiter: Waiter): boolean {
    return this.#queue.delete(waiter) || this.#retries.delete(waiter)
  }

  /** Empties the queue. */
  takeAll(): Waiter[] {
    const waiting = [...this.#retries, ...this.#queue]
    this.#retries.clear()
    this.#queue.clear()
    return waiting
  }
}
