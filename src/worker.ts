import type { Cancel, Clock } from './clock.ts'

export interface WorkerOptions {
  clock: Clock
  /** Compares the stored state with the actual state and repairs the difference; may be repeated at any time. */
  pass(): unknown
  /** Called with the error of a failed pass; the next pass follows by itself. */
  failed(error: unknown): void
  /** Once started, time from the end of a pass to the next one. Without it only wakes and failures lead to a pass. */
  everyMs?: number
  /** Without `everyMs`: how long after a failed pass the next one is made, and the most that this grows to. */
  retryMs?: number
  longestRetryMs?: number
  /** Spreads retries: workers that failed together do not try again together. */
  random?: () => number
}

const defaultRetryMs = 2_000
const defaultLongestRetryMs = 10_000
/** The largest part of a retry delay that jitter may subtract. */
const jitter = 0.25

/**
 * Makes passes, one at a time: when woken, after a failure, and at an interval. A wake during a pass leads to one
 * more, so that no change is overlooked.
 */
export class Worker {
  readonly #options: WorkerOptions
  #started = false
  #active = false
  #again = false
  #stopped = false
  #failures = 0
  #running: Promise<void> | null = null
  #interval: Cancel = () => {}
  #alarm: { atMs: number; cancel: Cancel } | null = null

  constructor(options: WorkerOptions) {
    this.#options = options
  }

  get stopped(): boolean {
    return this.#stopped
  }

  /** Begins the interval: the first pass is one interval away. */
  start(): void {
    this.#started = true
    this.#scheduleInterval()
  }

  /** Starts a pass now, or another one after the pass in progress; cheap to call often. */
  wake(): void {
    if (this.#stopped) return
    this.#again = true
    if (this.#active) return
    this.#active = true
    this.#running = this.#run()
  }

  /**
   * Wakes in `delayMs`, or earlier. Only the earliest requested time is kept: the pass requests the
   * next one itself.
   */
  wakeWithin(delayMs: number): void {
    const { clock } = this.#options
    const atMs = clock.monotonicMs() + delayMs
    if (this.#stopped || (this.#alarm && this.#alarm.atMs <= atMs)) return
    this.#alarm?.cancel()
    const cancel = clock.after(delayMs, () => {
      this.#alarm = null
      this.wake()
    })
    this.#alarm = { atMs, cancel }
  }

  /** Resolves when nothing is left to do right now. */
  async settled(): Promise<void> {
    while (this.#running) await this.#running
  }

  /** No pass begins from now on; resolves when the one in progress has ended. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#interval()
    this.#alarm?.cancel()
    await this.settled()
  }

  async #run(): Promise<void> {
    this.#interval()
    while (this.#again && !this.#stopped) {
      this.#again = false
      await this.#pass()
    }
    this.#active = false
    this.#running = null
    this.#scheduleInterval()
  }

  async #pass(): Promise<void> {
    const { everyMs, pass, failed } = this.#options
    try {
      await pass()
      this.#failures = 0
    } catch (error) {
      failed(error)
      if (everyMs === undefined) this.wakeWithin(this.#retryDelayMs())
    }
  }

  #scheduleInterval(): void {
    const { clock, everyMs } = this.#options
    this.#interval()
    if (everyMs === undefined || !this.#started || this.#stopped) return
    this.#interval = clock.after(everyMs, () => this.wake())
  }

  #retryDelayMs(): number {
    const { retryMs = defaultRetryMs, longestRetryMs = defaultLongestRetryMs } = this.#options
    const { random = Math.random } = this.#options
    const delayMs = Math.min(retryMs * 2 ** this.#failures, Math.max(retryMs, longestRetryMs))
    this.#failures += 1
    return delayMs * (1 - jitter * random())
  }
}
