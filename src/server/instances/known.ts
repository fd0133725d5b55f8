import os from 'node:os'
import { type Clock, timestamp } from '../../clock.ts'
import type { Instance } from '../../contract/instances.ts'
import { databasePresets } from '../../domain/databases/presets.ts'
import { machineAddresses } from '../../domain/environments/hosts.ts'
import { serverVersion } from '../../mcp/transport/server-info.ts'
import type { InstanceFacts, Membership } from '../../store/membership.ts'
import type { Platform } from '../platform.ts'
import { regionOf } from '../regions/directory.ts'

/** The control planes of the installation, each with its leases. */
export function instancesOf(membership: Membership): Instance[] {
  return membership.instances().map(({ node, version, startedAtMs, lastSeenAtMs, leases, regions }) => ({
    node,
    version,
    startedAt: timestamp(startedAtMs),
    lastSeenAt: timestamp(lastSeenAtMs),
    leases: leases.map(({ name, sinceMs }) => ({ name, since: timestamp(sinceMs) })),
    regions: regions.map(({ region }) => region),
  }))
}

/** For `/readyz`: the instances, whether each is alive, its work, and when it was last seen. */
export function sharingOf(membership: Membership, { wallMs }: Clock) {
  return {
    instances: membership.instances().map(({ node, isAlive, lastSeenAtMs, leases }) => ({
      node,
      isAlive,
      lagMs: Math.max(0, wallMs() - lastSeenAtMs),
      leases: leases.map(({ name }) => name),
    })),
  }
}

/** The facts that this control plane publishes for the others. */
export function factsOf(
  { config, regions, databaseAvailability }: Platform,
  now: { apiUrl: string; gatewayPort: number; dataKey: string; problemOf: (region: string) => string | null },
): InstanceFacts {
  return {
    version: serverVersion,
    host: os.hostname(),
    address: now.apiUrl.replace(/^http:\/\/(?:0\.0\.0\.0|\[::\])(?=:|$)/, `http://${config.node}`),
    dataKey: now.dataKey,
    regions: regions.map((region) => {
      const known = databaseAvailability.current(region.region)
      return {
        ...regionOf(region, now.problemOf(region.region), known),
        isolates: region.engine.capabilities.isolates,
        gatewayPort: now.gatewayPort,
        addresses: region.addresses ?? machineAddresses(now.gatewayPort, region.domains),
        databases: databasePresets.flatMap(({ dockerPreset }) => {
          const availability = known.get(dockerPreset)
          return availability ? [[dockerPreset, availability] as const] : []
        }),
        problem: now.problemOf(region.region),
      }
    }),
  }
}
