import type { Cancel, Clock } from '../../src/clock.ts'

interface Timer {
  dueMs: number
  task: () => void
}

/** A clock that stands still until it is moved. Tasks run in the order of their times, each at its own time. */
export class TestClock implements Clock {
  #monotonicMs = 0
  #wallMs: number
  readonly #timers = new Set<Timer>()

  constructor(start = '2026-03-01T12:00:00.000Z') {
    this.#wallMs = Date.parse(start)
  }

  wallMs(): number {
    return this.#wallMs
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

  /** The wall clock steps, as when somebody sets the time; intervals do not notice. */
  stepWall(ms: number): void {
    this.#wallMs += ms
  }

  #moveTo(monotonicMs: number): void {
    this.#wallMs += monotonicMs - this.#monotonicMs
    this.#monotonicMs = monotonicMs
  }
}
