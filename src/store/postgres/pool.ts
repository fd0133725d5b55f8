import { PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import type { Secret } from '../../log.ts'
import { isConnectionLost, translated } from './errors.ts'
import { Liveness } from './liveness.ts'
import type { PostgresAddress } from './url.ts'

/** Milliseconds. The server ends longer statements, so that no lock is held forever. */
const statementMs = 30_000
const idleInTransactionMs = 60_000
const connectMs = 5_000
/** For a connection of the pool, while a caller waits. */
const poolConnectMs = 1_500

/** The configuration of every connection; `name` is shown in pg_stat_activity. */
export function clientConfig(address: PostgresAddress, name: string): pg.ClientConfig {
  const { host, port, user, database, ssl, password } = address
  return {
    host,
    port,
    user,
    database,
    ssl,
    ...passwordOf(password),
    application_name: name,
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementMs,
    // If the server vanished, its own timeout cannot arrive.
    query_timeout: statementMs + 5_000,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser },
  }
}

/** A user without a password must not get one from PGPASSWORD or ~/.pgpass. */
function passwordOf(password: Secret | undefined): { password: string } {
  return { password: password?.reveal() ?? '' }
}

const bigintType = 20
const numericType = 1700

/**
 * Parses wide integers, counts and sums as numbers; a value that does not fit is an error instead of being rounded.
 */
const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (type, format) =>
  type === bigintType || type === numericType ? wideNumber : pg.types.getTypeParser(type as number, format)

function wideNumber(text: string): number {
  const value = Number(text)
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new Error(`the store holds the number ${text}, which is too large`)
  }
  return value
}

/** Kysely on a pool that translates the driver's errors, so that errors of the work itself stay unchanged. */
export function createDialect(address: PostgresAddress, name: string, size: number): PostgresDialect {
  const config = clientConfig(address, name)
  const pool = new pg.Pool({ ...config, max: size, Client: PoolClient })
  return new PostgresDialect({ pool: new TranslatedPool(pool, new Liveness(config)) })
}

class PoolClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    // The pool hides the password from a copy.
    super({ ...config, password: config?.password, connectionTimeoutMillis: poolConnectMs })
  }
}

class TranslatedPool implements PostgresPool {
  readonly #pool: pg.Pool
  readonly #liveness: Liveness
  readonly #epochs = new WeakMap<pg.PoolClient, number>()

  constructor(pool: pg.Pool, liveness: Liveness) {
    this.#pool = pool
    this.#liveness = liveness
    // A broken connection, in use or idle, fails the next query that uses it.
    pool.on('error', () => {})
    pool.on('connect', (client) => {
      client.on('error', () => {})
      this.#epochs.set(client, liveness.epoch)
    })
  }

  async connect(): Promise<PostgresPoolClient> {
    try {
      for (;;) {
        const client = await this.#take()
        if (this.#epochs.get(client) === this.#liveness.epoch)
          return new TranslatedClient(client, this.#liveness) as unknown as PostgresPoolClient
        client.release(true)
      }
    } catch (error) {
      throw translated(error, 'connect')
    }
  }

  async #take(): Promise<pg.PoolClient> {
    let connecting: Promise<pg.PoolClient> | undefined
    try {
      return await this.#liveness.watch(() => {
        connecting = this.#pool.connect()
        return connecting
      })
    } catch (error) {
      connecting?.then(
        (late) => late.release(),
        () => {},
      )
      throw error
    }
  }

  async end(): Promise<void> {
    await Promise.all([this.#liveness.close(), this.#pool.end()])
  }
}

class TranslatedClient {
  readonly #client: pg.PoolClient
  readonly #liveness: Liveness
  #isLost = false

  constructor(client: pg.PoolClient, liveness: Liveness) {
    this.#client = client
    this.#liveness = liveness
  }

  async query(statement: string, parameters: unknown[]): Promise<pg.QueryResult> {
    try {
      const result = await this.#liveness.watch(() => this.#client.query(statement, parameters))
      // PostgreSQL responds to the commit of a failed transaction with a rollback.
      if (statement === 'commit' && result.command !== 'COMMIT') {
        throw new Error('the transaction continued after a failed statement; nothing was stored')
      }
      return result
    } catch (error) {
      this.#isLost ||= isConnectionLost(error)
      throw translated(error, statement)
    }
  }

  release(): void {
    this.#client.release(this.#isLost)
  }
}
