import type { DatabasePresetName, DatabasePresetRead, DatabaseVersion } from '../contract/databases.ts'

/** A preset as the table states it, before an engine says what of it can run. */
export type DatabasePreset = Omit<DatabasePresetRead, 'available' | 'unavailableReason'>

/** What a region's engine can run of one preset, as it was last seen. */
export interface DatabaseOffer {
  available: boolean
  /** Why not, and how to mend it; present when it is not available. */
  unavailableReason?: string
  /** What stands in for the preset's own image on an engine without images, such as `PostgreSQL 15`. */
  standIn?: string
  /** Below the preset's own limit where the engine cannot replicate. */
  maxReplicas?: number
}

export type DatabaseOffers = ReadonlyMap<DatabasePresetName, DatabaseOffer>

const disk = { minDisk: 1_024, maxDisk: 1_048_576, defaultDisk: 5_120 } as const
/** Every container but the first would need a cluster that this version does not set up. */
const single = { maxReplicas: 1, ...disk } as const
/** One that takes writes, and others that follow it and answer reads. */
const replicated = { maxReplicas: 3, ...disk } as const

/** The managed databases by preset; images are the official ones of each project (contract.md 6). */
export const databasePresets: readonly DatabasePreset[] = [
  {
    dockerPreset: 'POSTGRESQL',
    name: 'PostgreSQL',
    versions: [
      version('17', 'PostgreSQL 17', 'postgres:17'),
      version('16', 'PostgreSQL 16', 'postgres:16'),
      version('15', 'PostgreSQL 15', 'postgres:15'),
      version('17-pgvector', 'PostgreSQL 17 with vector search', 'pgvector/pgvector:pg17', 'pgvector'),
      version('16-pgvector', 'PostgreSQL 16 with vector search', 'pgvector/pgvector:pg16', 'pgvector'),
    ],
    defaultVersion: '17',
    protocol: 'postgresql',
    port: 5432,
    persistence: 'optional',
    limits: replicated,
  },
  {
    dockerPreset: 'MYSQL',
    name: 'MySQL',
    versions: [version('8.4', 'MySQL 8.4', 'mysql:8.4'), version('8.0', 'MySQL 8.0', 'mysql:8.0')],
    defaultVersion: '8.4',
    protocol: 'mysql',
    port: 3306,
    persistence: 'optional',
    limits: single,
  },
  {
    dockerPreset: 'REDIS',
    name: 'Redis',
    versions: [version('7.4', 'Redis 7.4', 'redis:7.4'), version('7.2', 'Redis 7.2', 'redis:7.2')],
    defaultVersion: '7.4',
    protocol: 'redis',
    port: 6379,
    persistence: 'optional',
    limits: replicated,
  },
  {
    dockerPreset: 'MONGODB',
    name: 'MongoDB',
    versions: [version('8.0', 'MongoDB 8.0', 'mongo:8.0'), version('7.0', 'MongoDB 7.0', 'mongo:7.0')],
    defaultVersion: '8.0',
    protocol: 'mongodb',
    port: 27017,
    persistence: 'optional',
    limits: single,
  },
  {
    dockerPreset: 'COUCHDB',
    name: 'CouchDB',
    versions: [version('3.4', 'CouchDB 3.4', 'couchdb:3.4'), version('3.3', 'CouchDB 3.3', 'couchdb:3.3')],
    defaultVersion: '3.4',
    protocol: 'http',
    port: 5984,
    persistence: 'required',
    limits: single,
  },
  {
    dockerPreset: 'RABBITMQ',
    name: 'RabbitMQ',
    versions: [
      version('4.0', 'RabbitMQ 4.0', 'rabbitmq:4.0-management'),
      version('3.13', 'RabbitMQ 3.13', 'rabbitmq:3.13-management'),
    ],
    defaultVersion: '4.0',
    protocol: 'amqp',
    port: 5672,
    persistence: 'optional',
    limits: single,
  },
  {
    dockerPreset: 'CLICKHOUSE',
    name: 'ClickHouse',
    versions: [
      version('25.3', 'ClickHouse 25.3', 'clickhouse/clickhouse-server:25.3'),
      version('24.8', 'ClickHouse 24.8', 'clickhouse/clickhouse-server:24.8'),
    ],
    defaultVersion: '25.3',
    protocol: 'clickhouse',
    port: 9000,
    persistence: 'optional',
    limits: single,
  },
]

export function databasePresetOf(name: string): DatabasePreset {
  const preset = databasePresets.find((known) => known.dockerPreset === name)
  if (!preset) throw new Error(`${name} is no database preset`)
  return preset
}

/** The version's image in the configured image source; the project's own one without a source. */
export function databaseImage(image: string, source: string | null): string {
  return source === null ? image : `${source}/${image}`
}

/** The table joined with what the engine offers; labels say what stands in for the image. */
export function presetsRead(offers: DatabaseOffers, source: string | null): DatabasePresetRead[] {
  return databasePresets.map((preset) => {
    const offer = offers.get(preset.dockerPreset) ?? { available: false, unavailableReason: notSeenYet }
    const { available, unavailableReason, standIn } = offer
    const label = (text: string) => (standIn ? `${text} (here: this machine's ${standIn})` : text)
    return {
      ...preset,
      versions: preset.versions.map((one) => ({
        ...one,
        label: label(one.label),
        image: databaseImage(one.image, source),
      })),
      limits: { ...preset.limits, maxReplicas: maxReplicas(preset, offer) },
      available,
      ...(available ? {} : { unavailableReason: unavailableReason ?? notSeenYet }),
    }
  })
}

export function maxReplicas(preset: DatabasePreset, offer: DatabaseOffer | undefined): number {
  return Math.min(preset.limits.maxReplicas, offer?.maxReplicas ?? preset.limits.maxReplicas)
}

const notSeenYet = 'The engine has not said yet whether it can run this. Ask again in a few seconds.'

function version(key: string, label: string, image: string, variant?: string): DatabaseVersion {
  return { key, label, image, ...(variant === undefined ? {} : { variant }) }
}
