import { ContainerPool } from './container-pool.ts'
import type { RouteContainer } from './gateway-link.ts'

/** One container as the gateway sees it: whether it takes requests and how many it has. */
export class ServedContainer {
  readonly name: string
  readonly pool: ContainerPool
  /** Requests that hold a slot of it. */
  inFlight = 0
  /** The control plane wants it empty. */
  draining: boolean
  /** The gateway has given it up (scale-down) and said so; that is never taken back. */
  retired = false
  /** More than is desired: gets requests only when the others are full. */
  surplus = false
  /** Refused a connection a moment ago: left alone for a while. */
  suspect = false
  /** No longer among the route's containers; its last requests are still served. */
  gone = false
  /** `drained` was said on this link. */
  drainedSent = false

  constructor(route: RouteContainer) {
    this.name = route.name
    this.draining = route.draining
    this.pool = new ContainerPool(route.host, route.port)
  }

  /** Counts towards what is desired: it takes requests. */
  get active(): boolean {
    return !this.draining && !this.retired
  }

  isAt(route: RouteContainer): boolean {
    return this.pool.host === route.host && this.pool.port === route.port
  }
}

/** The one with the fewest requests that has a slot of `slots` free, looked for from `first` on: equals take turns. */
export function leastBusy(
  containers: readonly ServedContainer[],
  slots: number,
  first: number,
): ServedContainer | null {
  const count = containers.length
  let best: ServedContainer | null = null
  for (let step = 0; step < count; step++) {
    const container = containers[(first + step) % count]!
    if (!container.active || container.suspect || container.inFlight >= slots) continue
    if (
      best === null ||
      (best.surplus && !container.surplus) ||
      (best.surplus === container.surplus && container.inFlight < best.inFlight)
    ) {
      best = container
    }
  }
  return best
}
