import { randomBytes } from 'node:crypto'
import type { Host } from '../../contract/app-envs.ts'
import type { DatabasePresetName } from '../../contract/fields.ts'
import { secretMask } from '../../contract/fields.ts'
import { randomText } from '../ids.ts'

/** Generated at creation and kept for the life of the database; stored sealed as one JSON string. */
export interface DatabaseSecrets {
  password: string
  /** Password of the engine's own administrator, if there is one besides the user. */
  adminPassword: string
}

/** Data stored for an environment with a database preset, besides its settings. */
export interface DatabaseAccess {
  user: string
  /** Name of the database created at the first start. */
  database: string
  /** `DatabaseSecrets`, sealed; bound to `databaseSecretName`. */
  secrets: string
  /** `secrets` before a rotation that the server has not carried out yet. */
  previousSecrets?: string
  /** `portName` → port on 127.0.0.1, chosen before the first start and then fixed. */
  ports: Record<string, number>
  /** D1: MQTT has its own host name. */
  mqttHost: string | null
}

/** One port of a database. */
interface DatabaseEndpoint {
  name: string
  /** Inside the container. */
  port: number
  scheme: string
  kind: Host['kind']
  /** False for management pages, which ask for the credentials themselves. */
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

/** The endpoints of a preset. Readiness is checked on the first one. */
export function databaseEndpoints(preset: string): readonly DatabaseEndpoint[] {
  return endpoints[preset as DatabasePresetName] ?? []
}

/** The key of a container's port; the first container uses the endpoint's name. */
export function portName(endpoint: string, ordinal: number): string {
  return ordinal === 0 ? endpoint : `${endpoint}-${ordinal}`
}

/** The internal host name of a container. Environment names contain no dot, so the names never clash. */
export function internalName(cliEnvName: string, ordinal: number): string {
  return ordinal === 0 ? cliEnvName : `replica-${ordinal}.${cliEnvName}`
}

/** Only letters, digits and `_`, which need no escaping in URLs and configuration files. */
export function newSecrets(): DatabaseSecrets {
  return { password: randomBytes(24).toString('hex'), adminPassword: randomBytes(24).toString('hex') }
}

/** User, database and host names; `sealed` contains the secrets. Ports are not chosen yet. */
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
 * D1, D2: the addresses of a database once it has ports: on loopback, and by `internal` name if the engine has its
 * own network. The password is shown only if it is passed.
 */
export function databaseHosts(options: {
  preset: string
  access: DatabaseAccess
  secrets: DatabaseSecrets | null
  internalHost: string | null
  /** Number of containers: the first accepts writes, the others are read replicas. */
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

/** The Services of a database in a cluster: for writes, and for reads from its replicas. */
function databaseServices(preset: string, workload: string): { write: string; read: string | null } {
  // CloudNativePG names those of PostgreSQL.
  if (preset === 'POSTGRESQL') return { write: `${workload}-rw`, read: `${workload}-ro` }
  return { write: workload, read: null }
}

/** The Service with the MQTT name of a database; null for one without MQTT. */
export function mqttService({ mqttHost }: Pick<DatabaseAccess, 'mqttHost'>): string | null {
  return mqttHost === null ? null : mqttHost.split('.')[0]!
}

/** D1, D2: the addresses of a database in a cluster, which are those of its Services. */
export function clusterDatabaseHosts(options: {
  preset: string
  access: DatabaseAccess
  secrets: DatabaseSecrets | null
  workload: string
  namespace: string
  containers: number
}): Host[] {
  const { preset, access, secrets, workload, namespace, containers } = options
  const { write, read } = databaseServices(preset, workload)
  const hostsOf = (service: string) =>
    databaseEndpoints(preset).map((endpoint): Host => {
      const name = endpoint.kind === 'mqtt' ? (mqttService(access) ?? service) : service
      const host = `${name}.${namespace}.svc`
      const password = secrets?.password ?? secretMask
      const url = endpointUrl(preset, endpoint, access, password, `${host}:${endpoint.port}`)
      return { host, url, kind: endpoint.kind }
    })
  return [write, ...(read !== null && containers > 1 ? [read] : [])].flatMap(hostsOf)
}

/** Redis has one user unless its access lists define others. */
export function databaseUser(preset: string, access: DatabaseAccess): string {
  return preset === 'REDIS' ? 'default' : access.user
}

function endpointUrl(
  preset: string,
  endpoint: DatabaseEndpoint,
  access: DatabaseAccess,
  password: string,
  authority: string,
): string {
  const user = databaseUser(preset, access)
  const login = endpoint.withCredentials ? `${user}:${password}@` : ''
  const path = endpoint.withDatabase ? `/${access.database}` : ''
  // MongoDB's first user is in its database `admin`.
  const query = preset === 'MONGODB' ? '?authSource=admin' : ''
  return `${endpoint.scheme}://${login}${authority}${path}${query}`
}
