import type { Clock } from '../../clock.ts'
import type { ClusterSetting } from '../../config/file.ts'
import { buildWithBuildKit } from '../../engines/buildkit/build.ts'
import { buildProblem } from '../../engines/buildkit/check.ts'
import type { Engine } from '../../engines/engine.ts'
import type { Log } from '../../log.ts'
import { ClusterCache } from '../../regions/kubernetes/cache.ts'
import { ClusterClient } from '../../regions/kubernetes/client.ts'
import { ClusterDatabases } from '../../regions/kubernetes/databases/engine.ts'
import { ClusterEngine } from '../../regions/kubernetes/engine.ts'
import { ClusterJobs } from '../../regions/kubernetes/jobs/engine.ts'
import { namespaceOf } from '../../regions/kubernetes/manifests/workload.ts'
import { ClusterRegion } from '../../regions/kubernetes/region.ts'
import { registryProblem } from '../../regions/kubernetes/registry-images.ts'
import { ClusterVolumes } from '../../regions/kubernetes/volume-copies.ts'
import type { PlatformRegion } from './region.ts'

interface ClusterRegionOptions {
  installationId: string
  clock: Clock
  log: Log
}

/** A region of the configuration file with the engine `kubernetes`. Its module is loaded only for such a region. */
export async function openClusterRegion(
  setting: ClusterSetting,
  { installationId, clock, log }: ClusterRegionOptions,
): Promise<PlatformRegion> {
  const { name: region, appDomain, publicPort, namespacePrefix, podSecurity } = setting
  const client = new ClusterClient(setting)
  const newCache = () =>
    new ClusterCache({ clock, installationId, namespacePrefix, server: () => client.config })
  // Holds the state of one term in which this control plane runs the region; each term gets a new one.
  let cache = newCache()
  const jobs = new ClusterJobs({
    ...{ cluster: client, clock, podSecurity, installationId },
    cache: { jobs: () => cache.jobs() },
    namespaceOf: (accountId) => namespaceOf(setting, accountId),
    // Only apps have volumes: jobs cannot use them (checkVolume).
    claimOf: (_appEnvId, volume) => volume,
  })
  const databases = new ClusterDatabases({
    ...{ client, installationId, podSecurity },
    imageProblem: (image) => registryProblem(setting.registry, image),
  })
  const engine = new ClusterEngine({
    ...{ client, jobs, databases },
    volumes: new ClusterVolumes({ client, clock, installationId, options: setting }),
    log: log.child({ region }),
    build: builderOf(setting, clock),
    wants: { ...setting, buildProblem: () => buildProblemOf(setting) },
  })
  await engine.open()
  return {
    ...{ region, name: `${region} (kubernetes)`, engine },
    addresses: {
      appDomain,
      get functionDomain() {
        return engine.functionDomain
      },
      namespacePrefix,
      port: publicPort,
    },
    missing: () => engine.missing,
    problem: () => engine.problem?.message ?? null,
    check: () => engine.check(),
    cluster: (deps) => {
      cache = newCache()
      return new ClusterRegion({ ...deps, region, options: setting, installationId, client, cache, engine })
    },
  }
}

async function buildProblemOf({ buildkit, registry }: ClusterSetting): Promise<string | null> {
  if (!buildkit && !registry) return null
  if (!buildkit || !registry) return 'Builds need both buildkit and registry of the region.'
  return buildProblem(buildkit, { ...registry, credentialsFile: registry.credentialsFile ?? null })
}

function builderOf({ buildkit: address, registry }: ClusterSetting, clock: Clock): Engine['build'] | null {
  if (!address || !registry) return null
  const options = { ...registry, credentialsFile: registry.credentialsFile ?? null }
  return (spec, onLog, signal) =>
    buildWithBuildKit({ address, registry: options, clock }, spec, onLog, signal)
}
