import type { MissingCapability } from '../../contract/regions.ts'
import type { MachineDomains, RegionAddresses } from '../../domain/environments/hosts.ts'
import type { Engine } from '../../engines/engine.ts'
import type { ClusterRegion, ClusterRegionDeps } from '../../regions/kubernetes/region.ts'

/** Dependencies of a cluster region that the platform supplies. */
type ClusterWork = Omit<
  ClusterRegionDeps,
  'region' | 'options' | 'installationId' | 'client' | 'cache' | 'engine'
>

/** A region with its own instance of an engine. */
export interface PlatformRegion {
  region: string
  name: string
  engine: Engine
  /** Absent: those of this machine's gateway. */
  addresses?: RegionAddresses
  /** Machine regions: the domains that this machine's gateway serves. */
  domains?: MachineDomains
  /** Capabilities that the configuration requests but that do not work. */
  missing?: () => readonly MissingCapability[]
  /** Why the engine of a cluster region does not work, as last checked; null if it does. */
  problem?: () => string | null
  check?: () => Promise<void>
  /** The controller of its environments; absent: the reconciler of this machine. */
  cluster?: (work: ClusterWork) => ClusterRegion
}
