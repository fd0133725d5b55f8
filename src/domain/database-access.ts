import { randomBytes } from 'node:crypto'
import type { Host } from '../contract/app-envs.ts'
import type { DatabasePresetName } from '../contract/databases.ts'
import { secretMask } from '../contract/fields.ts'
import { randomText } from './ids.ts'

/** Generated at creation and kept for the life of the database; stored sealed as one JSON text. */
export interface DatabaseSecrets {
  password: string
  /** Of the engine's own administrator, where it has one besides the user. */
  adminPassword: string
}

/** What an environment of a database preset stores besides its settings. */
export interface DatabaseAccess {
  user: string
  /** Name of the database made at the first start. */
  database: string
  /** `DatabaseSecrets`, sealed; bound to `databaseSecretName`. */
  secrets: string
  /** `portName` → port on 127.0.0.1, chosen before the first start and kept. */
  ports: Record<string, number>
  /** D1: MQTT has a host name of its own. */
  mqttHost: string | null
}

/** One port a database answers on. */
export interface DatabaseEndpoint {
  name: string
  /** Inside the container. */
  port: number
  scheme: string
  kind: Host['kind']
  /** Management pages ask for the credentials themselves. */
  withCredentials: boolean
  withDatabase: boolean
}

const full = { withCredentials: true, withDatabase: true } as const

const endpoints: Record<DatabasePresetName, readonly DatabaseEndpoint[]> = {
  POSTGRESQL: [{ name: 'native', port: 5432, scheme: 'postgresql', kind: 'native', ...full }],
  MYSQL: [{ name: 'native', port: 3306, scheme: 'mysql', kind: 'native', ...full }],
  REDIS: [
    {
      name: 'native',
      port: 6379,
      scheme: 'redis',
      kind: 'native',
      withCredentials: true,
      withDatabase: false,
    },
  ],
  MONGODB: [{ name: 'native', port: 27017, scheme: 'mongodb', kind: 'native', ...full }],
  COUCHDB: [
    { name: 'http', port: 5984, scheme: 'http', kind: 'http', withCredentials: true, withDatabase: false },
  ],
  RABBITMQ: [
    { name: 'amqp', port: 5672, scheme: 'amqp', kind: 'amqp', withCredentials: true, withDatabase: false },
    { name: 'mqtt', port: 1883, scheme: 'mqtt', kind: 'mqtt', withCredentials: true, withDatabase: false },
    {
      name: 'management',
      port: 15672,
      scheme: 'http',
      kind: 'management',
      withCredentials: false,
      withDatabase: false,
    },
  ],
  CLICKHOUSE: [
    { name: 'http', port: 8123, scheme: 'http', kind: 'http', withCredentials: true, withDatabase: false },
    { name: 'native', port: 9000, scheme: 'clickhouse', kind: 'native', ...full },
  ],
}

/** The first one tells whether the database is ready. */
export function databaseEndpoints(preset: string): readonly DatabaseEndpoint[] {
  return endpoints[preset as DatabasePresetName] ?? []
}

/** Under which name a container's port is kept; the first container's has the endpoint's own name. */
export function portName(endpoint: string, ordinal: number): string {
  return ordinal === 0 ? endpoint : `${endpoint}-${ordinal}`
}

/** Under which name the account's containers reach one: no environment's name has a dot, so they never clash. */
export function internalName(cliEnvName: string, ordinal: number): string {
  return ordinal === 0 ? cliEnvName : `replica-${ordinal}.${cliEnvName}`
}

/** Made of letters, digits and `_` only: they fit URLs and configuration files as they are. */
export function newSecrets(): DatabaseSecrets {
  return { password: randomBytes(24).toString('hex'), adminPassword: randomBytes(24).toString('hex') }
}

/** User, database and host names; `sealed` holds the secrets. No port is chosen yet. */
export function newDatabaseAccess(preset: string, cliEnvName: string, sealed: string): DatabaseAccess {
  const name = cliEnvName.replaceAll('-', '_').slice(0, 32)
  return {
    user: `u_${randomText(8)}`,
    database: /^[a-z]/.test(name) ? name : `db_${name}`,
    secrets: sealed,
    ports: {},
    mqttHost: preset === 'RABBITMQ' ? `mqtt-${randomText(10)}.localhost` : null,
  }
}

export function databaseSecretName(appEnvId: string): string {
  return `${appEnvId}/database-secrets`
}

/**
 * D1, D2: where a database answers, once it has its ports: on loopback, and by `internal` name where the engine has
 * a network of its own. The password is shown only when it is given.
 */
export function databaseHosts(options: {
  preset: string
  access: DatabaseAccess
  secrets: DatabaseSecrets | null
  internalHost: string | null
  /** How many serve: the first takes writes, then come those that follow it, for reads. */
  containers: number
}): Host[] {
  const { preset, access, secrets, internalHost, containers } = options
  const password = secrets?.password ?? secretMask
  const hostsOf = (ordinal: number) =>
    databaseEndpoints(preset).flatMap((endpoint): Host[] => {
      const port = access.ports[portName(endpoint.name, ordinal)]
      if (port === undefined) return []
      const host = endpoint.kind === 'mqtt' && access.mqttHost !== null ? access.mqttHost : '127.0.0.1'
      const url = (authority: string) => endpointUrl(preset, endpoint, access, password, authority)
      const outside: Host = { host, url: url(`${host}:${port}`), kind: endpoint.kind }
      if (internalHost === null) return [outside]
      const inside = internalName(internalHost, ordinal)
      return [outside, { host: inside, url: url(`${inside}:${endpoint.port}`), kind: 'internal' }]
    })
  return Array.from({ length: containers }, (_, ordinal) => hostsOf(ordinal)).flat()
}

function endpointUrl(
  preset: string,
  endpoint: DatabaseEndpoint,
  access: DatabaseAccess,
  password: string,
  authority: string,
): string {
  // Redis knows one user unless its access lists say otherwise.
  const user = preset === 'REDIS' ? 'default' : access.user
  const login = endpoint.withCredentials ? `${user}:${password}@` : ''
  const path = endpoint.withDatabase ? `/${access.database}` : ''
  // The first user of MongoDB lives in its database `admin`.
  const query = preset === 'MONGODB' ? '?authSource=admin' : ''
  return `${endpoint.scheme}://${login}${authority}${path}${query}`
}
