import type { LogQuery } from '../../domain/environments/log-query.ts'
import { AppError } from '../../errors.ts'
import type { TrafficCounts, TrafficQuery } from '../../metrics/source.ts'
import type { UploadReceiver } from '../../operations/core/call.ts'
import type { Sources } from '../../operations/core/handler.ts'
import type { KnownInstance, Membership } from '../../store/membership.ts'
import type { EnvironmentRegions } from '../../store/repositories/environments-in-regions.ts'
import type { RegionDirectory } from '../regions/directory.ts'
import type { PeerMethods, Peers } from './peers.ts'

type SeriesQuery = Parameters<Sources['metrics']['series']>[0]
type ProbeOrder = Parameters<Sources['prober']['probe']>[0]

const mostKept = 10_000
/** A page asks for the machine of each environment several times. */
const keptMs = 2_000

/** Finds the machine of an environment, which changes only when it moves to or from a cluster region. */
export class EnvironmentMachines {
  readonly #directory: RegionDirectory
  readonly #membership: Pick<Membership, 'regionsOf'>
  readonly #regions = new Map<string, EnvironmentRegions & { untilMs: number }>()

  constructor(directory: RegionDirectory, membership: Pick<Membership, 'regionsOf'>) {
    this.#directory = directory
    this.#membership = membership
  }

  /**
   * The instance of another machine; null for this one, and for an environment that does not exist. While it moves, its
   * builds are in its region, and its measurements where it serves.
   */
  async elsewhere(appEnvId: string, where: keyof EnvironmentRegions): Promise<KnownInstance | null> {
    const regions = await this.#regionsOf(appEnvId)
    return regions && this.#directory.elsewhere(regions[where])
  }

  async #regionsOf(appEnvId: string): Promise<EnvironmentRegions | null> {
    const known = this.#regions.get(appEnvId)
    if (known && performance.now() < known.untilMs) return known
    const regions = await this.#membership.regionsOf(appEnvId)
    if (this.#regions.size >= mostKept) this.#regions.clear()
    if (regions) this.#regions.set(appEnvId, { ...regions, untilMs: performance.now() + keptMs })
    return regions
  }
}

/** Logs, metrics and probes of every environment: from this machine, or from the one that runs it. */
export function everywhere(local: Sources, machines: EnvironmentMachines, peers: Peers): Sources {
  const from = async <T>(
    instance: Promise<KnownInstance | null>,
    method: string,
    input: unknown,
    here: () => Promise<T>,
  ) => {
    const peer = await instance
    return peer ? peers.call<T>(peer, method, input) : here()
  }
  const serving = (appEnvId: string) => machines.elsewhere(appEnvId, 'serving')
  return {
    logs: {
      read: (appEnvId, query, onBehalfOf) =>
        from(machines.elsewhere(appEnvId, 'region'), 'logs', { appEnvId, query, onBehalfOf }, () =>
          local.logs.read(appEnvId, query, onBehalfOf),
        ),
    },
    metrics: {
      periodMs: local.metrics.periodMs,
      series: (query) => from(serving(query.appEnvId), 'series', query, () => local.metrics.series(query)),
      traffic: (queries) => trafficOf(queries, local, machines, peers),
    },
    prober: {
      probe: (order) => from(serving(order.appEnvId), 'probe', order, () => local.prober.probe(order)),
    },
  }
}

/** One call for each machine, however many environments it runs. */
async function trafficOf(
  queries: readonly TrafficQuery[],
  local: Sources,
  machines: EnvironmentMachines,
  peers: Peers,
): Promise<TrafficCounts[]> {
  const groups = new Map<string, { instance: KnownInstance | null; own: TrafficQuery[] }>()
  for (const query of queries) {
    const instance = await machines.elsewhere(query.appEnvId, 'serving')
    const key = instance?.node ?? ''
    groups.set(key, { instance, own: [...(groups.get(key)?.own ?? []), query] })
  }
  const found = new Map<TrafficQuery, TrafficCounts>()
  const read = async (instance: KnownInstance | null, own: TrafficQuery[]) => {
    const counts = await (instance
      ? peers.call<TrafficCounts[]>(instance, 'traffic', own)
      : local.metrics.traffic(own)
    ).catch((error) => {
      if (error instanceof AppError) return []
      throw error
    })
    for (const [index, query] of own.entries()) if (counts[index]) found.set(query, counts[index])
  }
  await Promise.all([...groups.values()].map(({ instance, own }) => read(instance, own)))
  return queries.map((query) => found.get(query) ?? { requests: 0, failed: 0, unanswered: 0 })
}

/** The methods that this machine offers to the others. */
export function peerMethods({ logs, metrics, prober }: Sources): PeerMethods {
  return {
    logs: (input: { appEnvId: string; query: LogQuery; onBehalfOf?: string }) =>
      logs.read(input.appEnvId, input.query, input.onBehalfOf),
    series: (query: SeriesQuery) => metrics.series(query),
    traffic: (queries: TrafficQuery[]) => metrics.traffic(queries),
    probe: (order: ProbeOrder) => prober.probe(order),
  }
}

export function uploadsElsewhere(
  machines: EnvironmentMachines,
  peers: Peers,
): (appEnvId: string) => Promise<UploadReceiver | null> {
  return async (appEnvId) => {
    const instance = await machines.elsewhere(appEnvId, 'region')
    return instance && peers.uploads(instance)
  }
}
