import { existsSync, readFileSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { accountSettings } from '../contract/accounts.ts'
import { tokenHash } from '../domain/access/tokens.ts'
import { hostsOf, machineAddresses } from '../domain/environments/hosts.ts'
import type { ServerNames } from '../host-check.ts'
import type { EnvironmentReader, RemediationReader } from '../operations/core/call.ts'
import type { Installation, RemediationContexts } from '../operations/core/handler.ts'
import { describeEnvironment } from '../operations/diagnosis/describe-environment.ts'
import type { Reconciler } from '../regions/machine/reconciler.ts'
import { homeProblem } from '../store/data-directory.ts'
import type { InstanceFacts } from '../store/membership.ts'
import { storeProblem } from '../store/open.ts'
import { domainFacts } from './domains/facts.ts'
import { factsOf, instancesOf } from './instances/known.ts'
import type { GatewayKeeper } from './keep-gateway.ts'
import type { Platform } from './platform.ts'
import type { LeasedRegion } from './regions/leased.ts'

/** Values that are set during the start and used later. */
export interface Started {
  apiUrl: string
  gatewayPort: number
  /** Address of the gateway on this machine. */
  ingress: { host: string; port: number }
  reconciler: Reconciler | null
  /** The cluster regions that this control plane runs now. */
  clusters: readonly LeasedRegion[]
  gateway: GatewayKeeper | null
  /** The newest data key. */
  dataKey: string
  /** Null until there is a runner. */
  environments: (EnvironmentReader & RemediationReader & RemediationContexts) | null
}

export function notStarted({ host, gatewayPort }: Config): Started {
  return {
    apiUrl: '',
    gatewayPort,
    ingress: { host, port: gatewayPort },
    reconciler: null,
    clusters: [],
    gateway: null,
    dataKey: '',
    environments: null,
  }
}

/** Facts of the installation for operations. */
export function installationOf(platform: Platform, started: Started): Installation {
  const { regions, directory } = platform
  const problemOf = (region: string) => engineProblem(platform, started, region)
  const { adminToken: file } = platform.home
  const adminToken = existsSync(file) ? tokenHash(readFileSync(file, 'utf8').trim()) : null
  return {
    regions: () => directory.regions(problemOf, (region) => platform.databaseAvailability.current(region)),
    instances: () => instancesOf(platform.membership),
    apiUrl: () => started.apiUrl,
    publicUrl: () => publicUrlOf(platform.config, started),
    hosts: (environment, app, secrets) => {
      // While it moves, it answers in the region that serves.
      const place = environment.servedFrom ?? environment.region
      const own = regions.find(({ region }) => region === place)
      const foreign = directory.foreign(place)?.facts
      return hostsOf(environment, app, secrets, {
        isolates: own?.engine.capabilities.isolates ?? foreign?.isolates ?? false,
        addresses:
          own?.addresses ??
          foreign?.addresses ??
          machineAddresses(foreign?.gatewayPort ?? started.gatewayPort, own?.domains),
      })
    },
    engineProblem: (region) => (directory.foreign(region) ? directory.problem(region) : problemOf(region)),
    databaseAvailability: (name) => platform.databaseAvailability.current(name),
    databaseImageSource: platform.config.databaseImages ?? null,
    adminTokenHash: () => adminToken,
    defaultAccountSettings: accountSettings.parse({}),
    domains: domainFacts(platform),
    policy: platform.config.policy,
    clockScale: platform.config.clockScale,
  }
}

function engineProblem(
  { regions }: Pick<Platform, 'regions'>,
  { clusters, reconciler }: Started,
  region: string,
): string | null {
  const driver = clusters.find((one) => one.region === region)
  if (driver) return driver.problem
  // Another control plane runs it.
  const idle = regions.find((one) => one.region === region && one.cluster)
  return idle ? (idle.problem?.() ?? null) : (reconciler?.engineProblem(region) ?? null)
}

/** The problems of the regions of this machine, a sentence each. */
export function regionProblems({ regions }: Platform, started: Started): string[] {
  return regions.flatMap(({ region, missing }) => {
    const problem = engineProblem({ regions }, started, region)
    const reasons = problem === null ? (missing?.() ?? []).map(({ reason }) => reason) : [problem]
    return reasons.map((reason) => `Region ${region}: ${reason}`)
  })
}

/** Checks environments again, in whatever region; null: all of them. */
export function wakeEnvironments(
  { clusters, reconciler }: Started,
  appEnvIds: readonly string[] | null,
): void {
  reconciler?.wake(appEnvIds)
  for (const cluster of clusters) cluster.wake(appEnvIds)
}

/** The facts that this control plane publishes about itself now. */
export function publishedFacts(platform: Platform, started: Started): InstanceFacts {
  const problemOf = (region: string) => engineProblem(platform, started, region)
  return factsOf(platform, { ...started, problemOf })
}

/** A server bound to every address has no single address for links; uses that of this machine. */
function publicUrlOf(config: Config, { apiUrl }: Started): string {
  return config.publicUrl ?? apiUrl.replace(/^http:\/\/(?:0\.0\.0\.0|\[::\])(?=:|$)/, 'http://127.0.0.1')
}

/** The names in `Host`: the address that is bound, and the public one behind a proxy. */
export function namesOf({ host, publicUrl }: Config): ServerNames {
  return { host, installationName: publicUrl === undefined ? undefined : new URL(publicUrl).hostname }
}

export async function readinessOf(
  { db, home, membership, reserve }: Platform,
  { reconciler, gateway }: Started,
) {
  const problems = [
    reconciler ? reconciler.problem : 'The platform is still starting.',
    gateway && !gateway.link.isUp ? 'The gateway does not answer.' : null,
    reserve.problem ?? homeProblem(home.dir),
    await storeProblem(db, membership.isShared),
  ].filter((problem) => problem !== null)
  return { ready: problems.length === 0, problems }
}

/** Notifications need the API, which needs them: what they say of environments comes from the runner once it is there. */
export function notificationFacts(config: Config, started: Started) {
  return {
    publicUrl: () => publicUrlOf(config, started),
    describe: (appEnvId: string) => describeEnvironment(started.environments!, appEnvId),
    operations: () => started.environments!,
  }
}
