import type { RouteContainer } from '../control/protocol.ts'
import { UpstreamPool } from '../upstream/pool.ts'

/** The gateway's state of one container: whether it takes requests and how many it has. */
export class Backend {
  readonly name: string
  readonly pool: UpstreamPool
  /** Requests that hold one of its slots. */
  inFlight = 0
  /** The control plane requested a drain. */
  draining: boolean
  /** The gateway has given it up (scale-down) and reported that, which is final. */
  retired = false
  /** Beyond the desired count: gets requests only if the others are full. */
  surplus = false
  /** Refused a connection recently: not used for a while. */
  suspect = false
  /** No longer in the route; its last requests are still served. */
  gone = false
  /** `drained` was sent on this link. */
  drainedSent = false

  constructor(route: RouteContainer) {
    this.name = route.name
    this.draining = route.draining
    this.pool = new UpstreamPool(route.host, route.port)
  }

  /** Counts toward the desired containers: it takes requests. */
  get active(): boolean {
    return !this.draining && !this.retired
  }

  /** Being replaced or stopped, so that the end of its connections is expected. */
  get leaving(): boolean {
    return !this.active || this.gone
  }

  isAt(route: RouteContainer): boolean {
    return this.pool.host === route.host && this.pool.port === route.port
  }
}

/**
 * The container with the fewest requests and a free slot of `slots`, searched from `first` on, so that equal ones
 * alternate.
 */
export function leastBusy(containers: readonly Backend[], slots: number, first: number): Backend | null {
  const count = containers.length
  let best: Backend | null = null
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
