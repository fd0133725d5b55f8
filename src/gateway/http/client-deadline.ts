import type { Socket } from 'node:net'
import type { Clock } from '../../clock.ts'
import { ReadProgress } from '../../read-progress.ts'

const idleMs = 75_000
const headMs = 15_000
const stalledBodyMs = 60_000
/** A client that still sends gets a new `lingerMs` with each piece, up to `longestLingerMs`. */
const lingerMs = 2_000
const longestLingerMs = 30_000
/** A client that reads no data for this long while bytes wait for it loses its connection. */
const unreadMs = 60_000

/** Until when a client may take for its next step, on the monotonic clock. */
export class ClientDeadline {
  readonly #clock: Clock
  readonly #reading = new ReadProgress()
  #atMs: number
  #lingerEndMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#atMs = clock.monotonicMs() + headMs
  }

  /** Until the next request begins. */
  idle(): void {
    this.#atMs = this.#clock.monotonicMs() + idleMs
  }

  /** For the rest of a request head. */
  head(): void {
    this.#atMs = this.#clock.monotonicMs() + headMs
  }

  /** For the next piece of a body. */
  body(): void {
    this.#atMs = this.#clock.monotonicMs() + stalledBodyMs
  }

  /**
   * The last response was sent. A connection closed while the client sends would be reset, and the client might lose the
   * response, such as an early 413.
   */
  linger(): void {
    const nowMs = this.#clock.monotonicMs()
    this.#lingerEndMs = nowMs + longestLingerMs
    this.#atMs = nowMs + lingerMs
  }

  /** The client sent more after the last response. */
  lingerOn(): void {
    this.#atMs = Math.min(this.#lingerEndMs, this.#clock.monotonicMs() + lingerMs)
  }

  /** Written bytes are sent first: the time to linger begins after the last one. */
  lingerAfterWrites(nowMs: number): void {
    this.#atMs = Math.max(this.#atMs, nowMs + lingerMs)
  }

  hasPassed(nowMs: number): boolean {
    return nowMs >= this.#atMs
  }

  /** Bytes wait for the client, and it has read none for too long. */
  isUnread(socket: Socket, nowMs: number): boolean {
    return this.#reading.stalledMs(socket, nowMs) >= unreadMs
  }
}
