import { PassThrough, Readable, type Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { DatabaseAccess } from '../domain/backups/backup.ts'
import { type DatabaseSpec, EngineFailure, type RestoreSpec } from './engine.ts'
import * as postgres from './postgres-tools.ts'

/** A program to run next to a database server: a fixed script for `/bin/sh -c`; everything variable is in `env`. */
export interface DatabaseTool {
  script: string
  /** Contains the password: never put it into arguments or logs. */
  env: Record<string, string>
}

/** Writes a dump to standard output; null for presets that are dumped over their own protocol. */
export function dumpTool(database: DatabaseSpec, port: number): DatabaseTool | null {
  switch (database.dockerPreset) {
    case 'POSTGRESQL':
      return { script: postgres.dump, env: postgresEnv(database, port) }
    case 'MYSQL':
      return { script: mysqlDump, env: mysqlEnv(database, port) }
    default:
      return null
  }
}

interface ToolStreams {
  input?: Readable
  output?: Writable
}

/** Runs a tool next to the server. */
type RunTool = (tool: DatabaseTool, streams: ToolStreams) => Promise<void>

/**
 * Dumps by `tool`. A PostgreSQL dump comes with what roles have, and its structure is loaded into a second database: a
 * copy that cannot be restored says so now, when the original still exists.
 */
export async function dumpWith(
  tool: DatabaseTool,
  database: DatabaseSpec,
  run: RunTool,
  sink: Writable,
): Promise<DatabaseAccess | null> {
  const isPostgres = database.dockerPreset === 'POSTGRESQL'
  const access = isPostgres ? await readAccess(tool, run) : null
  await run(tool, { output: sink })
  if (isPostgres) await checkStructure(tool, database, run)
  return access
}

async function readAccess({ env }: DatabaseTool, run: RunTool): Promise<DatabaseAccess> {
  const output = new PassThrough()
  const printed = text(output)
  await run({ script: postgres.access, env }, { output }).finally(() => output.end())
  return JSON.parse(await printed)
}

async function checkStructure({ env }: DatabaseTool, database: DatabaseSpec, run: RunTool): Promise<void> {
  const structure = new PassThrough()
  const dumped = run({ script: postgres.dumpStructure, env }, { output: structure }).then(() =>
    structure.end(),
  )
  const input = toLoad(database, structure)
  const checked = run({ script: postgres.checkStructure, env }, { input }).catch((error) => {
    structure.destroy()
    if (!(error instanceof EngineFailure)) throw error
    const why = `The copy could not be restored, because the server does not accept its structure again: ${error.message}`
    throw new EngineFailure(error.reason, why, { cause: error })
  })
  const [made, loaded] = await Promise.allSettled([dumped, checked])
  if (loaded.status === 'rejected') throw loaded.reason
  if (made.status === 'rejected') throw made.reason
}

/** Reads such a dump, as `toLoad` prepares it, from standard input and replaces the current data. */
export function loadTool(database: DatabaseSpec, port: number, restore: RestoreSpec): DatabaseTool | null {
  switch (database.dockerPreset) {
    case 'POSTGRESQL':
      return {
        script: postgres.load,
        env: { ...postgresEnv(database, port), ...postgresRestoreEnv(restore) },
      }
    case 'MYSQL':
      return {
        script: mysqlLoad,
        env: { ...mysqlEnv(database, port), LS_ADMIN_PASSWORD: database.adminPassword },
      }
    default:
      return null
  }
}

/** The input of `loadTool`. */
export function toLoad(database: DatabaseSpec, dumped: Readable): Readable {
  if (database.dockerPreset !== 'POSTGRESQL') return dumped
  return Readable.from(postgres.withOwnSearchPath(dumped), { objectMode: false })
}

/** Gives the server's user the password of `database` in place of `previous`; harmless if it has it already. */
export function passwordTool(database: DatabaseSpec, previous: string, port: number): DatabaseTool | null {
  const before = { ...database, password: previous }
  const wanted = { LS_NEW_PASSWORD: database.password }
  switch (database.dockerPreset) {
    case 'POSTGRESQL':
      return { script: postgres.password, env: { ...postgresEnv(before, port), ...wanted } }
    case 'MYSQL':
      return { script: mysqlPassword, env: { ...mysqlEnv(before, port), ...wanted } }
    default:
      return null
  }
}

function postgresEnv(database: DatabaseSpec, port: number): Record<string, string> {
  return {
    PGHOST: '127.0.0.1',
    PGPORT: String(port),
    PGUSER: database.user,
    PGPASSWORD: database.password,
    PGDATABASE: 'postgres',
    PGAPPNAME: 'longshore',
    // Settings of the tenant's database must not keep it from being copied or restored.
    PGOPTIONS: '-c client_min_messages=warning -c default_transaction_read_only=off -c statement_timeout=0',
    LS_DATABASE: database.database,
  }
}

function postgresRestoreEnv({ restoreId, access }: RestoreSpec): Record<string, string> {
  const roles = access ? [access.user, ...access.roles.map(({ name }) => name)] : []
  return {
    LS_RESTORE_ID: restoreId,
    LS_ROLES: JSON.stringify(roles),
    // A dump of unknown roles may hold grants that this server cannot make.
    LS_ACCESS: access ? '' : '--no-owner --no-acl',
  }
}

function mysqlEnv(database: DatabaseSpec, port: number): Record<string, string> {
  return {
    LS_PORT: String(port),
    LS_USER: database.user,
    MYSQL_PWD: database.password,
    LS_DATABASE: database.database,
  }
}

/** MariaDB and MySQL name their client programs differently. */
const mysqlPrograms = `set -eu
dump=mysqldump client=mysql
if command -v mariadb-dump > /dev/null 2>&1; then dump=mariadb-dump client=mariadb; fi
server="--no-defaults --protocol=tcp --host=127.0.0.1 --port=$LS_PORT --user=$LS_USER"
`

/**
 * Views, routines and triggers get the current user as definer, because the restored user may have another name. Only
 * such definitions begin a line this way: line breaks within rows are escaped.
 */
const mysqlCopy = `${mysqlPrograms}
copy() {
  $dump $server --single-transaction --quick --no-tablespaces --routines --triggers --events --hex-blob \\
    --default-character-set=utf8mb4 "$1"
}
own='DEFINER=\`'$LS_USER'\`@\`[^\`]*\`'
ours() { sed -E "/^(CREATE|\\/\\*!)/s/$own/DEFINER=CURRENT_USER/"; }
exec 4>&1
`

const mysqlDump = `${mysqlCopy}
failed=$({ { copy "$LS_DATABASE" || echo yes >&3; } | ours >&4; } 3>&1)
[ -z "$failed" ]
`

/** A line of standard error. */
const oldDataGone = 'longshore: the old data is gone'

/**
 * Loads into a second database first, to show that the whole dump loads, then copies that one: renaming
 * tables would lose views and triggers. Needs the administrator; with another password, the dump is loaded
 * directly. A broken connection looks like the end of the input, hence the check of the last line.
 */
const mysqlLoad = `${mysqlCopy}
sql() { $client $server --batch --default-character-set=utf8mb4 "$@"; }
root() (
  cd "$(sql -N -e 'select @@datadir')" < /dev/null || exit 1
  socket=$(sql -N -e 'select @@socket')
  MYSQL_PWD="$LS_ADMIN_PASSWORD" $client --no-defaults --protocol=socket --socket="$socket" --user=root -e "$1" < /dev/null
)
load() {
  last=$({ tee /dev/fd/3 | sql "$1" >&4 || echo broken >&3; } 3>&1 | tail -c 200)
  case $last in
    *broken) return 1 ;;
    *'-- Dump completed'*) ;;
    *)
      echo 'ERROR: The copy ends too early.' >&2
      return 1
      ;;
  esac
}
empty() {
  sql -e "drop database if exists \\\`$LS_DATABASE\\\`" < /dev/null
  echo '${oldDataGone}' >&2
  sql -e "create database \\\`$LS_DATABASE\\\`" < /dev/null
}
clean() { root "drop database if exists ls_restore_new; revoke all privileges on ls_restore_new.* from '$LS_USER'@'%'" > /dev/null 2>&1 || true; }
if ! root 'select 1' > /dev/null 2>&1; then
  empty
  load "$LS_DATABASE"
  exit
fi
trap clean EXIT
root "drop database if exists ls_restore_new; create database ls_restore_new; grant all privileges on ls_restore_new.* to '$LS_USER'@'%'"
load ls_restore_new
empty
copy ls_restore_new < /dev/null | ours | load "$LS_DATABASE"
`

const mysqlPassword = `${mysqlPrograms}
if MYSQL_PWD="$LS_NEW_PASSWORD" $client $server -e 'select 1' > /dev/null 2>&1; then exit 0; fi
change="alter user user() identified by '$LS_NEW_PASSWORD'"
if [ "$client" = mariadb ]; then change="set password = password('$LS_NEW_PASSWORD')"; fi
$client $server <<SQL
$change
SQL
`

/** The tool's standard error as one short sentence without passwords. It contains error messages, never rows. */
export function toolFailure(stderr: string, database: DatabaseSpec): string {
  const printed = stderr.trim().split('\n')
  const own = printed.filter((line) => line !== oldDataGone)
  const found = own.find((line) => /error|fatal|denied|not found|refused/i.test(line))
  const line = (found ?? own.at(-1) ?? '').replace(/\s+/g, ' ').trim().slice(0, 300)
  const message = [database.password, database.adminPassword].reduce(
    (text, one) => text.replaceAll(one, '***'),
    line,
  )
  const why = message || 'The program failed without an error message.'
  return printed.includes(oldDataGone) ? `${why} The old data is gone. Restore a backup again.` : why
}
