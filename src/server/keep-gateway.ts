import { availableParallelism } from 'node:os'
import { connectGateway, type GatewayLink } from '../gateway/control/client.ts'
import type { Route } from '../gateway/control/protocol.ts'
import { ensureGateway } from '../gateway/control/spawn.ts'
import { LogMasks } from '../regions/logs/masks.ts'
import type { Reconciler } from '../regions/machine/reconciler.ts'
import { RequestRecorder } from '../regions/machine/request-recorder.ts'
import { Worker } from '../worker.ts'
import { buildId, commandLine } from './build-id.ts'
import { GatewayCertificates } from './domains/gateway-certificates.ts'
import type { Platform } from './platform.ts'
import type { Measuring } from './telemetry/measurements.ts'

const gatewayCheckMs = 1_000

/** Keeps the gateway process of this data directory running, and the link to it. */
export interface GatewayKeeper {
  link: GatewayLink
  certificates: GatewayCertificates
  port(): number
  /** Its address on this machine. */
  address(): { host: string; port: number }
  url(): string
  close(): Promise<void>
}

/** Adopts or starts the gateway, and restarts it when it has ended. */
export async function keepGateway(
  platform: Platform,
  measuring: Measuring,
  reconciler: () => Reconciler | null,
): Promise<GatewayKeeper> {
  const { config, home, log, clock } = platform
  const options = optionsOf(platform)
  const recorder = new RequestRecorder({ ...platform, masks: new LogMasks(platform.db, platform.secrets) })
  const first = await ensureGateway({ ...options, port: config.gatewayPort })
  const link = connectGateway({
    socketPath: home.gatewaySocket,
    build: buildId,
    clock,
    log,
    ownRoute: platformRoute(config, home.apiSocket),
    on: {
      desired: (appEnvId, containers) => {
        measuring.figures.desired(appEnvId, containers)
        reconciler()?.desire(appEnvId, containers)
      },
      drained: (appEnvId, container) => reconciler()?.drained(appEnvId, container),
      unreachable: (appEnvId, container) => reconciler()?.unreachable(appEnvId, container),
      requests: (batches) => recorder.take(batches),
      ...measuring.gatewayEvents,
    },
  })
  const worker = new Worker({
    clock,
    everyMs: gatewayCheckMs,
    async pass() {
      if (link.isUp) return
      const { pid, adopted } = await ensureGateway({ ...options, port: first.port })
      if (!adopted) log.warn({ gatewayPid: pid }, 'the gateway exited; starting a new one')
    },
    failed: (error) => log.error({ err: error }, 'the gateway could not be started; retrying'),
  })
  worker.start()
  const certificates = new GatewayCertificates(platform, link)
  return {
    link,
    certificates,
    port: () => first.port,
    address: () => ({ host: reachableHost(first.host), port: first.port }),
    url: () => `http://${urlHost(first.host)}:${first.port}`,
    async close() {
      await worker.stop()
      await certificates.stop()
      link.close()
      await recorder.settled()
    },
  }
}

/** Half the cores, because containers and control plane need the rest; measurements show no gain above four. */
function processesFor(cores: number): number {
  return Math.min(4, Math.max(1, Math.floor(cores / 2)))
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/** A server bound to every address is reachable on loopback. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}

function optionsOf({ config, home, log, clock }: Platform) {
  return {
    entry: [...commandLine, 'gateway'],
    home: home.dir,
    socketPath: home.gatewaySocket,
    host: config.host,
    clockScale: config.clockScale,
    requestLog: config.requestLog,
    trustedProxies: config.trustedProxies,
    proxyProtocol: config.proxyProtocol,
    tlsPort: config.tlsPort,
    processes: config.gatewayProcesses ?? processesFor(availableParallelism()),
    build: buildId,
    log,
    clock,
  }
}

/** Console, API, `/mcp` and OAuth under the host of LONGSHORE_PUBLIC_URL; null without one. */
function platformRoute({ publicUrl }: Platform['config'], apiSocket: string): Route | null {
  if (publicUrl === undefined) return null
  return {
    appEnvId: 'platform',
    envName: 'platform',
    kind: 'app',
    host: new URL(publicUrl).hostname,
    state: 'serving',
    containers: [{ name: 'api', host: apiSocket, port: 0, draining: false }],
    problem: 'The platform is starting.',
    scaling: null,
  }
}
