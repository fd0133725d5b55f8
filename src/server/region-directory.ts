import type { Region } from '../contract/regions.ts'
import type { DatabaseAvailabilities } from '../domain/databases/presets.ts'
import { AppError } from '../errors.ts'
import type { KnownInstance, Membership, PublishedRegion } from '../store/membership.ts'
import type { PlatformRegion } from './regions.ts'

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

  /** In the order of the settings, or of the names where several machines share the installation. */
  regions(problemOf: (region: string) => string | null): Region[] {
    const own = this.#own.map((region) => regionOf(region))
    if (!this.#membership.isShared) return own
    const here = own.map((region) => this.#described(region, this.#node, problemOf(region.region)))
    const others = this.#foreign().map(({ facts, instance }) =>
      this.#described(plain(facts), instance.node, this.problem(facts.region)),
    )
    return [...here, ...others].sort((a, b) => (a.region < b.region ? -1 : 1))
  }

  /** What is known of a region of another machine; null for one of this machine, or of none. */
  foreign(region: string): ForeignRegion | null {
    if (this.#own.some((one) => one.region === region)) return null
    return this.#foreign().find(({ facts }) => facts.region === region) ?? null
  }

  /** Why a region of another machine does not work; null if it does. */
  problem(region: string): string | null {
    const found = this.foreign(region)
    if (!found) return null
    return found.instance.isAlive ? found.facts.problem : awayText(found.instance.node)
  }

  databases(): ReadonlyMap<string, DatabaseAvailabilities> {
    return new Map(this.#foreign().map(({ facts }) => [facts.region, new Map(facts.databases)]))
  }

  /** The regions whose machines are away. */
  away(): string[] {
    return this.#foreign()
      .filter(({ instance }) => !instance.isAlive)
      .map(({ facts }) => facts.region)
  }

  #foreign(): ForeignRegion[] {
    if (!this.#membership.isShared) return []
    return this.#membership
      .instances()
      .filter(({ node }) => node !== this.#node)
      .flatMap((instance) => instance.regions.map((facts) => ({ facts, instance })))
  }

  #described(region: Region, node: string, problem: string | null): Region {
    const name = `${region.engine} on ${node}`
    const state = problem === null ? { available: true } : { available: false, unavailableReason: problem }
    return { ...region, name, node, ...state }
  }
}

export function regionOf({ region, name, engine }: PlatformRegion): Region {
  return {
    region,
    name,
    functionDomain: engine.capabilities.scalesFunctions ? 'fn.localhost' : null,
    engine: engine.kind,
    isolation: engine.isolation?.() ?? { metadataBlocked: false },
  }
}

function plain({ region, name, functionDomain, engine, isolation }: PublishedRegion): Region {
  return { region, name, functionDomain, engine, isolation }
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
