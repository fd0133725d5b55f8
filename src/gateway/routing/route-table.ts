import type { Route } from '../control/protocol.ts'
import type { EnvironmentHost } from './backend-set.ts'
import { RequestScheduler } from './request-scheduler.ts'

/** Maps host names to environments. */
export class RouteTable {
  readonly #host: EnvironmentHost
  readonly #byId = new Map<string, RequestScheduler>()
  readonly #byHost = new Map<string, RequestScheduler>()
  /** False until a control plane has sent the routes: until then a missing host may only be unknown so far. */
  heard = false

  constructor(host: EnvironmentHost) {
    this.#host = host
  }

  /** The environment of a Host header; its kind is part of the name. */
  find(host: string): RequestScheduler | undefined {
    return findByHost(this.#byHost, host)
  }

  get(appEnvId: string): RequestScheduler | undefined {
    return this.#byId.get(appEnvId)
  }

  all(): IterableIterator<RequestScheduler> {
    return this.#byId.values()
  }

  /** Sets the complete list of routes; other routes are removed. */
  replaceAll(routes: readonly Route[]): void {
    const named = new Set(routes.map((route) => route.appEnvId))
    for (const appEnvId of [...this.#byId.keys()]) if (!named.has(appEnvId)) this.drop(appEnvId)
    for (const route of routes) this.put(route)
    this.heard = true
  }

  put(route: Route): void {
    let environment = this.#byId.get(route.appEnvId)
    if (environment && environment.kind !== route.kind) {
      this.drop(route.appEnvId)
      environment = undefined
    }
    if (environment) {
      this.#unname(environment)
      environment.update(route)
    } else {
      environment = new RequestScheduler(route, this.#host)
      this.#byId.set(route.appEnvId, environment)
    }
    for (const name of environment.hosts) this.#byHost.set(name, environment)
  }

  drop(appEnvId: string): void {
    const environment = this.#byId.get(appEnvId)
    if (!environment) return
    this.#byId.delete(appEnvId)
    this.#unname(environment)
    environment.remove()
  }

  /** Another environment may have one of its names by now. */
  #unname(environment: RequestScheduler): void {
    for (const name of environment.hosts) {
      if (this.#byHost.get(name) === environment) this.#byHost.delete(name)
    }
  }
}

/** The value of a Host header's name, or of the wildcard that stands for its first label. */
export function findByHost<T>(byHost: ReadonlyMap<string, T>, host: string): T | undefined {
  const name = bareHost(host)
  return byHost.get(name) ?? byHost.get(`*${name.slice(name.indexOf('.'))}`)
}

/** The name in a Host header, without port and final dot. */
export function bareHost(host: string): string {
  const colon = host.indexOf(':')
  const name = colon < 0 ? host : host.slice(0, colon)
  return name.endsWith('.') ? name.slice(0, -1) : name
}
