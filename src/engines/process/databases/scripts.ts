import type { DatabaseSpec } from '../../engine.ts'

/** Input of a database's start script: variables and server arguments. */
interface DatabaseStart {
  script: string
  /** Arguments after the script; never secrets, because the process list shows them. */
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
 * Each script prepares the data folder next to its final name and renames it, so that a crash leaves no half-made
 * data, then replaces itself by the server. The text is fixed: variable values are passed as variables or arguments,
 * never inserted.
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
    // Keeps enough log for a replica that was disconnected briefly.
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
    // Fast shutdown; SIGTERM would wait for every client to disconnect.
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
    // Leaves room for copy-on-write: Redis then rejects writes before the server is killed.
    maxmemory: `${Math.floor(memoryMb * 0.75)}mb`,
    // Lets replicas that start together share one copy; with the default each would wait for 5 s.
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

/** The installation makes administrators without a password for loopback; those of earlier versions had them too. */
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
echo "drop user if exists 'root'@'127.0.0.1', 'root'@'::1';" > init.sql
exec "$LS_SERVER" --no-defaults --datadir="$PWD/data" --init-file="$PWD/init.sql" "$@"
`

function mariadb(database: DatabaseSpec, { server, memoryMb, port }: Place): DatabaseStart {
  const settings = {
    port: String(port),
    'bind-address': '127.0.0.1',
    // Relative to the data folder: an absolute path could exceed the length limit of socket names.
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
 * Each node gets its own Erlang name server, which ends with it, so that nodes of other containers never connect.
 * Both listen on loopback only. The settings contain the password and are therefore written to the container's own
 * folder.
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

/** Offsets of the node's two other ports below its AMQP port, outside the range for outgoing connections. */
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
      // RabbitMQ stores its data under the node name, so it must stay the same.
      RABBITMQ_NODENAME: `ls${port}@localhost`,
      RABBITMQ_DIST_PORT: String(port - rabbitPorts.node),
      ERL_EPMD_PORT: String(port - rabbitPorts.names),
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
      RABBITMQ_CONF_ENV_FILE: '/dev/null',
    },
  }
}
