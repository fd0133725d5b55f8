import { type CompiledQuery, type DatabaseConnection, type Driver, SqliteDialect, SqliteDriver } from 'kysely'
import type Database from 'libsql'
import { Pacer, yieldAlone } from '../../pacer.ts'

/** How long a transaction waits for one of another process (`longshore secrets rotate`). */
const lockWaitMs = 5_000
const lockPauseMs = 10

const keptStatements = 256
/** Characters. A statement keeps the values it was last given. */
const keptParameters = 4_096

/** Kysely on one libsql connection, which is reopened after a statement that SQLite left open. */
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
 * Works around SQLite and libsql behavior that Kysely's driver does not handle: a statement that ends with BUSY stays
 * open until it is garbage-collected, and until then this connection sees an old snapshot and cannot commit. So no
 * transaction upgrades from reading to writing, and a connection with such a statement is replaced.
 */
class EmbeddedDriver extends SqliteDriver {
  readonly #open: () => Database.Database
  #database: Database.Database
  #isStuck = false
  /** By SQL, the one used last at the end: preparing a query again takes longer than reading a row. */
  readonly #statements = new Map<string, Database.Statement>()
  /** Statements run on the event loop, and rows have up to megabytes. */
  readonly #pacer = new Pacer()
  readonly #connection: DatabaseConnection = {
    executeQuery: async (query) => {
      // libsql ends the process when it is given one.
      if (query.parameters.some((value) => typeof value === 'boolean'))
        throw new TypeError('the store takes no booleans')
      const given = textLength(query.parameters)
      const result = this.#execute(query, given <= keptParameters)
      await this.#pacer.after(given + textLength(result.rows))
      return result
    },
    streamQuery: () => {
      throw new Error('the store does not support streaming')
    },
  } as DatabaseConnection

  constructor(open: () => Database.Database) {
    const database = open()
    super({ database })
    this.#open = open
    this.#database = database
  }

  /** One at a time, by the lock of the base driver. */
  override async acquireConnection(): Promise<DatabaseConnection> {
    await super.acquireConnection()
    return this.#connection
  }

  override async releaseConnection(): Promise<void> {
    try {
      if (this.#isStuck && !this.#inTransaction()) this.#reopen()
    } finally {
      await super.releaseConnection()
    }
  }

  /** Takes the write lock immediately; waits without blocking while another process holds it. */
  override async beginTransaction(): Promise<void> {
    for (const endMs = performance.now() + lockWaitMs; ; ) {
      try {
        // Not a statement object: exec closes the statement whatever its result.
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
    // The commit waited for the disk on the event loop, so other requests come before the next transaction.
    await yieldAlone()
  }

  /** SQLite ends the transaction itself if the disk is full; another rollback would hide that error. */
  override async rollbackTransaction(): Promise<void> {
    if (this.#inTransaction()) this.#exec('rollback')
    await yieldAlone()
  }

  override async destroy(): Promise<void> {
    this.#database.close()
  }

  /** On a closed database, libsql would end the process here. */
  #inTransaction(): boolean {
    return this.#database.open && this.#database.inTransaction
  }

  #exec(sql: string): void {
    try {
      this.#database.exec(sql)
    } catch (error) {
      this.#isStuck ||= isBusy(error)
      throw error
    }
  }

  #execute({ sql, parameters }: CompiledQuery, keep: boolean) {
    // Kept again only after success: a failed statement may still be open.
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql)
    this.#statements.delete(sql)
    try {
      const result = statement.reader ? allRows(statement, parameters) : changed(statement, parameters)
      if (keep) this.#keep(sql, statement)
      return result
    } catch (error) {
      this.#isStuck ||= isBusy(error)
      throw error
    }
  }

  #keep(sql: string, statement: Database.Statement): void {
    const [oldest] = this.#statements.keys()
    if (oldest !== undefined && this.#statements.size >= keptStatements) this.#statements.delete(oldest)
    this.#statements.set(sql, statement)
  }

  #reopen(): void {
    const database = this.#open()
    this.#database.close()
    this.#database = database
    this.#statements.clear()
    this.#isStuck = false
  }
}

function allRows(statement: Database.Statement, parameters: readonly unknown[]) {
  return { rows: statement.all(parameters) as never[] }
}

function changed(statement: Database.Statement, parameters: readonly unknown[]) {
  const { changes, lastInsertRowid } = statement.run(parameters)
  return { numAffectedRows: BigInt(changes ?? 0), insertId: BigInt(lastInsertRowid ?? 0), rows: [] }
}

/** Characters of the texts in parameters or rows. */
function textLength(values: readonly unknown[]): number {
  let length = 0
  for (const value of values) {
    if (typeof value === 'string') length += value.length
    else if (typeof value === 'object' && value !== null) length += textLength(Object.values(value))
  }
  return length
}

function isBusy(error: unknown): boolean {
  return String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY')
}
