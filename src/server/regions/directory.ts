import type { Region, RegionCapabilities } from '../../contract/regions.ts'
import type { DatabaseAvailabilities } from '../../domain/databases/presets.ts'
import { machineAddresses } from '../../domain/environments/hosts.ts'
import { AppError } from '../../errors.ts'
import type { KnownInstance, Membership, PublishedRegion } from '../../store/membership.ts'
import type { PlatformRegion } from './region.ts'

/** A region of another machine, and the instance that runs it. */
interface ForeignRegion {
  facts: PublishedRegion
  instance: KnownInstance
}

/** Which region runs where: those of this machine, and those that other machines published. */
export class RegionDirectory {
  readonly #own: readonly PlatformRegion[]
  readonly #node: string
  readonly #membership: Pick<Membership, 'isShared' | 'instances'>

  constructor(
    own: readonly PlatformRegion[],
    node: string,
    membership: Pick<Membership, 'isShared' | 'instances'>,
  ) {
    this.#own = own
    this.#node = node
    this.#membership = membership
  }

  /**
   * In the order of the settings, or of the names where several machines share the installation. `problemOf`: why the
   * engine of a region of this machine does not work; null if it does.
   */
  regions(
    problemOf: (region: string) => string | null,
    databasesOf: (region: string) => DatabaseAvailabilities,
  ): Region[] {
    const own = this.#own.map((one) => regionOf(one, problemOf(one.region), databasesOf(one.region)))
    if (!this.#membership.isShared) return own
    const others = this.#others().map(({ facts, instance }) =>
      onMachine(withState(plain(facts), this.problem(facts.region)), instance.node),
    )
    return [...own.map((region) => onMachine(region, this.#node)), ...others].sort((a, b) =>
      a.region < b.region ? -1 : 1,
    )
  }

  /** The known facts of a region of another machine; null for a region of this machine, or an unknown one. */
  foreign(region: string): ForeignRegion | null {
    if (this.#own.some((one) => one.region === region)) return null
    const found = this.#foreign().filter(({ facts }) => facts.region === region)
    const isHolder = ({ instance }: ForeignRegion) => instance === this.#holder(region)
    return found.find(isHolder) ?? found.find(({ instance }) => instance.isAlive) ?? found[0] ?? null
  }

  /** The other instance that runs a region and has its logs and builds; null if this one or no instance runs it. */
  elsewhere(region: string): KnownInstance | null {
    if (!this.#own.some((one) => one.region === region && one.cluster))
      return this.foreign(region)?.instance ?? null
    const holder = this.#holder(region)
    return holder && holder.node !== this.#node ? holder : null
  }

  /** Why a region of another machine does not work; null if it does. */
  problem(region: string): string | null {
    const found = this.foreign(region)
    if (!found) return null
    return found.instance.isAlive ? found.facts.problem : awayText(found.instance.node)
  }

  databases(): ReadonlyMap<string, DatabaseAvailabilities> {
    return new Map(this.#others().map(({ facts }) => [facts.region, new Map(facts.databases)]))
  }

  /** The regions whose machines are unreachable. */
  away(): string[] {
    return this.#others()
      .filter(({ instance }) => !instance.isAlive)
      .map(({ facts }) => facts.region)
  }

  /** Each region of other machines once: several may be able to run a cluster region. */
  #others(): ForeignRegion[] {
    const names = new Set(this.#foreign().map(({ facts }) => facts.region))
    return [...names].flatMap((region) => this.foreign(region) ?? [])
  }

  #holder(region: string): KnownInstance | undefined {
    return this.#membership
      .instances()
      .find(({ isAlive, leases }) => isAlive && leases.some(({ name }) => name === clusterLease(region)))
  }

  #foreign(): ForeignRegion[] {
    if (!this.#membership.isShared) return []
    return this.#membership
      .instances()
      .filter(({ node }) => node !== this.#node)
      .flatMap((instance) => instance.regions.map((facts) => ({ facts, instance })))
  }
}

export function regionOf(
  { region, name, engine, addresses, domains, ...given }: PlatformRegion,
  problem: string | null,
  databases: DatabaseAvailabilities,
): Region {
  const { builds } = engine.capabilities
  const { functionDomain } = addresses ?? machineAddresses(0, domains)
  const scalesFunctions = engine.capabilities.scalesFunctions && functionDomain !== null
  const missing = [...(given.missing?.() ?? [])]
  const lacking = Object.fromEntries(
    missing.flatMap(({ capability }) => (capability === 'metrics' ? [] : [[capability, false]])),
  )
  const runnable = [...databases].flatMap(([preset, { available }]) => (available ? [preset] : []))
  return withState(
    {
      region,
      name,
      functionDomain: scalesFunctions ? functionDomain : null,
      engine: engine.kind,
      isolation: engine.isolation?.() ?? { metadataBlocked: false },
      capabilities: {
        ...{ ...machineCapabilities, functions: scalesFunctions, builds, databases: runnable },
        ...lacking,
      },
      ...(missing.length > 0 ? { missing } : {}),
    },
    problem,
  )
}

/** Capabilities that the controllers provide on any engine. */
const machineCapabilities = { apps: true, jobs: true, autoscaling: true, volumes: true }
const noCapabilities: RegionCapabilities = {
  ...{ functions: false, apps: false, jobs: false, builds: false, autoscaling: false, volumes: false },
  databases: [],
}

/** A control plane of an older version publishes no capabilities. */
function plain({ region, name, functionDomain, engine, isolation, missing, ...facts }: PublishedRegion) {
  const capabilities = (facts as { capabilities?: RegionCapabilities }).capabilities ?? noCapabilities
  return { region, name, functionDomain, engine, isolation, capabilities, ...(missing ? { missing } : {}) }
}

function withState(region: Omit<Region, 'available'>, problem: string | null): Region {
  return {
    ...region,
    available: problem === null,
    ...(problem === null ? {} : { unavailableReason: problem }),
  }
}

function onMachine(region: Region, node: string): Region {
  // A cluster belongs to no machine.
  if (region.engine === 'kubernetes') return { ...region, name: `${region.region} (kubernetes)` }
  return { ...region, name: `${region.engine} on ${node}`, node }
}

/** The lease under which one control plane runs a cluster region. */
export function clusterLease(region: string): string {
  return `region ${region}`
}

function awayText(node: string): string {
  return `The machine ${node} is away`
}

export function machineAway(node: string, cause?: unknown): AppError {
  return new AppError('unavailable', awayText(node), {
    details:
      'It runs this environment, and has its logs, metrics and uploads. Settings can be read and changed meanwhile; they take effect when the machine is back.',
    retryAfterSeconds: 5,
    cause,
  })
}
