import type { ClusterRegion } from '../regions/kubernetes/region.ts'
import { Reconciler } from '../regions/machine/reconciler.ts'
import type { GatewayKeeper } from './keep-gateway.ts'
import type { Measuring } from './measurements.ts'
import type { Platform } from './platform.ts'

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
    engines: new Map(own.map(({ region, engine }) => [region, engine])),
  })
}

/** Runs the cluster regions. */
export async function startClusters(platform: Platform): Promise<ClusterRegion[]> {
  const { config, membership, regions } = platform
  const work = { ...platform, db: membership.machineDb, clockScale: config.clockScale }
  const clusters = regions.flatMap(({ cluster }) => (cluster ? [cluster(work)] : []))
  await Promise.all(clusters.map((one) => one.start()))
  return clusters
}
