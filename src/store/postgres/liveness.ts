import pg from 'pg'

/** A query that takes this long makes the server prove that it answers, within as long again. Together less than 2 s. */
const patienceMs = 750
const lookEveryMs = 250
const oversleptMs = 100

interface Waiting {
  sinceMs: number
  fail(error: Error): void
}

/**
 * Detects a server that keeps its connections but answers nothing: one that is stopped, or behind a network that drops
 * packets. A slow query alone proves nothing, so a connection of its own asks for a number. While the server is away,
 * work fails at once.
 */
export class Liveness {
  readonly #config: pg.ClientConfig
  readonly #waiting = new Set<Waiting>()
  #probe: pg.Client | null = null
  #timer: NodeJS.Timeout | null = null
  #isAway = false
  #isClosed = false
  /** Connections of an earlier epoch may be dead without an error. */
  epoch = 0

  constructor(config: pg.ClientConfig) {
    this.#config = { ...config, connectionTimeoutMillis: patienceMs, query_timeout: patienceMs }
  }

  /** The result of `work`; rejects as soon as the server is known to be away. */
  async watch<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isAway) throw noAnswer()
    const waiting: Waiting = { sinceMs: performance.now(), fail: () => {} }
    const away = new Promise<never>((_, reject) => {
      waiting.fail = reject
    })
    this.#waiting.add(waiting)
    this.#timer ??= this.#lookLater()
    try {
      return await Promise.race([work(), away])
    } finally {
      this.#waiting.delete(waiting)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#timer) clearTimeout(this.#timer)
    await this.#probe?.end().catch(() => {})
  }

  #lookLater(): NodeJS.Timeout {
    return setTimeout(() => void this.#look(), lookEveryMs).unref()
  }

  async #look(): Promise<void> {
    const [oldest] = this.#waiting
    const isLate = oldest !== undefined && performance.now() - oldest.sinceMs >= patienceMs
    if (isLate || this.#isAway) {
      const isAway = !(await this.#answers())
      if (isAway && !this.#isAway) this.epoch += 1
      this.#isAway = isAway
      if (isAway) for (const { fail } of this.#waiting) fail(noAnswer())
    }
    const isIdle = this.#waiting.size === 0 && !this.#isAway
    this.#timer = isIdle || this.#isClosed ? null : this.#lookLater()
  }

  /** An error of the server is an answer too. A deadline that this process itself overslept proves nothing. */
  async #answers(): Promise<boolean> {
    const client = this.#probe ?? new pg.Client(this.#config)
    let sinceMs = performance.now()
    try {
      if (!this.#probe) {
        client.on('error', () => {})
        await client.connect()
        sinceMs = performance.now()
      }
      await client.query('select 1')
      this.#probe = client
      return true
    } catch (error) {
      this.#probe = null
      void client.end().catch(() => {})
      return error instanceof pg.DatabaseError || performance.now() - sinceMs > patienceMs + oversleptMs
    }
  }
}

function noAnswer(): Error {
  return Object.assign(new Error('PostgreSQL does not answer'), { code: 'ETIMEDOUT' })
}
