import type { DatabaseSpec } from '../engine.ts'

/** What a database's start script is given, as variables and as arguments of the server. */
export interface DatabaseStart {
  script: string
  /** Arguments after the script; nothing secret, for they can be seen in the process list. */
  args: string[]
  env: Record<string, string>
  stopSignal?: 'SIGINT'
}

interface Place {
  server: string
  memoryMb: number
  port: number
}

/**
 * Each script prepares the data folder beside its final name and moves it there in one step, so that a crash in the
 * middle leaves nothing half made; then it becomes the server. The text is fixed: everything that varies comes in
 * variables or as arguments, never as text of the script.
 */
export function databaseStart(database: DatabaseSpec, place: Place): DatabaseStart {
  switch (database.dockerPreset) {
    case 'POSTGRESQL':
      return postgres(database, place)
    case 'REDIS':
      return redis(database, place)
    case 'MYSQL':
      return mariadb(database, place)
    default:
      throw new Error(`no start script for ${database.dockerPreset}`)
  }
}

const intoDataFolder = `set -eu
umask 077
mkdir -p "$LS_VOLUME"
cd "$LS_VOLUME"
`

const postgresScript = `${intoDataFolder}
if [ ! -s data/PG_VERSION ]; then
  rm -rf data.new
  printf '%s' "$LS_PASSWORD" > "$HOME/password"
  "$LS_BIN/initdb" -D data.new -U "$LS_USER" --pwfile="$HOME/password" --auth=scram-sha-256 -E UTF8 --locale=C.UTF-8
  rm -f "$HOME/password"
  printf 'create database "%s"\\n' "$LS_DATABASE" | "$LS_BIN/postgres" --single -D data.new postgres > /dev/null
  rm -rf data
  mv data.new data
fi
unset LS_PASSWORD
exec "$LS_BIN/postgres" -D data "$@"
`

function postgres(database: DatabaseSpec, { server, memoryMb, port }: Place): DatabaseStart {
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    shared_buffers: `${Math.floor(memoryMb / 8)}MB`,
    ...database.parameters,
  }
  return {
    script: postgresScript,
    args: Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    env: {
      LS_BIN: server.replace(/\/postgres$/, ''),
      LS_USER: database.user,
      LS_PASSWORD: database.password,
      LS_DATABASE: database.database,
    },
    // A fast shutdown; SIGTERM would wait for every client to leave.
    stopSignal: 'SIGINT',
  }
}

const redisScript = `${intoDataFolder}
mkdir -p data
cd data
printf 'requirepass %s\\nmasterauth %s\\n' "$LS_PASSWORD" "$LS_PASSWORD" > "$HOME/redis.conf"
unset LS_PASSWORD
exec "$LS_SERVER" "$HOME/redis.conf" "$@"
`

function redis(database: DatabaseSpec, { server, memoryMb, port }: Place): DatabaseStart {
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: './',
    appendonly: database.persistent ? 'yes' : 'no',
    // Room for the copy on write of a rewrite; writes are refused rather than the server killed.
    maxmemory: `${Math.floor(memoryMb * 0.75)}mb`,
    ...(database.persistent ? {} : { save: '' }),
  }
  return {
    script: redisScript,
    args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
    env: { LS_SERVER: server, LS_PASSWORD: database.password },
  }
}

const mariadbScript = `${intoDataFolder}
if [ ! -d data/mysql ]; then
  rm -rf data.new
  mariadb-install-db --no-defaults --datadir="$PWD/data.new" --auth-root-authentication-method=normal --skip-test-db
  "$LS_SERVER" --no-defaults --datadir="$PWD/data.new" --bootstrap <<SQL
flush privileges;
create database \\\`$LS_DATABASE\\\`;
create user '$LS_USER'@'%' identified by '$LS_PASSWORD';
grant all privileges on \\\`$LS_DATABASE\\\`.* to '$LS_USER'@'%';
alter user 'root'@'localhost' identified by '$LS_ADMIN_PASSWORD';
flush privileges;
SQL
  rm -rf data
  mv data.new data
fi
unset LS_PASSWORD LS_ADMIN_PASSWORD
exec "$LS_SERVER" --no-defaults --datadir="$PWD/data" "$@"
`

function mariadb(database: DatabaseSpec, { server, memoryMb, port }: Place): DatabaseStart {
  const settings = {
    port: String(port),
    'bind-address': '127.0.0.1',
    // Relative to the data folder: an absolute path could be longer than a socket's name may be.
    socket: 'server.sock',
    'pid-file': 'server.pid',
    'skip-name-resolve': 'ON',
    'innodb-buffer-pool-size': `${Math.floor(memoryMb / 4)}M`,
  }
  return {
    script: mariadbScript,
    args: Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
    env: {
      LS_SERVER: server,
      LS_USER: database.user,
      LS_PASSWORD: database.password,
      LS_ADMIN_PASSWORD: database.adminPassword,
      LS_DATABASE: database.database,
    },
  }
}
