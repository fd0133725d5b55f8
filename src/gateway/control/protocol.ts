import type { TrafficSample } from '../../metrics/traffic-sample.ts'
import type { RequestBatch, RequestLogMode } from './request-record.ts'

/**
 * The protocol between the control plane and the gateway process: lines of JSON over a local socket. The gateway
 * listens and the control plane connects, so the gateway survives a restart of the control plane, continues with its
 * last routes, and sends its state again when a control plane reconnects.
 */

/** A container that may take requests. */
export interface RouteContainer {
  /** Name of the container, its identifier on both sides. */
  name: string
  /** An address, or the path of a Unix socket. */
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
  /** Its name below a domain that environments share; absent: below `app.localhost` or `fn.localhost`. */
  host?: string
  /** Further names, which belong to this environment alone. */
  domains?: string[]
  /** Those of `domains` that have a certificate, and how they use it. */
  secure?: Record<string, Security>
  /** `stopped`: 503 without a cold start. */
  state: 'serving' | 'stopped'
  /** Why no version ever served: the reason of the failed first deployment. */
  failure?: string
  /** The environment is `stopped` until the deployment in progress is done. */
  deploying?: true
  containers: RouteContainer[]
  /** Why no container takes requests; requests are refused with this reason. */
  problem?: string
  /** Functions only: the applied settings (2.4). */
  scaling: FunctionScaling | null
}

export interface Security {
  /** Requests by http are sent to https. */
  redirect: boolean
  /** Responses make browsers use https only. */
  hsts: boolean
}

/** The host names of an environment: first the one below a shared domain. */
export function hostsOf({ host, domains = [], envName, kind }: Route): string[] {
  return [host ?? `${envName}.${kind === 'function' ? 'fn' : 'app'}.localhost`, ...domains]
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

/** A certificate for the TLS port. */
export interface Certificate {
  /** Host names in lower case; `*.example.com` stands for one label. */
  names: string[]
  /** PEM: the certificate first, then those between it and the root. */
  chain: string
  /** PEM. */
  key: string
}

/** What a certificate authority wants to see under a domain, as proof that the order comes from here. */
export type Challenge = { domain: string } & (
  | { type: 'http-01'; token: string; keyAuthorization: string }
  /** The certificate for handshakes with ALPN `acme-tls/1`. */
  | { type: 'tls-alpn-01'; chain: string; key: string }
)

export type ToGateway =
  /**
   * First line after connecting. A gateway of another build sends `hello`, then drains and exits. With `probe` it
   * only sends `hello`: the current control plane stays connected, and no process exits.
   */
  | { type: 'hello'; build: string; probe?: true }
  /** The complete list of routes; other routes are removed. */
  | { type: 'routes'; routes: Route[] }
  /** One new or changed route. */
  | { type: 'route'; route: Route }
  | { type: 'route-gone'; appEnvId: string }
  /** A container failed to start; if the function has none, its waiting requests get 503 with this message. */
  | { type: 'start-failed'; appEnvId: string; message: string }
  /** The complete list of certificates. */
  | { type: 'certificates'; certificates: Certificate[] }
  /** The complete list of challenges. */
  | { type: 'challenges'; challenges: Challenge[] }
  /** Drain, then exit. */
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
      requestLog: RequestLogMode
      /** Gateways of earlier versions lack it. */
      trustedProxies?: readonly string[]
      /** Gateways of earlier versions lack it. */
      proxyProtocol?: boolean
      /** The configured TLS port; null: none. Gateways of earlier versions lack it. */
      tlsPort?: number | null
    }
  /** How many containers a function needs now. Level-triggered: sent on change and after each `routes`. */
  | { type: 'desired'; appEnvId: string; containers: number }
  /** The container gets no more requests and has none in flight: it may be removed. */
  | { type: 'drained'; appEnvId: string; container: string }
  /** A container refused the connection: the control plane should check it now. */
  | { type: 'unreachable'; appEnvId: string; container: string }
  /** Counters since the gateway started, per environment, once a second if they changed. */
  | { type: 'traffic'; samples: TrafficSample[] }
  /** Logged requests, once a second. */
  | { type: 'requests'; batches: RequestBatch[] }
