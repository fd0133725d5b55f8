/**
 * The words between the control plane and the gateway process, as lines of JSON over a local socket.
 * The gateway listens, the control plane connects: so the gateway outlives a restart of the control plane,
 * goes on with the routes it last heard, and tells its state again when a control plane comes back.
 */

/** One container that may take requests. */
export interface RouteContainer {
  /** Name of the container, the handle both sides use. */
  name: string
  host: string
  port: number
  /** No new requests; the gateway reports `drained` when the last one is done. */
  draining: boolean
}

/** How requests to one environment are served. */
export interface Route {
  appEnvId: string
  envName: string
  kind: 'app' | 'function'
  /** `stopped`: 503, no cold start. */
  state: 'serving' | 'stopped'
  containers: RouteContainer[]
  /** Functions only: the settings in force (interface.md 2.4). */
  scaling: FunctionScaling | null
}

export interface FunctionScaling {
  /** 0 = no limit. */
  containerConcurrency: number
  timeoutSeconds: number
  responseStartTimeoutSeconds: number
  idleTimeoutSeconds: number
  minScale: number
  maxScale: number
}

export type ToGateway =
  /** First line after connecting. A gateway of another build answers `hello` and leaves when it has drained.
   * With `probe` it only answers: the present control plane stays, and nobody leaves. */
  | { type: 'hello'; build: string; probe?: true }
  /** Every route there is; what is not named is gone. */
  | { type: 'routes'; routes: Route[] }
  /** One route changed or is new. */
  | { type: 'route'; route: Route }
  | { type: 'route-gone'; appEnvId: string }
  /** A container could not be started; waiting requests of a function with none get 503 with this sentence. */
  | { type: 'start-failed'; appEnvId: string; message: string }
  /** Drain, then leave. */
  | { type: 'shutdown' }

export type FromGateway =
  | {
      type: 'hello'
      build: string
      pid: number
      host: string
      port: number
      clockScale: number
      processes: number
    }
  /** How many containers a function needs now. Level-triggered: sent on change and after each `routes`. */
  | { type: 'desired'; appEnvId: string; containers: number }
  /** The gateway gives no more requests to this container and none is in flight: it may be removed. */
  | { type: 'drained'; appEnvId: string; container: string }
  /** A container refused the connection: the control plane should look at it now. */
  | { type: 'unreachable'; appEnvId: string; container: string }
  /** Counters since the gateway started, per environment, once a second where they changed. */
  | { type: 'traffic'; samples: TrafficSample[] }

export interface TrafficSample {
  appEnvId: string
  requests: number
  answered4xx: number
  answered5xx: number
  inFlight: number
  queued: number
  /** Response times since the last sample, as counts of a fixed log-scale histogram (see gateway/histogram.ts). */
  latency: Record<string, number>
}
