import { PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import type { Secret } from '../../log.ts'
import { isConnectionLost, translated } from './errors.ts'
import type { PostgresAddress } from './url.ts'

/** Milliseconds. The server ends longer statements, so that no lock is held forever. */
const statementMs = 30_000
const idleInTransactionMs = 60_000
const connectMs = 5_000

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
  const pool = new pg.Pool({ ...clientConfig(address, name), max: size })
  // A broken connection, in use or idle, fails the next query that uses it.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return new PostgresDialect({ pool: new TranslatedPool(pool) })
}

class TranslatedPool implements PostgresPool {
  readonly #pool: pg.Pool

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  async connect(): Promise<PostgresPoolClient> {
    try {
      return new TranslatedClient(await this.#pool.connect()) as unknown as PostgresPoolClient
    } catch (error) {
      throw translated(error, 'connect')
    }
  }

  end(): Promise<void> {
    return this.#pool.end()
  }
}

class TranslatedClient {
  readonly #client: pg.PoolClient
  #isLost = false

  constructor(client: pg.PoolClient) {
    this.#client = client
  }

  async query(statement: string, parameters: unknown[]): Promise<pg.QueryResult> {
    try {
      const result = await this.#client.query(statement, parameters)
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
