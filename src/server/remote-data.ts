import type { LogQuery } from '../domain/environments/log-query.ts'
import type { UploadReceiver } from '../operations/core/call.ts'
import type { Sources } from '../operations/core/handler.ts'
import type { KnownInstance, Membership } from '../store/membership.ts'
import type { PeerMethods, Peers } from './peers.ts'
import type { RegionDirectory } from './region-directory.ts'

type SeriesQuery = Parameters<Sources['metrics']['series']>[0]
type ProbeOrder = Parameters<Sources['prober']['probe']>[0]

const mostKept = 10_000

/** Finds the machine of an environment. It never changes, so it is read once. */
export class EnvironmentMachines {
  readonly #directory: RegionDirectory
  readonly #membership: Pick<Membership, 'regionOf'>
  readonly #regions = new Map<string, string>()

  constructor(directory: RegionDirectory, membership: Pick<Membership, 'regionOf'>) {
    this.#directory = directory
    this.#membership = membership
  }

  /** The instance of another machine; null for this one, and for an environment that does not exist. */
  async elsewhere(appEnvId: string): Promise<KnownInstance | null> {
    const region = this.#regions.get(appEnvId) ?? (await this.#membership.regionOf(appEnvId))
    if (region === null) return null
    if (this.#regions.size >= mostKept) this.#regions.clear()
    this.#regions.set(appEnvId, region)
    return this.#directory.foreign(region)?.instance ?? null
  }
}

/** Logs, metrics and probes of every environment: from this machine, or from the one that runs it. */
export function everywhere(local: Sources, machines: EnvironmentMachines, peers: Peers): Sources {
  const from = async <T>(appEnvId: string, method: string, input: unknown, here: () => Promise<T>) => {
    const instance = await machines.elsewhere(appEnvId)
    return instance ? peers.call<T>(instance, method, input) : here()
  }
  return {
    logs: {
      read: (appEnvId, query) =>
        from(appEnvId, 'logs', { appEnvId, query }, () => local.logs.read(appEnvId, query)),
    },
    metrics: {
      periodMs: local.metrics.periodMs,
      series: (query) => from(query.appEnvId, 'series', query, () => local.metrics.series(query)),
    },
    prober: {
      probe: (order) => from(order.appEnvId, 'probe', order, () => local.prober.probe(order)),
    },
  }
}

/** What this machine answers to the others. */
export function peerMethods({ logs, metrics, prober }: Sources): PeerMethods {
  return {
    logs: ({ appEnvId, query }: { appEnvId: string; query: LogQuery }) => logs.read(appEnvId, query),
    series: (query: SeriesQuery) => metrics.series(query),
    probe: (order: ProbeOrder) => prober.probe(order),
  }
}

export function uploadsElsewhere(
  machines: EnvironmentMachines,
  peers: Peers,
): (appEnvId: string) => Promise<UploadReceiver | null> {
  return async (appEnvId) => {
    const instance = await machines.elsewhere(appEnvId)
    return instance && peers.uploads(instance)
  }
}
