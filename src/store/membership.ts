import type { DatabasePresetName } from '../contract/fields.ts'
import type { Region } from '../contract/regions.ts'
import type { DatabaseAvailability } from '../domain/databases/presets.ts'
import type { RegionAddresses } from '../domain/environments/hosts.ts'
import type { Db } from './db.ts'
import { type EnvironmentRegions, regionsOfEnvironment } from './repositories/environments-in-regions.ts'

/** A region of this machine as the other control planes see it. */
export interface PublishedRegion extends Region {
  /** Its engine has networks with internal names. */
  isolates: boolean
  gatewayPort: number
  /** Only for a cluster region; absent: the machine's gateway serves its environments. */
  addresses?: RegionAddresses
  databases: (readonly [DatabasePresetName, DatabaseAvailability])[]
  /** Why its engine does not answer; null when it does. */
  problem: string | null
}

/** The facts that a control plane publishes about itself. */
export interface InstanceFacts {
  version: string
  /** Name of the host, as the operating system reports it. */
  host: string
  /** Where the other control planes reach its API, without a trailing slash; empty before it serves. */
  address: string
  /** The data key that it encrypts with. */
  dataKey: string
  regions: PublishedRegion[]
}

/** A control plane that shares the store, as last read. */
export interface KnownInstance extends InstanceFacts {
  node: string
  /** It renewed its row within the last seconds. */
  isAlive: boolean
  startedAtMs: number
  lastSeenAtMs: number
  leases: { name: string; sinceMs: number }[]
}

/** Shared work while this instance has the lease. Its database refuses once another instance has taken over. */
export interface LeasedWork {
  wake?(): void
  stop(): unknown
}

/** Calls that an instance let through: the limit, the key and their number. */
export type Spent = readonly (readonly [limit: string, key: string, calls: number])[]

/** Callbacks for changes, on the instance that acts on them. */
export interface Wakes {
  /** Null: announcements may have been lost, so look at everything. */
  environments(appEnvIds: readonly string[] | null): void
  /** Another instance let these calls through. */
  spent?(spent: Spent): void
}

/** The place of this control plane among those that share the store. */
export interface Membership {
  readonly isShared: boolean
  /** For the work on this machine; refuses once another instance has taken the machine's name over. */
  readonly machineDb: Db
  /** Every machine that has joined, this one too, in order of their names. */
  instances(): readonly KnownInstance[]
  /** Sets the source of the published facts. */
  describe(facts: () => InstanceFacts): void
  /**
   * Work that one instance does at a time: begins when this one gets the lease, and stops when it loses it. `region`: only
   * instances that publish it take part.
   */
  lease(name: string, begin: (db: Db) => LeasedWork, region?: string): void
  /** Publishes this instance, begins to take leases, and calls `wakes` for the changes of other instances. */
  start(wakes: Wakes): Promise<void>
  /** The region of an environment; null if there is none. Answers while the pool is busy. */
  regionsOf(appEnvId: string): Promise<EnvironmentRegions | null>
  /** Announces changed environments to the other instances. */
  announce(appEnvIds: readonly string[]): void
  /** Reports calls that this instance let through. */
  announceSpent(spent: Spent): void
  /** Wakes the holder of a lease. */
  wakeLease(name: string): void
  /** Gives all leases back, so that others can take them immediately. */
  close(): Promise<void>
}

/** Without a shared store: this instance does everything. */
export function soleMembership(db: Db, node: string, wallMs: () => number): Membership {
  const startedAtMs = wallMs()
  const works = new Map<string, LeasedWork>()
  const beginnings = new Map<string, (db: Db) => LeasedWork>()
  let facts: (() => InstanceFacts) | null = null
  return {
    isShared: false,
    machineDb: db,
    instances() {
      if (!facts) return []
      const leases = [{ name: 'control-plane', sinceMs: startedAtMs }]
      return [{ ...facts(), node, isAlive: true, startedAtMs, lastSeenAtMs: wallMs(), leases }]
    },
    describe(given) {
      facts = given
    },
    lease: (name, begin) => void beginnings.set(name, begin),
    async start() {
      for (const [name, begin] of beginnings) works.set(name, begin(db))
    },
    regionsOf: (appEnvId) => db.read((tx) => regionsOfEnvironment(tx, appEnvId)),
    announce() {},
    announceSpent() {},
    wakeLease: (name) => works.get(name)?.wake?.(),
    async close() {
      await Promise.all([...works.values()].map((work) => work.stop()))
    },
  }
}
