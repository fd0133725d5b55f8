import type { Engine, EngineContainer } from '../../engines/engine.ts'
import { AppError } from '../../errors.ts'

interface ListedContainers {
  containers: EngineContainer[]
  /** False for a region whose engine did not answer: the state of its containers is unknown. */
  isListed(region: string): boolean
  /** Why one of the engines could not be queried; null when all answered. */
  problem: unknown
}

/** The engines of all regions; several regions may share one. */
export class RegionEngines {
  readonly #byRegion: ReadonlyMap<string, Engine>

  constructor(byRegion: ReadonlyMap<string, Engine>) {
    this.#byRegion = byRegion
  }

  get all(): Engine[] {
    return [...new Set(this.#byRegion.values())]
  }

  of(region: string): Engine {
    const engine = this.#byRegion.get(region)
    if (engine) return engine
    throw new AppError('unavailable', `No engine serves the region ${region}`, {
      details: 'Start Longshore with the engine that this environment was made for.',
    })
  }

  /** A region with an unavailable engine must not delay the others. */
  async list(): Promise<ListedContainers> {
    const engines = this.all
    const lists = await Promise.allSettled(engines.map((engine) => engine.list()))
    const failed = lists.find((list) => list.status === 'rejected')
    const listed = new Set(engines.filter((_engine, index) => lists[index]?.status === 'fulfilled'))
    return {
      containers: lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : [])),
      isListed: (region) => {
        const engine = this.#byRegion.get(region)
        return engine !== undefined && listed.has(engine)
      },
      problem: failed?.reason ?? null,
    }
  }

  /** Removes everything of an environment; `ends` is called for each container before. */
  async purge(appEnvId: string, ends: (container: EngineContainer) => Promise<void>): Promise<void> {
    for (const engine of this.all) {
      for (const container of await engine.list()) {
        if (container.appEnvId !== appEnvId) continue
        await ends(container)
        await engine.remove(container.name)
      }
      await engine.purge(appEnvId)
    }
  }

  /** Removes a container wherever it is. */
  async remove(containerName: string): Promise<void> {
    for (const engine of this.all) await engine.remove(containerName)
  }
}

/** The containers of each environment. */
export function groupByEnvironment(containers: readonly EngineContainer[]): Map<string, EngineContainer[]> {
  const groups = new Map<string, EngineContainer[]>()
  for (const container of containers)
    groups.set(container.appEnvId, [...(groups.get(container.appEnvId) ?? []), container])
  return groups
}
