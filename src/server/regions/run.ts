import type { Sources } from '../../operations/core/handler.ts'
import { Reconciler } from '../../regions/machine/reconciler.ts'
import { Worker } from '../../worker.ts'
import type { Started } from '../installation.ts'
import type { SharedWork } from '../instances/shared-work.ts'
import type { GatewayKeeper } from '../keep-gateway.ts'
import type { Platform } from '../platform.ts'
import type { Measuring } from '../telemetry/measurements.ts'
import { clusterLease } from './directory.ts'
import { LeasedRegion } from './leased.ts'

/** How often a control plane looks at a cluster that another one runs. */
const checkEveryMs = 30_000

/** Runs the regions of this machine's engines. */
export function reconcilerOf(platform: Platform, measuring: Measuring, gateway: GatewayKeeper): Reconciler {
  const { membership, nodeName: node, regions } = platform
  const own = regions.filter(({ cluster }) => !cluster)
  const scope = { regions: own.map(({ region }) => region), ...(membership.isShared ? { node } : {}) }
  return new Reconciler({
    ...platform,
    db: membership.machineDb,
    ...(membership.isShared || own.length < regions.length ? { scope } : {}),
    metrics: measuring,
    routes: gateway.link,
    clockScale: platform.config.clockScale,
    keptVersions: platform.config.keptVersions,
    copyLimits: platform.config.copyLimits,
    domainsOf: (region) => own.find((one) => one.region === region)?.domains ?? platform.config.domains,
    engines: new Map(own.map(({ region, engine }) => [region, engine])),
  })
}

/**
 * Runs the cluster regions, each under a lease, because any control plane that has it in its settings can run it. Returns
 * the work that continues while another one runs them.
 */
export function runClusters(platform: Platform, started: Started, evaluatorOf: SharedWork['evaluatorOf']) {
  const { membership, regions, clock, log } = platform
  return regions.flatMap(({ region, cluster, check }) => {
    if (!cluster || !check) return []
    const isHere = () => started.clusters.some((one) => one.region === region)
    membership.lease(
      clusterLease(region),
      (db) => {
        const work = new LeasedRegion(platform, { region, cluster }, { db, evaluatorOf })
        started.clusters = [...started.clusters, work]
        return {
          async stop() {
            started.clusters = started.clusters.filter((one) => one !== work)
            await work.stop()
          },
        }
      },
      region,
    )
    const worker = new Worker({
      ...{ clock, everyMs: checkEveryMs, pass: () => (isHere() ? undefined : check()) },
      failed: (error) => log.warn({ err: error, region }, 'a cluster could not be checked; retrying'),
    })
    worker.start()
    return [worker]
  })
}

/** The logs of the environments that run here: those of a cluster region have a place of their own if the store is shared. */
export function logsHere({ logs, membership }: Platform, started: Started): Sources['logs'] {
  return {
    async read(appEnvId, query, onBehalfOf) {
      const isPlain = started.clusters.length === 0 || !membership.isShared
      const region = isPlain ? null : (await membership.regionsOf(appEnvId))?.region
      const own = started.clusters.find((one) => one.region === region)
      return (own?.logs ?? logs).read(appEnvId, query, onBehalfOf)
    },
  }
}
