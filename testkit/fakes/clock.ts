import type { Cancel, Clock } from '../../src/clock.ts'

interface Timer {
  dueMs: number
  task: () => void
}

/** A clock that only advances on command. Tasks run in order, each at its own time. */
export class TestClock implements Clock {
  #monotonicMs = 0
  #wallMs: number
  readonly #timers = new Set<Timer>()

  constructor(start = '2026-03-01T12:00:00.000Z') {
    this.#wallMs = Date.parse(start)
  }

  /** Whole milliseconds, as the system clock; timers may be due between two of them. */
  wallMs(): number {
    return Math.floor(this.#wallMs)
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  after(delayMs: number, task: () => void): Cancel {
    const timer = { dueMs: this.#monotonicMs + Math.max(0, delayMs), task }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  /** Moves both clocks on, running what falls due; lets promises settle after each task. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonicMs + ms
    for (;;) {
      const next = [...this.#timers].filter(({ dueMs }) => dueMs <= end).sort((a, b) => a.dueMs - b.dueMs)[0]
      if (next === undefined) break
      this.#timers.delete(next)
      this.#moveTo(next.dueMs)
      next.task()
      await new Promise((resolve) => setImmediate(resolve))
    }
    this.#moveTo(end)
  }

  /**
   * Moves on in steps until `condition` holds. Between them, sockets and files take their real time: a step takes at least
   * a millisecond, so give a wait of minutes larger ones.
   */
  async advanceUntil(condition: () => unknown, what: string, stepMs = 10): Promise<void> {
    const endMs = performance.now() + 60_000
    while (!condition()) {
      if (performance.now() > endMs) throw new Error(`never came: ${what}`)
      await this.advance(stepMs)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  /** Steps the wall clock; intervals are not affected. */
  stepWall(ms: number): void {
    this.#wallMs += ms
  }

  #moveTo(monotonicMs: number): void {
    this.#wallMs += monotonicMs - this.#monotonicMs
    this.#monotonicMs = monotonicMs
  }
}
