import type { Route } from './gateway-link.ts'
import { type EnvironmentHost, ServedEnvironment } from './served-environment.ts'

/** Which environment answers under which host name. */
export class RouteTable {
  readonly #host: EnvironmentHost
  readonly #byId = new Map<string, ServedEnvironment>()
  readonly #byHost = new Map<string, ServedEnvironment>()
  /** False until a control plane has said what there is: then "unknown" means "not yet known". */
  heard = false

  constructor(host: EnvironmentHost) {
    this.#host = host
  }

  /** The environment a Host header means; its kind is part of the name. */
  find(host: string): ServedEnvironment | undefined {
    return this.#byHost.get(bareHost(host))
  }

  get(appEnvId: string): ServedEnvironment | undefined {
    return this.#byId.get(appEnvId)
  }

  all(): IterableIterator<ServedEnvironment> {
    return this.#byId.values()
  }

  /** Every route there is; what is not named is gone. */
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
      if (environment.envName !== route.envName) this.#byHost.delete(hostNameOf(environment))
      environment.update(route)
    } else {
      environment = new ServedEnvironment(route, this.#host)
      this.#byId.set(route.appEnvId, environment)
    }
    this.#byHost.set(hostNameOf(environment), environment)
  }

  drop(appEnvId: string): void {
    const environment = this.#byId.get(appEnvId)
    if (!environment) return
    this.#byId.delete(appEnvId)
    const name = hostNameOf(environment)
    if (this.#byHost.get(name) === environment) this.#byHost.delete(name)
    environment.remove()
  }
}

/** The host name an environment answers under. */
export function hostNameOf(environment: Pick<Route, 'envName' | 'kind'>): string {
  return `${environment.envName}.${environment.kind === 'function' ? 'fn' : 'app'}.localhost`
}

/** The name a Host header means: without port and final dot. */
export function bareHost(host: string): string {
  const colon = host.indexOf(':')
  const name = colon < 0 ? host : host.slice(0, colon)
  return name.endsWith('.') ? name.slice(0, -1) : name
}
