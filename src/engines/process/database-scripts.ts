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
    case 'RABBITMQ':
      return rabbit(database, place)
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
if [ -n "$LS_PRIMARY_PORT" ]; then
  tries=0
  until rm -rf data data.new && PGPASSWORD="$LS_PASSWORD" "$LS_BIN/pg_basebackup" --host=127.0.0.1 --port="$LS_PRIMARY_PORT" \\
    --username="$LS_USER" --pgdata=data.new --write-recovery-conf --wal-method=stream --checkpoint=fast
  do
    tries=$((tries + 1))
    [ "$tries" -lt 20 ]
    sleep 1
  done
  mv data.new data
elif [ ! -s data/PG_VERSION ]; then
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
    // What a replica may be behind when it was away for a moment.
    wal_keep_size: '256MB',
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
      LS_PRIMARY_PORT: String(database.primary?.hostPort ?? ''),
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
    // Long enough for replicas that start together to share one copy; the default keeps each waiting for 5 s.
    'repl-diskless-sync-delay': '1',
    ...(database.persistent ? {} : { save: '' }),
  }
  return {
    script: redisScript,
    args: [
      ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
      ...(database.primary ? ['--replicaof', '127.0.0.1', String(database.primary.hostPort)] : []),
    ],
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

/**
 * The name server of Erlang belongs to this node alone and ends with it, so that nodes of others never meet it; both
 * listen on loopback only. The settings hold the password, so they go into a file of the container's own folder.
 */
const rabbitScript = `${intoDataFolder}
mkdir -p data
{
  printf 'listeners.tcp.default = 127.0.0.1:%s\\n' "$LS_AMQP"
  printf 'mqtt.listeners.tcp.default = 127.0.0.1:%s\\n' "$LS_MQTT"
  printf 'management.tcp.ip = 127.0.0.1\\nmanagement.tcp.port = %s\\n' "$LS_MANAGEMENT"
  printf 'default_user = %s\\ndefault_pass = %s\\n' "$LS_USER" "$LS_PASSWORD"
  printf 'mqtt.allow_anonymous = false\\n'
  printf 'vm_memory_high_watermark.absolute = %sMB\\ndisk_free_limit.absolute = 50MB\\n' "$LS_MEMORY_MB"
  printf 'log.console = true\\nlog.console.level = info\\nlog.file = false\\n'
} > "$HOME/rabbitmq.conf"
printf '[rabbitmq_mqtt,rabbitmq_management].\\n' > "$HOME/enabled_plugins"
unset LS_PASSWORD
export RABBITMQ_CONFIG_FILE="$HOME/rabbitmq.conf" RABBITMQ_ENABLED_PLUGINS_FILE="$HOME/enabled_plugins"
export RABBITMQ_MNESIA_BASE="$PWD/data" RABBITMQ_LOG_BASE="$HOME" RABBITMQ_PID_FILE="$HOME/rabbitmq.pid"
export ERL_EPMD_ADDRESS=127.0.0.1
epmd -address 127.0.0.1 -port "$ERL_EPMD_PORT" < /dev/null > /dev/null 2>&1 &
exec "$LS_SERVER"
`

/** Where the node's own two ports lie below the one it speaks AMQP on: under those that outgoing connections get. */
const rabbitPorts = { names: 45_000, node: 40_000 }

function rabbit(database: DatabaseSpec, { server, memoryMb, port }: Place): DatabaseStart {
  const portOf = (name: string) => String(database.ports.find((one) => one.name === name)?.hostPort ?? 0)
  return {
    script: rabbitScript,
    args: [],
    env: {
      LS_SERVER: server,
      LS_AMQP: portOf('amqp'),
      LS_MQTT: portOf('mqtt'),
      LS_MANAGEMENT: portOf('management'),
      LS_USER: database.user,
      LS_PASSWORD: database.password,
      LS_MEMORY_MB: String(Math.floor(memoryMb * 0.6)),
      // The data is kept under the node's name, so that stays the same.
      RABBITMQ_NODENAME: `ls${port}@localhost`,
      RABBITMQ_DIST_PORT: String(port - rabbitPorts.node),
      ERL_EPMD_PORT: String(port - rabbitPorts.names),
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
      RABBITMQ_CONF_ENV_FILE: '/dev/null',
    },
  }
}
