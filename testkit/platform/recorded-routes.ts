import type { Route } from '../../src/gateway/control/protocol.ts'
import type { RouteSink } from '../../src/regions/ports.ts'

/** A gateway that only remembers: routes by environment, and every container that is to drain is drained at once. */
export class RecordedRoutes implements RouteSink {
  readonly routes = new Map<string, Route>()
  readonly startFailures: { appEnvId: string; message: string }[] = []
  onDraining: (appEnvId: string, container: string) => void = () => {}

  setRoutes(routes: Route[]): void {
    this.routes.clear()
    for (const route of routes) this.setRoute(route)
  }
  setRoute(route: Route): void {
    this.routes.set(route.appEnvId, route)
    for (const { name, draining } of route.containers) {
      if (draining) setImmediate(() => this.onDraining(route.appEnvId, name))
    }
  }
  dropRoute(appEnvId: string): void {
    this.routes.delete(appEnvId)
  }
  startFailed(appEnvId: string, message: string): void {
    this.startFailures.push({ appEnvId, message })
  }
}
