import { type CompiledQuery, type DatabaseConnection, type Driver, SqliteDialect, SqliteDriver } from 'kysely'
import type Database from 'libsql'

/** How long a transaction waits for another process (`longshore secrets rotate`) to finish its own. */
const lockWaitMs = 5_000
const lockPauseMs = 10

/** Kysely on one libsql connection, which is opened anew after a statement that SQLite left open. */
export class EmbeddedDialect extends SqliteDialect {
  readonly #open: () => Database.Database

  constructor(open: () => Database.Database) {
    super({ database: async () => open() })
    this.#open = open
  }

  override createDriver(): Driver {
    return new EmbeddedDriver(this.#open)
  }
}

/**
 * What Kysely's own driver does not know of SQLite and libsql: a statement that ends with BUSY stays open until it is
 * collected, and as long as it is, this connection sees an old snapshot and cannot commit. So no transaction begins as
 * a reader and becomes a writer, and a connection with such a statement is given up.
 */
class EmbeddedDriver extends SqliteDriver {
  readonly #open: () => Database.Database
  #database: Database.Database
  #isStuck = false
  readonly #connection: DatabaseConnection = {
    executeQuery: async (query) => this.#execute(query),
    streamQuery: () => {
      throw new Error('the store streams nothing')
    },
  } as DatabaseConnection

  constructor(open: () => Database.Database) {
    const database = open()
    super({ database })
    this.#open = open
    this.#database = database
  }

  /** One at a time: the lock of the driver it stands on. */
  override async acquireConnection(): Promise<DatabaseConnection> {
    await super.acquireConnection()
    return this.#connection
  }

  override async releaseConnection(): Promise<void> {
    try {
      if (this.#isStuck && !this.#database.inTransaction) this.#reopen()
    } finally {
      await super.releaseConnection()
    }
  }

  /** Takes the write lock at once; while another process has it, this one goes on with other things. */
  override async beginTransaction(): Promise<void> {
    for (const endMs = performance.now() + lockWaitMs; ; ) {
      try {
        // Not as a statement object: this way it is closed however it ends.
        this.#database.exec('begin immediate')
        return
      } catch (error) {
        if (!isBusy(error) || performance.now() >= endMs) throw error
        await new Promise((resolve) => setTimeout(resolve, lockPauseMs * (0.5 + Math.random())))
      }
    }
  }

  override async commitTransaction(): Promise<void> {
    this.#exec('commit')
  }

  /** SQLite ends the transaction itself when the disk is full; rolling back once more would hide that reason. */
  override async rollbackTransaction(): Promise<void> {
    if (this.#database.inTransaction) this.#exec('rollback')
  }

  override async destroy(): Promise<void> {
    this.#database.close()
  }

  #exec(sql: string): void {
    try {
      this.#database.exec(sql)
    } catch (error) {
      this.#isStuck ||= isBusy(error)
      throw error
    }
  }

  #execute({ sql, parameters }: CompiledQuery) {
    try {
      const statement = this.#database.prepare(sql)
      if (statement.reader) return { rows: statement.all(parameters) as never[] }
      const { changes, lastInsertRowid } = statement.run(parameters)
      return { numAffectedRows: BigInt(changes ?? 0), insertId: BigInt(lastInsertRowid ?? 0), rows: [] }
    } catch (error) {
      this.#isStuck ||= isBusy(error)
      throw error
    }
  }

  #reopen(): void {
    const database = this.#open()
    this.#database.close()
    this.#database = database
    this.#isStuck = false
  }
}

function isBusy(error: unknown): boolean {
  return String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY')
}
