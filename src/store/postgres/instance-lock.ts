import { randomBytes } from 'node:crypto'
import os from 'node:os'
import pg from 'pg'
import { AppError } from '../../errors.ts'
import { advisoryLock } from './advisory-locks.ts'
import { clientConfig } from './pool.ts'
import type { PostgresAddress } from './url.ts'

/** How long a start waits for a control plane that is shutting down. */
const patienceMs = 3_000
const retryMs = 200
const beatMs = 2_000

/**
 * The advisory lock of the one control plane of a database, in its own session. After a lost connection it reconnects
 * until it holds the lock again or another control plane has it.
 */
export class InstanceLock {
  readonly #address: PostgresAddress
  readonly #onReplaced: (reason: string) => void
  /** Identifies this instance, also in containers where every process has pid 1. */
  readonly #name = `longshore ${process.pid} ${randomBytes(4).toString('hex')} ${os.hostname()}`.slice(0, 63)
  #client: pg.Client | null = null
  #beat: NodeJS.Timeout | null = null
  #isClosed = false

  private constructor(address: PostgresAddress, onReplaced: (reason: string) => void) {
    this.#address = address
    this.#onReplaced = onReplaced
  }

  /** Throws `AppError` of kind `unavailable` if another control plane holds the lock. */
  static async acquire(
    address: PostgresAddress,
    onReplaced: (reason: string) => void,
  ): Promise<InstanceLock> {
    const lock = new InstanceLock(address, onReplaced)
    for (const endMs = performance.now() + patienceMs; ; ) {
      const holder = await lock.#connect()
      if (holder === null) return lock
      if (performance.now() > endMs) {
        throw new AppError('unavailable', `Another control plane (${holder}) serves the database`, {
          details: `This version runs one control plane for a database: stop that one, or use another database than ${address.label}.`,
        })
      }
      await pause()
    }
  }

  get isHeld(): boolean {
    return this.#client !== null
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const client = this.#client
    this.#drop()
    await client?.end().catch(() => {})
  }

  /** Null if the lock is now held, otherwise the name of the session that holds it. */
  async #connect(): Promise<string | null> {
    const client = new pg.Client({ ...clientConfig(this.#address, this.#name), query_timeout: 5_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      // A holder whose machine died must not keep the lock for hours.
      await client.query(
        'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3',
      )
      const { space, serving } = advisoryLock
      const { rows } = await client.query('select pg_try_advisory_lock($1, $2) as held', [space, serving])
      if (rows[0]?.held === true && !this.#isClosed) {
        this.#hold(client)
        return null
      }
      const holder = await this.#holder(client)
      await client.end()
      return holder
    } catch (error) {
      await client.end().catch(() => {})
      throw error
    }
  }

  /** The holder's name; ends a session of our own that a lost connection left on the server. */
  async #holder(client: pg.Client): Promise<string> {
    const { rows } = await client.query(
      `select a.pid, a.application_name as name from pg_locks l join pg_stat_activity a on a.pid = l.pid
       where l.locktype = 'advisory' and l.granted and l.classid = $1 and l.objid = $2
         and l.database = (select oid from pg_database where datname = current_database())`,
      [advisoryLock.space, advisoryLock.serving],
    )
    if (rows[0]?.name === this.#name) await client.query('select pg_terminate_backend($1)', [rows[0].pid])
    return rows[0]?.name || 'unnamed'
  }

  #hold(client: pg.Client): void {
    this.#client = client
    client.once('end', () => this.#lost(client))
    this.#beat = setInterval(() => {
      client.query('select 1').catch(() => this.#lost(client))
    }, beatMs)
    this.#beat.unref()
  }

  #lost(client: pg.Client): void {
    if (this.#client !== client) return
    this.#drop()
    void client.end().catch(() => {})
    if (!this.#isClosed) void this.#regain()
  }

  #drop(): void {
    if (this.#beat) clearInterval(this.#beat)
    this.#client = null
  }

  async #regain(): Promise<void> {
    while (!this.#isClosed) {
      const holder = await this.#connect().catch(() => undefined)
      if (holder === null) return
      if (holder !== undefined && holder !== this.#name) {
        this.#onReplaced(`another control plane (${holder}) took over the database`)
        return
      }
      await pause()
    }
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, retryMs))
}
