import pg from 'pg'
import { AppError } from '../../errors.ts'
import { advisoryLock } from './advisory-locks.ts'
import { clientConfig } from './pool.ts'
import type { PostgresAddress } from './url.ts'

const answerMs = 5_000
/** Notifications of all control planes of a database. */
const channel = 'longshore'

/**
 * A connection of its own, which a busy pool does not delay: for leases, and for the notifications of other control
 * planes. It holds an advisory lock: shared while a control plane serves, exclusive while an installation is copied.
 */
export class Session {
  readonly #address: PostgresAddress
  readonly #name: string
  readonly #mode: 'serves' | 'copies'
  readonly #heard: (payload: string) => void
  #client: pg.Client | null = null

  constructor(
    address: PostgresAddress,
    name: string,
    mode: 'serves' | 'copies',
    heard: (payload: string) => void = () => {},
  ) {
    this.#address = address
    this.#name = name
    this.#mode = mode
    this.#heard = heard
  }

  get isUp(): boolean {
    return this.#client !== null
  }

  /** Throws `AppError` of kind `unavailable` if the lock is taken. */
  async connect(): Promise<void> {
    const client = new pg.Client({ ...clientConfig(this.#address, this.#name), query_timeout: answerMs })
    client.on('error', () => {})
    try {
      await client.connect()
      // A holder whose machine died must not keep the lock for hours.
      await client.query(
        'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3',
      )
      await this.#lock(client)
      client.on('notification', ({ payload }) => this.#heard(payload ?? ''))
      if (this.#mode === 'serves') await client.query(`listen ${channel}`)
    } catch (error) {
      await client.end().catch(() => {})
      throw error
    }
    client.once('end', () => this.#drop(client))
    this.#client = client
  }

  /** Rows of one statement. After a failure the connection is made again by the next `connect`. */
  async query<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = this.#client
    if (!client) throw new Error('the session is not connected')
    try {
      return (await client.query(text, [...values])).rows as Row[]
    } catch (error) {
      this.#drop(client)
      await client.end().catch(() => {})
      throw error
    }
  }

  async notify(payload: string): Promise<void> {
    await this.query('select pg_notify($1, $2)', [channel, payload])
  }

  async close(): Promise<void> {
    const client = this.#client
    this.#client = null
    await client?.end().catch(() => {})
  }

  async #lock(client: pg.Client): Promise<void> {
    const { space, serving } = advisoryLock
    const take = this.#mode === 'serves' ? 'pg_try_advisory_lock_shared' : 'pg_try_advisory_lock'
    const { rows } = await client.query(`select ${take}($1, $2) as held`, [space, serving])
    if (rows[0]?.held === true) return
    const [problem, details] =
      this.#mode === 'serves'
        ? [
            `The database ${this.#address.label} is in exclusive use`,
            'An installation is being copied into it, or an older version of Longshore serves it: wait for the copy, or stop the older version.',
          ]
        : [
            `A control plane serves the database ${this.#address.label}`,
            'Stop every control plane of it, or copy into a new database.',
          ]
    throw new AppError('unavailable', problem as string, { details: details as string })
  }

  #drop(client: pg.Client): void {
    if (this.#client === client) this.#client = null
  }
}
