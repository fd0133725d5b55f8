/** One step from the tables of an older program to those of this one. A released migration is never edited. */
export interface Migration {
  name: string
  /**
   * SQL that SQLite and PostgreSQL both accept. PostgreSQL gets 64-bit integers and text ordered by bytes; an
   * `integer primary key` numbers itself.
   */
  statements: readonly string[]
}
