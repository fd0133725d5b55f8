import type { DatabasePresetRead, DatabaseVersion } from '../../contract/databases.ts'
import type { DatabasePresetName } from '../../contract/fields.ts'

/** A version in the table, before its availability on an engine is known. */
type PresetVersion = Omit<DatabaseVersion, 'available' | 'unavailableReason'>

/** A preset in the table, before its availability on an engine is known. */
export type DatabasePreset = Omit<DatabasePresetRead, 'available' | 'unavailableReason' | 'versions'> & {
  versions: readonly PresetVersion[]
}

/** The last known availability of one preset in a region. */
export interface DatabaseAvailability {
  available: boolean
  /** The reason and the remedy; set if it is not available. */
  unavailableReason?: string
  /**
   * The preset's versions plus those that only this engine has; if absent, the preset's, all as available as the
   * preset.
   */
  versions?: readonly DatabaseVersion[]
  /** Lower than the preset's own limit if the engine cannot replicate. */
  maxReplicas?: number
}

export type DatabaseAvailabilities = ReadonlyMap<DatabasePresetName, DatabaseAvailability>

const disk = { minDisk: 1_024, maxDisk: 1_048_576, defaultDisk: 5_120 } as const
/** Further containers would need a cluster, which this version does not set up. */
const single = { maxReplicas: 1, ...disk } as const
/** One container accepts writes, the others follow it and serve reads. */
const replicated = { maxReplicas: 3, ...disk } as const

/** The managed databases; images are the official ones of each project (docs/interface.md#database-presets). */
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
  if (!preset) throw new Error(`${name} is not a database preset`)
  return preset
}

/** The preset with its images in the configured image source; unchanged without one. */
export function presetFrom(source: string | null, preset: DatabasePreset): DatabasePreset {
  if (source === null) return preset
  return {
    ...preset,
    versions: preset.versions.map((one) => ({ ...one, image: `${source}/${one.image}` })),
  }
}

/** The table with the availability on the engine. */
export function presetsRead(
  availabilities: DatabaseAvailabilities,
  source: string | null,
): DatabasePresetRead[] {
  return databasePresets.map((plain) => {
    const preset = presetFrom(source, plain)
    const availability = availabilities.get(preset.dockerPreset) ?? {
      available: false,
      unavailableReason: notKnownYet,
    }
    const { available, unavailableReason } = availability
    return {
      ...preset,
      versions: offeredVersions(preset, availability),
      defaultVersion: defaultVersion(preset, availability),
      limits: { ...preset.limits, maxReplicas: maxReplicas(preset, availability) },
      available,
      ...(available ? {} : { unavailableReason: unavailableReason ?? notKnownYet }),
    }
  })
}

/** Every version of a preset with its availability; without information all count as available. */
export function offeredVersions(
  preset: DatabasePreset,
  availability: DatabaseAvailability | undefined,
): DatabaseVersion[] {
  const { available = true, unavailableReason, versions } = availability ?? {}
  const reason = available || unavailableReason === undefined ? {} : { unavailableReason }
  return [...(versions ?? preset.versions.map((one) => ({ ...one, available, ...reason })))]
}

/** The preset's default if it can run, otherwise the first version that can. */
export function defaultVersion(
  preset: DatabasePreset,
  availability: DatabaseAvailability | undefined,
): string {
  const able = offeredVersions(preset, availability).filter((version) => version.available)
  const best = able.find(({ key }) => key === preset.defaultVersion) ?? able[0]
  return best?.key ?? preset.defaultVersion
}

/** The available versions of all presets, such as `PostgreSQL 15, Redis 7.0`. */
export function runnable(availabilities: DatabaseAvailabilities): string {
  const labels = databasePresets.flatMap((preset) => {
    const availability = availabilities.get(preset.dockerPreset)
    return availability ? offeredVersions(preset, availability).filter(({ available }) => available) : []
  })
  return labels.map(({ label }) => label).join(', ') || 'none'
}

/** The combined availability of two regions: a version is available if one of them can run it. */
export function bestAvailability(
  one: DatabaseAvailability,
  other: DatabaseAvailability,
  preset: DatabasePreset,
): DatabaseAvailability {
  const [first, second] = other.available && !one.available ? [other, one] : [one, other]
  const versions = new Map(offeredVersions(preset, first).map((version) => [version.key, version]))
  for (const version of offeredVersions(preset, second)) {
    if (!versions.get(version.key)?.available) versions.set(version.key, version)
  }
  const most = Math.max(maxReplicas(preset, first), second.available ? maxReplicas(preset, second) : 0)
  return { ...first, versions: [...versions.values()], maxReplicas: most }
}

export function maxReplicas(preset: DatabasePreset, availability: DatabaseAvailability | undefined): number {
  return Math.min(preset.limits.maxReplicas, availability?.maxReplicas ?? preset.limits.maxReplicas)
}

const notKnownYet = 'It is not known yet whether the engine can run this. Try again in a few seconds.'

function version(key: string, label: string, image: string, variant?: string): PresetVersion {
  return { key, label, image, ...(variant === undefined ? {} : { variant }) }
}
