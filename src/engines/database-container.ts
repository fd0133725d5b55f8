import type { DatabaseSpec } from './engine.ts'

/** How to configure a preset's official image. */
interface DatabaseContainer {
  env: Record<string, string>
  entrypoint?: string[]
  cmd?: string[]
  /** The image's data folder. */
  dataPath: string
  /** Shared memory of the container; the engine's default of 64 MB if absent. */
  sharedMemoryMb?: number
}

/**
 * The conventions of the official images (documented on Docker Hub). Passwords are passed in variables, never as
 * arguments, which every user of the machine can read; scripts are fixed texts.
 */
export function databaseContainer(database: DatabaseSpec, memoryMb: number): DatabaseContainer {
  const { user, password, adminPassword, database: name } = database
  switch (database.dockerPreset) {
    case 'POSTGRESQL':
      return postgres(database, memoryMb)
    case 'MYSQL':
      return {
        env: {
          MYSQL_USER: user,
          MYSQL_PASSWORD: password,
          MYSQL_DATABASE: name,
          MYSQL_ROOT_PASSWORD: adminPassword,
        },
        dataPath: '/var/lib/mysql',
      }
    case 'REDIS':
      return redis(database, memoryMb)
    case 'MONGODB':
      return {
        env: {
          MONGO_INITDB_ROOT_USERNAME: user,
          MONGO_INITDB_ROOT_PASSWORD: password,
          MONGO_INITDB_DATABASE: name,
        },
        dataPath: '/data/db',
      }
    case 'COUCHDB':
      return { env: { COUCHDB_USER: user, COUCHDB_PASSWORD: password }, dataPath: '/opt/couchdb/data' }
    case 'RABBITMQ':
      return {
        env: {
          RABBITMQ_DEFAULT_USER: user,
          RABBITMQ_DEFAULT_PASS: password,
          // RabbitMQ stores its data under the node name, and the host name changes with every container.
          RABBITMQ_NODENAME: 'rabbit@localhost',
        },
        entrypoint: ['/bin/sh', '-c', rabbitScript],
        dataPath: '/var/lib/rabbitmq',
      }
    case 'CLICKHOUSE':
      return {
        env: {
          CLICKHOUSE_USER: user,
          CLICKHOUSE_PASSWORD: password,
          CLICKHOUSE_DB: name,
          CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT: '1',
        },
        dataPath: '/var/lib/clickhouse',
      }
  }
}

/**
 * Allows clients and replicas to connect; the image's own file does not allow replicas. A replica first copies its
 * primary; the image's entry point then finds a data folder, changes its owner and starts the server.
 */
const postgresScript = `set -eu
printf '%s\\n' 'local all all trust' 'host all all all scram-sha-256' 'host replication all all scram-sha-256' > /tmp/pg_hba.conf
if [ -n "\${LS_PRIMARY_HOST:-}" ]; then
  mkdir -p "\${PGDATA%/*}"
  tries=0
  until rm -rf "$PGDATA" && PGPASSWORD="$POSTGRES_PASSWORD" pg_basebackup --host="$LS_PRIMARY_HOST" \\
    --port="$LS_PRIMARY_PORT" --username="$POSTGRES_USER" --pgdata="$PGDATA" --write-recovery-conf --wal-method=stream --checkpoint=fast
  do
    tries=$((tries + 1))
    [ "$tries" -lt 20 ]
    sleep 1
  done
fi
exec docker-entrypoint.sh "$@"`

function postgres(database: DatabaseSpec, memoryMb: number): DatabaseContainer {
  const { primary } = database
  const settings = {
    shared_buffers: `${Math.floor(memoryMb / 4)}MB`,
    wal_keep_size: '256MB',
    hba_file: '/tmp/pg_hba.conf',
    ...database.parameters,
  }
  return {
    env: {
      POSTGRES_USER: database.user,
      POSTGRES_PASSWORD: database.password,
      POSTGRES_DB: database.database,
      // A subfolder of the mount, because initdb needs to own its folder.
      PGDATA: '/var/lib/postgresql/data/pgdata',
      ...(primary && { LS_PRIMARY_HOST: primary.host, LS_PRIMARY_PORT: String(primary.port) }),
    },
    entrypoint: ['/bin/sh', '-c', postgresScript, 'postgres'],
    cmd: ['postgres', ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])],
    dataPath: '/var/lib/postgresql/data',
    // Parallel queries exchange rows in shared memory and fail if it is full.
    sharedMemoryMb: Math.max(64, Math.floor(memoryMb / 4)),
  }
}

const rabbitScript =
  'rabbitmq-plugins enable --offline rabbitmq_mqtt rabbitmq_management && exec docker-entrypoint.sh rabbitmq-server'

/** The file is readable for the user that the image's entry point switches to; the container has no other users. */
const redisScript = `printf 'requirepass %s\\nmasterauth %s\\n' "$REDIS_PASSWORD" "$REDIS_PASSWORD" > /tmp/redis.conf
unset REDIS_PASSWORD
exec docker-entrypoint.sh redis-server /tmp/redis.conf "$@"`

function redis(database: DatabaseSpec, memoryMb: number): DatabaseContainer {
  const settings = ['--maxmemory', `${Math.floor(memoryMb * 0.75)}mb`]
  // Lets replicas that start together share one copy; with the default each would wait for 5 s.
  settings.push('--repl-diskless-sync-delay', '1')
  const kept = database.persistent ? ['--appendonly', 'yes'] : ['--appendonly', 'no', '--save', '']
  const { primary } = database
  const follows = primary ? ['--replicaof', primary.host, String(primary.port)] : []
  return {
    env: { REDIS_PASSWORD: database.password },
    entrypoint: ['/bin/sh', '-c', redisScript, 'redis'],
    cmd: [...settings, ...kept, ...follows],
    dataPath: '/data',
  }
}
